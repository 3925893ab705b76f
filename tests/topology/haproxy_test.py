"""HAProxy before Redis and before PostgreSQL: it cuts what is idle, and leads to the replica when a server has died."""
import csv
import socket
import subprocess
import types
import unittest

from topology import Topology
import servers  # (topology knows where it is)

REDIS_CHECK = """
    option tcp-check
    tcp-check connect
    tcp-check send PING\\r\\n
    tcp-check expect string +PONG
    tcp-check send INFO\\ replication\\r\\n
    tcp-check expect string role:master"""
POSTGRES_CHECK = """
    option pgsql-check user postgres"""


class Balancer:
    """HAProxy on a port of loopback. What passes no byte for `idle` is cut; servers are looked at five times a second."""

    def __init__(self, folder, check, paths, idle):
        self.folder, self.port = folder, servers.free_port()
        backends = "\n".join(f"    server s{n} unix@{path} check {'backup' * (n > 0)}" for n, path in enumerate(paths))
        (folder / "cfg").write_text(f"""global
    stats socket {folder}/admin
defaults
    mode tcp
    timeout connect 2s
    timeout check 10s
    timeout client {idle}
    timeout server {idle}
listen store
    bind 127.0.0.1:{self.port}{check}
    default-server inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
{backends}
""")
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "haproxy", "-q", "-db", "-f", "cfg"], cwd=folder,
                                        stdin=subprocess.DEVNULL)
        servers.wait_until("a server is up", lambda: self.facts("s0").get("status") == "UP")

    def facts(self, name="FRONTEND"):
        with socket.socket(socket.AF_UNIX) as admin:
            try:
                admin.connect(f"{self.folder}/admin")
            except OSError:
                return {}
            admin.sendall(b"show stat\n")
            text = admin.makefile().read()
        return next(row for row in csv.DictReader(text[2:].splitlines()) if row["svname"] == name)

    def sessions(self):
        """So many connections have come since it started."""
        return int(self.facts()["stot"])

    def close(self):
        self.process.kill()
        self.process.wait()


class Behind(Topology):
    def begin(self, check, members, url, idle, lease="5s"):
        balancer = Balancer(self.folder_of_its_own(), check, [member.path for member in members], idle)
        self.addCleanup(balancer.close)
        self.server = types.SimpleNamespace(direct=url(balancer.port))
        self.config(queue="shards = 4\n", node=f"threads = 2\nlease = '{lease}'\n")
        nodes = [self.start() for _ in range(2)]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: all(node["shards"] == 2 for node in self.json("nodes")))
        return balancer, nodes

    def is_cut_when_idle(self, kind, check):
        member = self.started(kind(self.folder_of_its_own() / "server"))
        balancer, nodes = self.begin(check, [member], member.through, idle="1s", lease="30s")
        for turn in range(2):
            before = balancer.sessions()
            self.until("idle connections were cut, and made anew", lambda: balancer.sessions() > before + 2)
            self.push(f"{turn}")
            self.until("it runs", lambda: self.stats()["processed"] == turn + 1)
        self.produce()
        self.reach(50)
        self.finish(nodes)

    def fails_over(self, check, members, url, promote):
        balancer, nodes = self.begin(check, members, url, idle="10s")
        self.produce()
        self.reach(50)
        members[0].kill()
        self.until("it is seen", lambda: balancer.facts("s0")["status"] == "DOWN")
        promote()
        self.reach(100)
        self.finish(nodes, repeats=True)

    def test_idle_connections_to_redis_are_cut(self):
        self.is_cut_when_idle(servers.Redis, REDIS_CHECK)

    def test_idle_connections_to_postgres_are_cut(self):
        self.is_cut_when_idle(servers.Postgres, POSTGRES_CHECK)

    def test_a_replica_of_redis_takes_over(self):
        pair = servers.RedisPair(self.folder_of_its_own() / "pair")
        pair.proxied()  # which nobody uses here
        self.started(pair)
        one, other = pair.members

        def promote():
            other.ask("REPLICAOF", "NO", "ONE")
            one.settings = pair.replica_of(other)  # writes are confirmed by it from then on
            one.start()
        self.fails_over(REDIS_CHECK, pair.members, pair.through, promote)

    def test_a_standby_of_postgres_takes_over(self):
        primary = self.started(servers.Postgres(self.folder_of_its_own() / "server"))
        standby = self.started(servers.Postgres(self.folder_of_its_own() / "server", of=primary))
        standby.follow(primary)
        self.fails_over(POSTGRES_CHECK, [primary, standby], primary.through, standby.take_over)


if __name__ == "__main__":
    unittest.main()
