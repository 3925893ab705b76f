"""Redis behind three sentinels, whose master is killed, replaced, or cut off with its clients."""
import signal
import subprocess
import unittest

from topology import ORDO, PATIENCE_S, Topology
import servers  # (topology knows where it is)


class Sentinels(Topology):
    def begin(self, nodes=2, **how):
        self.server = self.started(servers.SentinelGroup(self.folder_of_its_own() / "group", **how))
        self.config(queue="shards = 4\n", node="threads = 2\nlease = '5s'\n")
        nodes = [self.start() for _ in range(nodes)]
        self.wait_for_nodes(len(nodes))
        return nodes

    def switched(self, old):
        self.until("another is the master", lambda: self.server.master() is not old)

    def test_the_master_is_killed_while_all_work(self):
        self.master_is_killed()

    def test_the_master_is_killed_where_all_speak_tls(self):
        folder = self.folder_of_its_own()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ordo", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key", "-out", folder / "cert"], check=True,
                       capture_output=True)
        self.master_is_killed(tls=folder)
        self.assertIn("3 of 3 sentinels", self.ordo("doctor").stdout)
        url = self.server.direct.replace("rediss+", "redis+").replace(f"&ca={folder}/cert", "")
        self.ordo("stats", "--store", url, code=1)

    def master_is_killed(self, **how):
        nodes = self.begin(**how)
        self.produce()
        self.reach(50)
        old = self.server.master()
        old.kill()
        self.switched(old)
        self.reach(50)
        old.start()  # the sentinels make it a replica
        self.until("it is", self.server.ready)
        self.reach(50)
        self.finish(nodes, repeats=True)

    def test_a_failover_by_the_operator(self):
        """The old master goes on for up to a second, and so does the replica that is not promoted: with one to confirm,
        what is acknowledged then is lost."""
        nodes = self.begin(options="?wait=2")
        self.produce()
        for _ in range(2):
            self.reach(50)
            old = self.server.master()
            self.until("the sentinel does so", self.asked_for_another)
            self.switched(old)
            self.until("all follow", self.server.ready)
        self.reach(50)
        self.finish(nodes, repeats=True)

    def asked_for_another(self):
        """False: it has not heard of a good replica for a while."""
        try:
            return self.server.sentinels[1].ask("SENTINEL", "FAILOVER", self.server.NAME) == "OK"
        except OSError:
            return False

    def test_nodes_that_have_nothing_to_do_follow_a_failover(self):
        nodes = self.begin()
        self.push_lines([{"id": str(n), "key": f"k{n}"} for n in range(8)])
        self.until("all have run", lambda: len(self.requests()) >= 8)
        old = self.server.master()
        old.kill()
        self.switched(old)
        old.start()
        self.until("it is a replica", self.server.ready)
        self.push_lines([{"id": str(n), "key": f"k{n}"} for n in range(8, 16)])
        wanted = {str(n) for n in range(16)}  # runs of before may be repeated
        self.until("these run, too", lambda: {job for job, _, _ in self.runs()} >= wanted)
        self.assertEqual({job for job, _, _ in self.runs()}, wanted)
        for node in nodes:
            self.assertIsNone(node.poll())

    def leave_behind(self, replicas):
        """From now on they get nothing of what is written."""
        for replica in replicas:
            replica.process.send_signal(signal.SIGSTOP)
        self.server.master().ask("CLIENT", "KILL", "TYPE", "replica")

    def replaced_by_one_behind(self, replicas):
        old = self.server.master()
        old.kill()
        for replica in replicas:
            replica.process.send_signal(signal.SIGCONT)
        self.switched(old)

    def test_a_replica_that_was_behind_takes_over_from_busy_nodes(self):
        """What it never had is lost, and what ended there runs again: in order, and never two at once."""
        nodes = self.begin(options="")
        self.produce()
        self.reach(50)
        replicas = [server for server in self.server.servers if server is not self.server.master()]
        self.leave_behind(replicas)
        self.reach(100)
        self.replaced_by_one_behind(replicas)
        self.reach(100)
        self.finish(nodes, repeats=True, loses=True)

    def test_a_replica_that_was_behind_takes_over_from_idle_nodes(self):
        """Every shard goes on, also those that had nothing in flight."""
        nodes = self.begin(options="")
        self.push_lines([{"id": str(n), "key": f"k{n}"} for n in range(16)])
        self.until("all have run", lambda: len(self.requests()) >= 16)
        replicas = [server for server in self.server.servers if server is not self.server.master()]
        self.leave_behind(replicas)
        self.push_lines([{"id": str(n), "key": f"k{n % 16}"} for n in range(16, 32)])
        self.until("these have run, too", lambda: len(self.requests()) >= 32)
        self.replaced_by_one_behind(replicas)
        self.push_lines([{"id": str(n), "key": f"k{n % 16}"} for n in range(32, 48)])
        wanted = {str(n) for n in range(48)}
        self.until("those, too", lambda: {job for job, _, _ in self.runs()} == wanted)
        for node in nodes:
            self.assertIsNone(node.poll(), self.log()[-2000:])

    def test_a_silent_master_is_left_when_it_is_replaced(self):
        """Frozen, and back when others have decided: what it says then counts no more."""
        nodes = self.begin()
        self.produce()
        self.reach(50)
        old = self.server.master()
        old.process.send_signal(signal.SIGSTOP)
        self.switched(old)
        self.reach(50)
        old.process.send_signal(signal.SIGCONT)
        self.until("it is a replica", self.server.ready)
        self.reach(50)
        self.finish(nodes, repeats=True)

    def test_a_master_that_still_answers_is_left(self):
        """Sentinels that cannot hear it any more replace it, while its clients could go on for ever."""
        [node] = self.begin(nodes=1, options="", down_ms=60_000)  # nobody else replaces it
        self.push_lines([{"id": "before", "key": "k"}])
        self.until("it runs", self.requests)
        old, new = self.server.master(), self.server.servers[1]
        # What sentinels do to a replica that is cut off with them on the other side.
        for server in self.server.servers[1:]:
            server.ask("REPLICAOF", "NO", "ONE")
        for sentinel in self.server.sentinels:
            epoch = int(self.server.facts(sentinel)["config-epoch"]) + 1
            hello = f"127.0.0.1,{sentinel.port},{sentinel.ask('SENTINEL', 'MYID')},{epoch}," \
                f"{self.server.NAME},127.0.0.1,{new.port},{epoch}"
            old.ask("PUBLISH", "__sentinel__:hello", hello)
        self.switched(old)
        self.assertEqual(old.role, "master")
        self.push_lines([{"id": "behind", "key": "k"}])
        self.until("it runs on the new one", lambda: ("behind", [""], -1) in self.runs())
        self.assertIsNone(node.poll())

    def test_one_sentinel_is_enough_to_find_the_master(self):
        self.begin(nodes=0)
        for sentinel in self.server.sentinels[:2]:
            sentinel.kill()
        self.push("a", None, "--key", "k")
        self.assertIn("1 of 3 sentinels", self.ordo("doctor").stdout)

    def test_what_is_wrong_is_said(self):
        self.begin(nodes=0)
        said = self.ordo("doctor").stdout
        self.assertIn("3 of 3 sentinels know the master 'jobs'", said)
        url = self.server.direct
        self.assertIn("No such master", self.ordo("stats", "--store", url.replace("/jobs", "/other"), code=1).stderr)
        self.assertIn("does not name the master", self.ordo("stats", "--store", url.split("/jobs")[0], code=2).stderr)
        for sentinel in self.server.sentinels:
            sentinel.kill()
        said = self.ordo("stats", code=1).stderr
        self.assertIn("no sentinel of redis+sentinel://127.0.0.1:", said)
        self.assertIn("Connection refused", said)

    def test_passwords(self):
        secured = ["--requirepass", "master-secret", "--masterauth", "master-secret"]
        group = servers.SentinelGroup(self.folder_of_its_own() / "group", settings=secured,
                                      sentinel_settings=[f"sentinel auth-pass {servers.SentinelGroup.NAME} master-secret",
                                                         "requirepass sentinel-secret"],
                                      options="?wait=1&sentinel_password=sentinel-secret", sign_on=":master-secret@")
        for server in group.servers:
            server.password = "master-secret"
        for sentinel in group.sentinels:
            sentinel.password = "sentinel-secret"
        self.server = self.started(group)
        self.config()
        self.push("a", None, "--key", "k")
        self.drain()
        self.assertEqual(len(self.runs()), 1)
        for url in (group.direct.replace("=sentinel-secret", "=wrong-secret"), group.direct.replace(":master", ":wrong")):
            done = subprocess.run([ORDO, "doctor", "--store", url], cwd=self.folder, capture_output=True,
                                  text=True, env=self.environment(), check=False, timeout=PATIENCE_S)
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("secret", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
