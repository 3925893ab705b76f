"""Many nodes on one store: they share the shards out, and when a third of them dies at once the others take over."""
import os
import pathlib
import unittest

from topology import Topology
import servers  # (topology knows where it is)

NODES, SHARDS, KILLED = 200, 400, 66

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
    def are_shared_by(self, count):
        def parts():
            found = [node["shards"] for node in self.json("nodes")]
            return len(found) == count and sum(found) == SHARDS and max(found) - min(found) <= 1
        self.until(f"{count} nodes have their part", parts, 600)

    def push_jobs(self, name):
        ids = [f"{name}-{n}" for n in range(4 * SHARDS)]
        self.push_lines([{"id": i} for i in ids])
        self.pushed |= set(ids)

    def all_have_run(self):
        self.until_stats(length=0, running=0, processed=len(self.pushed))
        self.assertEqual(set((self.folder / "ran").read_text().split()), self.pushed)

    def test_a_third_of_them_dies_at_once(self):
        self.pushed = set()
        self.server = self.started(servers.Redis(self.folder_of_its_own() / "server"))
        self.write("worker", WORKER)
        os.chmod(self.folder / "worker", 0o755)
        self.config(queue=f"shards = {SHARDS}\n", node="threads = 1\n")
        text = (self.folder / "ordo.toml").read_text()
        self.write("ordo.toml", text.replace('["python3", "-B", "worker.py"]', '["./worker"]'))
        nodes = [self.start() for _ in range(NODES)]
        self.are_shared_by(NODES)
        self.push_jobs("first")
        self.all_have_run()
        self.push_jobs("second")
        for node in nodes[:KILLED]:
            node.kill()
        self.push_jobs("third")
        self.are_shared_by(NODES - KILLED)
        self.all_have_run()
        for node in nodes[KILLED:]:
            self.assertIsNone(node.poll(), f"a node has ended: {self.log()[-2000:]}")
            self.assertLess(self.resident_mib(node), 64)

    @staticmethod
    def resident_mib(process):
        [line] = [line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if "VmRSS" in line]
        return int(line.split()[1]) / 1024


if __name__ == "__main__":
    unittest.main()
