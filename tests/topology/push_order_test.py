"""`ordo push --ndjson` over a connection that is cut: of each key the first lines are stored, and none behind a gap."""
import json
import subprocess
import unittest

from topology import KEYS, ORDO, PATIENCE_S, Topology
import servers  # (topology knows where it is)
from proxy import Proxy

LINES, MARKED = 40_000, 7_300


class Cut(Topology):
    def check(self, kind, reaches_server):
        self.server = self.started(kind(self.folder_of_its_own() / "server"))
        self.config(queue="shards = 5\n")
        proxy = Proxy(self.server.path)
        self.addCleanup(proxy.close)
        lines = [{"id": f"i{n % KEYS}", "payload": f"CUT-{n}-HERE"} for n in range(LINES)]
        proxy.cut_at(f"CUT-{MARKED}-HERE".encode(), reaches_server)
        done = subprocess.run([ORDO, "push", "orders", "--ndjson", "-", "--store", self.server.through(proxy.port)],
                              cwd=self.folder, input="\n".join(map(json.dumps, lines)).encode(), capture_output=True,
                              check=False, timeout=PATIENCE_S, env=self.environment())
        self.assertEqual(proxy.tripped, 1)
        self.assertEqual(done.returncode, 1, done)
        jobs = {job["id"]: job["payloads"] for job in self.json("jobs", "orders")}
        for i in range(KEYS):
            pushed = [line["payload"] for line in lines[i::KEYS]]
            stored = jobs[f"i{i}"]
            self.assertEqual(stored, pushed[:len(stored)], f"key {i}: {done.stderr.decode()}")
        self.assertLess(sum(map(len, jobs.values())), LINES)

    def test_redis_before_the_server_has_heard(self):
        self.check(servers.Redis, False)

    def test_redis_behind_it(self):
        self.check(servers.Redis, True)

    def test_postgres_before_the_server_has_heard(self):
        self.check(servers.Postgres, False)

    def test_postgres_behind_it(self):
        self.check(servers.Postgres, True)


if __name__ == "__main__":
    unittest.main()
