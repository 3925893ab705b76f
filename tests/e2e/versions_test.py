"""Nodes and producers of this version of Ordo beside those of the next: ORDO_NEWER, which is built from the same objects,
but for the codecs. Both have schema 1 and what follows it: no store of before the first release is opened. The next one writes
a field of its own into every record, and says of what speaks of something "new!" that an
older version must not guess what it means. What speaks of something "odd!" an older version cannot read at all."""
import collections
import json
import os
import re
import subprocess
import unittest
import zlib

import project
from project import Project

OLDER = project.ORDO
NEWER = os.environ.get("ORDO_NEWER", OLDER + "_newer")
SHARDS = 4

# Notes which node it is of. The first run of a job fails when its payload asks for it.
ANSWER = """
job = request["jobs"][0]
with open("ran-by.ndjson", "a") as notes:
    notes.write(json.dumps([job["id"], os.environ["RUN_BY"]]) + "\\n")
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
        """A node; its log is in a file of its own, and its name says of which build it is."""
        name = f"{'newer' if binary == NEWER else 'older'}-{len(self.nodes)}"
        with open(self.folder / f"{name}.log", "wb") as log:
            node = subprocess.Popen([binary, "work"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log,
                                    env={**self.environment(), "RUN_BY": name})
        self.nodes.append(node)
        node.name, node.log = name, self.folder / f"{name}.log"
        node.id = self.until("it works", lambda: re.search(r"node (\S+) serves orders", node.log.read_text()))[1]
        return node

    def until_it_owns(self, *nodes):
        def own():
            shards = {row["id"]: row["shards"] for row in self.json("nodes")}
            return all(shards.get(node.id) for node in nodes)
        self.until("each has shards", own)

    def ran_by(self):
        """(job, name of the node) of each run, in their order."""
        notes = self.folder / "ran-by.ndjson"
        return [tuple(json.loads(line)) for line in notes.read_text().splitlines()] if notes.exists() else []

    def kill_at_work(self, node):
        self.until("it has run jobs", lambda: any(name == node.name for _, name in self.ran_by()))
        node.kill()

    def builds_of(self, job):
        return [name.partition("-")[0] for ran, name in self.ran_by() if ran == job]

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
        self.until_it_owns(self.node_of(OLDER), self.node_of(NEWER))
        count = 200
        keys = [str(i % 20) for i in range(count)]
        for first in range(0, count, 20):
            jobs = [{"id": str(i), "key": keys[i], "payload": "fail once" if i % 7 == 0 else i}
                    for i in range(first, first + 20)]
            self.push_by(NEWER if first % 40 else OLDER, *jobs)
            if first == 80:
                self.kill_at_work(self.nodes[0])
                self.until_it_owns(self.node_of(OLDER))
            if first == 120:
                self.kill_at_work(self.nodes[1])
                self.until_it_owns(self.node_of(NEWER))
        self.until("all have ended", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        ran = self.ran()
        self.assertEqual(set(ran), set(map(str, range(count))), "none is lost")
        self.assertEqual({name for _, name in self.ran_by()}, {node.name for node in self.nodes}, "each has run jobs")
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
        builds = {job: self.builds_of(job) for job in ("before", "newer", "behind", *(f"other-{key}" for key in others))}
        self.assertEqual(builds, {**dict.fromkeys(builds, ["older"]), "newer": ["newer"], "behind": ["newer"]})
        self.until_stats(processed=3 + len(others), waits_for_newer=0)
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
        self.assertEqual((self.builds_of("1"), self.builds_of("2")), (["newer", "newer"], ["older"]))
        self.assertEqual(self.stats()["dead"], 0)

    def test_what_an_older_node_could_not_read_is_brought_back_once_a_newer_one_is_there(self):
        older = self.node_of(OLDER)
        key = self.key_in(0)
        payloads = {"1": "odd!", "2": {"of": "odd! things"}}
        self.push_by(NEWER, *[{"id": job, "key": key, "payload": payload} for job, payload in payloads.items()])
        self.push_by(OLDER, {"id": "behind", "key": key})
        self.until("what follows them runs", lambda: "behind" in self.ran())
        self.until_stats(dead=2, unreadable=2, waits_for_newer=0)
        dead = self.json("dead", "orders")
        self.assertEqual([job["error_kind"] for job in dead], ["unreadable"] * 2)
        self.assertEqual(self.json("dead", "orders", "retry", "--all"), {"retried": 2})
        self.until_stats(dead=2, unreadable=4)  # by this one they are as little understood as before
        older.terminate()
        self.end_of(older)
        self.node_of(NEWER)
        for number, tool in enumerate((OLDER, NEWER), 1):  # the bytes are the same whoever brings them back
            first = self.json("dead", "orders")[0]["id"]
            subprocess.run([tool, "dead", "orders", "retry", first], cwd=self.folder, env=self.environment(), check=True,
                           capture_output=True, timeout=project.PATIENCE_S)
            self.until_stats(dead=2 - number, processed=1 + number)
        ran = [(job["id"], job["key"], job["payloads"]) for request in self.requests() for job in request["jobs"]]
        self.assertEqual(ran, [("behind", key, [""])] + [(job, key, [payload]) for job, payload in payloads.items()])
        builds = [self.builds_of(job) for job in ("behind", *payloads)]
        self.assertEqual(builds, [["older"], ["newer"], ["newer"]])


if __name__ == "__main__":
    unittest.main()
