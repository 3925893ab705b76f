"""PostgreSQL behind networks and proxies that fall silent, and behind poolers that are used up or restarted."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from topology import Topology
import servers  # (topology knows where it is)
from proxy import Proxy

LEASE_S = 2
SILENT_S = 600  # for ever
PUSH_S = 60     # for a push that gives up after 5: here on a busy machine


class Pooler:
    """PgBouncer before a server, on a unix socket of its own."""

    def __init__(self, server, mode, size):
        self.server, self.folder = server, server.folder / f"pooler-{mode}"
        self.folder.mkdir(mode=0o777)
        self.folder.chmod(0o777)
        self.url = f"postgres://postgres@/postgres?port=6432&host={self.folder}"
        (self.folder / "ini").write_text(f"""[databases]
* = user=postgres host={server.folder}
[pgbouncer]
listen_addr =
unix_socket_dir = {self.folder}
listen_port = 6432
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
logfile = {self.folder}/log
""")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([*self.server.die_with_us(), "pgbouncer", "-q", str(self.folder / "ini")],
                                        cwd=self.folder)
        servers.wait_until("the pooler listens", (self.folder / ".s.PGSQL.6432").exists)

    def kill(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(FileNotFoundError):
            (self.folder / ".s.PGSQL.6432").unlink()

    def take_a_session(self):
        """Whoever holds it: until its communicate()."""
        holder = subprocess.Popen([f"{self.server.programs}/psql", "-Xq", self.url], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        holder.stdin.write("SELECT 1;\n")
        holder.stdin.flush()
        holder.stdout.readline()
        return holder


class PostgresTopology(Topology):
    def serve(self):
        self.server = self.started(servers.Postgres(self.folder_of_its_own() / "server"))
        self.config(queue="shards = 4\n", node=f"threads = 2\nlease = '{LEASE_S}s'\n")
        return self.server

    def pooler(self, mode, size):
        pooler = Pooler(self.server, mode, size)
        self.addCleanup(pooler.kill)
        return pooler


class Silence(PostgresTopology):
    def test_flows_are_dropped_and_new_ones_pass(self):
        self.serve()
        proxy = Proxy(self.server.path)
        self.addCleanup(proxy.close)
        node = self.start_on(None, self.server.through(proxy.port))
        self.wait_for_nodes(1)
        self.produce()
        self.reach(20)
        for _ in range(2):
            proxy.drop_flows()
            before = len(self.requests())
            self.until("it goes on long before TCP gives up", lambda: len(self.requests()) > before + 20)
        self.finish([node], repeats=True)

    def test_a_node_obeys_while_its_server_is_silent(self):
        self.serve()
        proxy = Proxy(self.server.path)
        self.addCleanup(proxy.close)
        node = self.start_on(None, self.server.through(proxy.port))
        self.wait_for_nodes(1)
        self.push("1")
        self.until("it works", lambda: self.stats()["processed"] == 1)
        proxy.be_silent(SILENT_S)
        node.send_signal(signal.SIGTERM)
        self.assertEqual(self.end_of(node), 0, self.log())  # it waits for less than the silence lasts

    def test_a_push_does_not_wait_for_a_silent_server(self):
        self.serve()
        proxy = Proxy(self.server.path)
        self.addCleanup(proxy.close)
        self.start_on(None, self.server.direct)
        self.wait_for_nodes(1)
        proxy.be_silent(SILENT_S)
        start = time.monotonic()
        error = self.ordo("--store", self.server.through(proxy.port), "push", "orders", code=1).stderr
        self.assertLess(time.monotonic() - start, PUSH_S)
        self.assertIn("cannot connect to PostgreSQL", error)


class Connections(PostgresTopology):
    def test_a_push_says_that_none_is_left_while_nodes_go_on(self):
        self.server = self.started(servers.Postgres(self.folder_of_its_own() / "server", connections=30))
        self.config(queue="shards = 4\n", node="threads = 2\n")
        self.answer("while not pathlib.Path('go').exists():\n    time.sleep(0.02)\nreturn {'ok': True}")
        self.server.psql("CREATE ROLE shop LOGIN")
        node = self.start()
        self.wait_for_nodes(1)
        self.push_lines([{"id": i, "key": "k"} for i in "12"])  # when the other starts the end of one is stored
        self.until("one runs", lambda: len(self.requests()) == 1)
        holders = []
        while len(holders) < 30 and self.take_one(holders):
            pass
        error = self.ordo("push", "orders", code=1).stderr
        self.assertIn("too many clients already; raise max_connections or use a pooler", error)
        holders.pop().communicate()  # what is free then is kept for superusers
        self.until("that is told, too", lambda: "slots are reserved" in self.refused_to_others())
        self.write("go", "")
        self.until("the other runs, too", lambda: len(self.requests()) == 2)
        self.assertIsNone(node.poll(), self.log())
        for holder in holders:
            holder.communicate()
        self.until("all is known", lambda: self.stats()["processed"] == 2)

    def refused_to_others(self):
        error = self.ordo("--store", self.server.direct.replace("postgres@", "shop@"), "push", "orders", code=1).stderr
        self.assertIn("; raise max_connections or use a pooler", error)
        return error

    def take_one(self, holders):
        holder = subprocess.Popen([f"{self.server.programs}/psql", "-Xqt", self.server.direct], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(holder.communicate)
        holder.stdin.write("SELECT 1;\n")
        with contextlib.suppress(BrokenPipeError):
            holder.stdin.flush()
        if not holder.stdout.readline():
            return False
        holders.append(holder)
        return True


class Poolers(PostgresTopology):
    def test_a_push_says_what_it_waits_for_when_all_sessions_are_taken(self):
        self.serve()
        pooler = self.pooler("session", 1)
        self.addCleanup(pooler.take_a_session().communicate)
        start = time.monotonic()
        error = self.ordo("--store", pooler.url, "push", "orders", code=1).stderr
        self.assertLess(time.monotonic() - start, PUSH_S)
        self.assertIn("a pooler has no session free", error)

    def nodes_behind(self, mode, size):
        self.serve()
        pooler = self.pooler(mode, size)
        nodes = [self.start_on(None, pooler.url) for _ in range(2)]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: all(node["shards"] == 2 for node in self.json("nodes")))
        self.produce(ORDO_STORE=pooler.url)
        self.reach(50)
        for _ in range(2):
            pooler.kill()
            pooler.start()
            self.reach(50)
        self.finish(nodes, repeats=True)

    def test_in_session_mode_it_is_restarted_under_load(self):
        self.nodes_behind("session", 20)

    def test_in_transaction_mode_it_is_restarted_under_load(self):
        self.nodes_behind("transaction", 6)


if __name__ == "__main__":
    unittest.main()
