"""A PostgreSQL server dies, and its standby takes over behind the same address."""
import unittest

from topology import Topology
import servers  # (topology knows where it is)
from proxy import Proxy


class Failover(Topology):
    def begin(self):
        self.server = self.started(servers.Postgres(self.folder_of_its_own() / "server"))
        self.standby = self.started(servers.Postgres(self.folder_of_its_own() / "server", of=self.server))
        self.proxy = Proxy(self.server.path)
        self.addCleanup(self.proxy.close)
        self.url = self.server.through(self.proxy.port)
        self.config(queue="shards = 4\n", node="threads = 2\nlease = '5s'\n")
        nodes = [self.start_on(None, self.url) for _ in range(2)]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: all(node["shards"] == 2 for node in self.json("nodes")))
        return nodes

    def fail_over(self):
        self.server.kill()
        self.proxy.target = str(self.standby.path)
        self.standby.take_over()
        self.server = self.standby
        self.config(queue="shards = 4\n", node="threads = 2\nlease = '5s'\n")

    def go_on(self, nodes, **judged):
        """Every shard does."""
        before = len(self.requests())
        keys = {f"k{n}" for n in range(12)}
        self.until("every key goes on", lambda: {run["jobs"][0]["key"] for run in self.requests()[before:]} >= keys)
        doctor = self.ordo("--store", self.url, "doctor").stdout
        self.assertIn("timeline 2", doctor)
        self.finish(nodes, repeats=True, **judged)

    def test_of_busy_nodes_to_a_standby_that_has_all(self):
        nodes = self.begin()
        self.standby.follow(self.server)
        self.produce(ORDO_STORE=self.url)
        self.reach(50)
        self.fail_over()
        self.go_on(nodes)

    def test_of_idle_nodes_to_a_standby_that_has_all(self):
        nodes = self.begin()
        self.standby.follow(self.server)
        self.push("first")
        self.until("nothing is in flight", lambda: self.requests() and self.stats()["running"] == 0)
        self.fail_over()
        self.produce(ORDO_STORE=self.url)
        self.go_on(nodes)

    def test_of_busy_nodes_to_a_standby_that_lacks_the_last_seconds(self):
        nodes = self.begin()
        self.produce(ORDO_STORE=self.url)
        self.reach(50)
        self.standby.fall_behind()
        self.reach(100)
        self.fail_over()
        self.go_on(nodes, loses=True)

    def test_of_idle_nodes_to_a_standby_that_lacks_the_last_seconds(self):
        nodes = self.begin()
        self.push("first")
        self.until("it has run", self.requests)
        self.standby.fall_behind()
        self.push_lines([{"id": f"lost-{n}", "key": f"before-{n % 12}"} for n in range(100)])
        self.until("they have run", lambda: len(self.requests()) >= 101)
        self.fail_over()
        self.produce(ORDO_STORE=self.url)
        self.go_on(nodes)

    def test_who_looks_at_a_standby_is_told_to_name_the_primary(self):
        self.server = self.started(servers.Postgres(self.folder_of_its_own() / "server"))
        self.config()
        self.url = self.server.direct
        self.push("first")
        self.standby = self.started(servers.Postgres(self.folder_of_its_own() / "server", of=self.server))
        for more in ("", "&target_session_attrs=read-write"):
            for command in (["stats"], ["jobs", "orders"], ["queues"], ["doctor"], ["nodes"], ["dead", "orders", "list"]):
                said = self.ordo("--store", self.standby.direct + more, *command, code=1).stderr
                self.assertIn("this server is a standby; name the primary", said)
                self.assertEqual(said.count("\n"), 1, said)
        for hosts in ((self.standby, self.server), (self.server, self.standby)):
            both = ",".join(str(host.folder) for host in hosts)
            url = f"postgres://postgres@/postgres?host={both}&target_session_attrs=read-write"
            self.assertIn("orders", self.ordo("--store", url, "stats").stdout)


if __name__ == "__main__":
    unittest.main()
