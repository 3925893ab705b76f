"""Many nodes on one store: they share the shards out, and when a third of them dies at once the others take over."""
import collections
import json
import os
import pathlib
import subprocess
import unittest

from topology import ORDO, PATIENCE_S, Topology
import servers  # (topology knows where it is)

# On two processors PostgreSQL has enough to do with 120 nodes that are idle, and 200 are more than it can answer in time.
NODES, NODES_ON_POSTGRES, SHARDS = 200, 60, 400
KEYS, TURNS = 800, 2

# A shell is small enough to have one for each node.
WORKER = """#!/bin/sh
while read -r line; do
  id=${line#*'"id":"'}
  id=${id%%'"'*}
  echo "$id" >>ran
  echo "{\\"results\\":{\\"$id\\":{\\"ok\\":true}}}"
done
"""


class ManyNodes(Topology):
    def ask(self, *command, stdin=b""):
        """What it prints. Nothing: the machine was too busy for a connection, so nothing has happened."""
        done = subprocess.run([ORDO, *command], cwd=self.folder, input=stdin, capture_output=True, timeout=PATIENCE_S,
                              env=self.environment(), check=False)
        if done.returncode == 1 and b"cannot connect" in done.stderr:
            return None
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def json(self, *command, code=0):
        return json.loads(self.until("it is told", lambda: self.ask(*command, "--json")))

    def are_shared_by(self, count):
        def parts():
            found = [node["shards"] for node in self.json("nodes")]
            return len(found) == count and sum(found) == SHARDS and max(found) - min(found) <= 1
        self.until(f"{count} nodes have their part", parts, 600)

    def push_jobs(self, name):
        jobs = [{"id": f"k{n}/{name}-{turn}", "key": f"k{n}"} for turn in range(TURNS) for n in range(KEYS)]
        lines = "\n".join(map(json.dumps, jobs)).encode()
        self.until("they are pushed", lambda: self.ask("push", "orders", "--ndjson", "-", stdin=lines) is not None)
        for job in jobs:
            self.pushed[job["key"]].append(job["id"])

    def all_have_run(self):
        self.until_stats(length=0, running=0, processed=sum(map(len, self.pushed.values())))
        ran = (self.folder / "ran").read_text().split()
        self.ran_in_order(((i.partition("/")[0], i) for i in ran), self.pushed, self.pushed, repeats=True)

    def test_on_redis(self):
        self.lose_a_third(servers.Redis(self.folder_of_its_own() / "server"), NODES)

    def test_on_postgres(self):
        self.lose_a_third(servers.Postgres(self.folder_of_its_own() / "server", connections=NODES_ON_POSTGRES * 6 + 50),
                          NODES_ON_POSTGRES)

    def lose_a_third(self, server, count):
        self.pushed = collections.defaultdict(list)
        self.server = self.started(server)
        self.write("worker", WORKER)
        os.chmod(self.folder / "worker", 0o755)
        self.config(queue=f"shards = {SHARDS}\n", node="threads = 1\n")
        text = (self.folder / "ordo.toml").read_text()
        self.write("ordo.toml", text.replace('["python3", "-B", "worker.py"]', '["./worker"]'))
        nodes = [self.start() for _ in range(count)]
        self.are_shared_by(count)
        self.push_jobs("first")
        self.all_have_run()
        self.push_jobs("second")
        dead, living = nodes[:count // 3], nodes[count // 3:]
        for node in dead:
            node.kill()
        self.push_jobs("third")
        self.are_shared_by(len(living))
        self.all_have_run()
        for node in living:
            self.assertIsNone(node.poll(), f"a node has ended: {self.log()[-2000:]}")
            self.assertLess(self.resident_mib(node), 64)

    @staticmethod
    def resident_mib(process):
        [line] = [line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if "VmRSS" in line]
        return int(line.split()[1]) / 1024


if __name__ == "__main__":
    unittest.main()
