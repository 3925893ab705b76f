"""Nodes and producers of this version of Ordo beside those of the next: ORDO_NEWER, which is built from the same objects,
but for the codecs. It writes a field of its own into every record, and says of what speaks of something "new!" that an
older version must not guess what it means."""
import collections
import json
import os
import subprocess
import unittest
import zlib

import project
from project import Project

OLDER = project.ORDO
NEWER = os.environ.get("ORDO_NEWER", OLDER + "_newer")
SHARDS = 4

# The first run of a job fails when its payload asks for it.
ANSWER = """
job = request["jobs"][0]
payload = job["payloads"][0] if isinstance(job["payloads"][0], str) else json.dumps(job["payloads"][0])
if "fail" in payload and job["retry_count"] < 0:
    return {"ok": False, "error": payload}
return {"ok": True}
"""


class Versions(Project):
    def setUp(self):
        super().setUp()
        self.answer(ANSWER.strip())
        self.rules(lease="5s")

    def node_of(self, binary):
        """A node; its log is in a file of its own."""
        name = f"node-{len(self.nodes)}.log"
        with open(self.folder / name, "wb") as log:
            node = subprocess.Popen([binary, "work"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log,
                                    env=self.environment())
        self.nodes.append(node)
        node.log = self.folder / name
        self.until("it works", lambda: "serves orders" in node.log.read_text())
        return node

    def push_by(self, binary, *jobs):
        done = subprocess.run([binary, "push", "orders", "--ndjson", "-"], cwd=self.folder, env=self.environment(),
                              input="\n".join(map(json.dumps, jobs)).encode(), capture_output=True, check=False,
                              timeout=project.PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)

    @staticmethod
    def key_in(shard, nth=0):
        return [key for key in map(str, range(1000)) if zlib.crc32(key.encode()) % SHARDS == shard][nth]

    def ran(self):
        return [job["id"] for request in self.requests() for job in request["jobs"]]

    def rules(self, lease, delay="1s"):
        self.config(queue=f"shards = {SHARDS}\nretry = {{ strategy = 'fixed', delay = '{delay}' }}\n",
                    node=f"lease = '{lease}'\n")

    def findings(self):
        done = subprocess.run([OLDER, "doctor"], cwd=self.folder, env=self.environment(), capture_output=True,
                              check=False, timeout=project.PATIENCE_S)
        return done.stdout.decode() + done.stderr.decode()

    def test_they_work_side_by_side(self):
        self.node_of(OLDER)
        self.node_of(NEWER)
        count = 200
        keys = [str(i % 20) for i in range(count)]
        for first in range(0, count, 20):
            jobs = [{"id": str(i), "key": keys[i], "payload": "fail once" if i % 7 == 0 else i}
                    for i in range(first, first + 20)]
            self.push_by(NEWER if first % 40 else OLDER, *jobs)
            if first == 80:
                self.nodes[0].kill()
                self.node_of(OLDER)
            if first == 120:
                self.nodes[1].kill()
                self.node_of(NEWER)
        self.until("all have ended", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        ran = self.ran()
        self.assertEqual(set(ran), set(map(str, range(count))), "none is lost")
        ends = collections.defaultdict(list)
        for job in reversed(ran):  # the last run of each counts
            if job not in ends[keys[int(job)]]:
                ends[keys[int(job)]].append(job)
        for key, jobs in ends.items():
            self.assertEqual(jobs[::-1], sorted(jobs, key=int), f"the order of key {key}")
        stats = self.stats()
        self.assertEqual((stats["dead"], stats["unreadable"], stats["waits_for_newer"]), (0, 0, 0), stats)

    def test_what_an_older_node_must_not_guess_waits_for_a_newer_one_and_nothing_else_does(self):
        self.rules(lease="60s")
        older = self.node_of(OLDER)
        key = self.key_in(0)
        self.push_by(OLDER, {"id": "before", "key": key})
        self.until("it ran", lambda: "before" in self.ran())
        self.push_by(NEWER, {"id": "newer", "key": key, "payload": "new!"})
        self.push_by(OLDER, {"id": "behind", "key": key})
        self.until("the node says so", lambda: "waits for a newer node" in older.log.read_text())
        others = [self.key_in(shard) for shard in range(1, SHARDS)]
        self.push_by(OLDER, *[{"id": f"other-{key}", "key": key} for key in others])
        self.until("other shards go on", lambda: all(f"other-{key}" in self.ran() for key in others))
        self.until("the counts say so", lambda: self.stats()["waits_for_newer"] == 1)
        self.assertIn("waits for a newer node", self.findings())
        self.json("jobs", "orders")
        self.assertFalse({"newer", "behind"} & set(self.ran()))
        newer = self.node_of(NEWER)
        self.until("the newer one runs it", lambda: {"newer", "behind"} <= set(self.ran()))
        self.assertEqual([job for job in self.ran() if not job.startswith("other")], ["before", "newer", "behind"])
        self.until("nothing waits", lambda: self.stats()["waits_for_newer"] == 0)
        self.assertEqual(older.log.read_text().count("waits for a newer node"), 1, "it says it once")
        self.assertEqual(newer.log.read_text().count("waits for a newer node"), 0)
        self.assertEqual(self.stats()["dead"], 0)

    def test_a_newer_state_waits_for_a_newer_node_too(self):
        self.rules(lease="5s", delay="1h")  # it is still to come when its node is killed
        newer = self.node_of(NEWER)
        key = self.key_in(1)
        self.push_by(OLDER, {"id": "1", "key": key, "payload": "fail new!"})  # its state is the newer record
        self.until("it failed", lambda: self.stats()["failed"] == 1)
        newer.kill()
        older = self.node_of(OLDER)
        self.until("the older one leaves it alone", lambda: "waits for a newer node" in older.log.read_text())
        self.push_by(OLDER, {"id": "2", "key": self.key_in(2)})
        self.until("others go on", lambda: "2" in self.ran())
        self.node_of(NEWER)
        subprocess.run([NEWER, "job", "orders", "1", "run-now"], cwd=self.folder, env=self.environment(), check=True,
                       capture_output=True, timeout=project.PATIENCE_S)
        self.until("all have ended", lambda: self.stats()["processed"] == 2)
        self.assertEqual([job for job in self.ran() if job == "1"], ["1", "1"], "its retry is the second run")
        self.assertEqual(self.stats()["dead"], 0)


if __name__ == "__main__":
    unittest.main()
