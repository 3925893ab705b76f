"""ordo copy: everything arrives, in order, whatever was killed when (docs/copy.md)."""
import collections
import json
import os
import pty
import random
import subprocess
import time
import unittest

from project import ORDO, Project, read_terminal

FROM, TO = "sqlite:ordo.db", "sqlite:new.db"
SHARDS = 3
CONFIG = f"""store = "{FROM}"
[node]
threads = 1
[queue.orders]
command = ["python3", "-B", "worker.py"]
shards = {SHARDS}
retry = {{ strategy = "fixed", delay = "50ms" }}
[queue.mails]
command = ["python3", "-B", "worker.py"]
shards = 1
max_retries = 0
[queue.bulk]
shards = 4
"""
# A job whose payloads say so fails at its first run.
FAIL_FIRST = """
results = {}
for job in request["jobs"]:
    fails = job["retry_count"] == -1 and any(payload.get("fail") for payload in job["payloads"])
    results[job["id"]] = {"error": "no luck"} if fails else {"ok": True}
return {"results": results}
"""


class Copy(Project):
    def setUp(self):
        super().setUp()
        self.write("ordo.toml", CONFIG)
        self.answer(FAIL_FIRST)

    def copy(self, *arguments, code=0):
        return json.loads(self.ordo("copy", FROM, TO, "--keep-source", "--json", *arguments, code=code).stdout)

    def stats_of(self, store):
        return self.json("stats", "--store", store)["by_queue"]

    def fill(self, bulk):
        """Failed, dead, merged, scheduled and paused jobs, jobs of one key, and controls that nobody read."""
        self.push_lines([{"id": f"f{n}", "key": f"k{n % 4}", "payload": {"n": n, "fail": True}} for n in range(12)])
        self.push_lines([{"id": f"m{n}", "payload": {"n": n, "fail": n % 3 == 0}} for n in range(30)], queue="mails")
        self.write("ordo.toml", CONFIG.replace("50ms", "1h"))  # no retry of these comes due by itself
        node = self.start("--queue", "orders,mails")
        self.until_stats("orders", failed=4)
        self.until_stats("mails", dead=10)
        node.kill()
        node.wait()
        self.write("ordo.toml", CONFIG)
        rng = random.Random(7)
        self.push_lines([{"id": str(rng.randrange(30)), "key": f"k{rng.randrange(6)}", "payload": {"n": rng.randrange(4)},
                          "score": rng.randrange(5)} for _ in range(120)])
        self.push_lines([{"id": f"late{n}", "run_at": "2100-01-01T00:00:00Z", "priority": n} for n in range(9)])
        self.push_lines([{"id": f"p{n}", "key": "k1", "payload": {"n": n}, "priority": 100 - n} for n in range(5)])
        self.ordo("job", "orders", "late3", "run-now")
        self.ordo("job", "orders", "late4", "cancel")
        self.ordo("dead", "mails", "retry", "m0", "m3")
        self.push_lines([{"id": str(n % (bulk - bulk // 10)), "key": str(n % 997), "payload": {"n": n}} for n in range(bulk)],
                        queue="bulk")
        self.ordo("pause", "bulk")

    def listed(self, store, *queues):
        """All that the commands say of a store."""
        listing = {}
        for queue in queues or ("orders", "mails", "bulk"):
            jobs = self.json("jobs", queue, "--limit", "1000000", "--store", store)
            listing[queue] = sorted(map(json.dumps, jobs))
            listing[queue + " dead"] = self.json("dead", queue, "--store", store)
        return listing

    def drained(self, store):
        """What runs there, key by key, in order. (Jobs that a killed node left are marked before they start, so that
        those of other keys may overtake them: the order of a shard is compared by the unit tests.)"""
        notes = self.folder / "requests.ndjson"
        notes.unlink(missing_ok=True)
        for job in self.json("jobs", "orders", "--state", "retrying", "--store", store):
            self.ordo("job", "orders", job["id"], "run-now", "--store", store)
        self.drain("--store", store, "--queue", "orders,mails")
        keys = collections.defaultdict(list)
        for request in self.requests():
            for job in request["jobs"]:
                job.pop("fence")
                keys[request["queue"], job["key"]].append(job)
        return keys

    def test_killed_again_and_again_it_brings_everything(self):
        self.fill(bulk=80_000)
        seed = int(os.environ.get("ORDO_COPY_SEED", time.time_ns() % 10_000))
        print(f"seed {seed}", flush=True)
        rng = random.Random(seed)
        kills = 0
        while kills < 12:
            process = subprocess.Popen([ORDO, "copy", FROM, TO, "--keep-source"], cwd=self.folder,
                                       env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                _, error = process.communicate(timeout=rng.uniform(0.02, 0.5))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
                continue
            self.assertEqual(process.returncode, 0, error)
            if kills >= 3:
                break
            for path in self.folder.glob("new.db*"):  # it was too quick: once more from nothing
                path.unlink()
        self.push("pushed-meanwhile", None, "--score", "1")
        result = self.copy()
        self.assertTrue(result["verified"])
        print(f"{kills} kills; the last call appended {result['appended']}", flush=True)
        self.assertEqual(self.listed(TO), self.listed(FROM))
        here, there = self.stats_of(FROM), self.stats_of(TO)
        for queue, stats in here.items():
            for name in ("length", "dead", "processed", "failed", "paused"):
                self.assertEqual(there[queue][name], stats[name], f"{queue} {name}")
        runs = self.drained(TO)
        for key, expected in self.drained(FROM).items():
            self.assertEqual(runs[key], expected, key)
        self.assertGreater(sum(map(len, runs.values())), 60)
        self.assertIn(0, {job["retry_count"] for jobs in runs.values() for job in jobs})
        self.assertEqual(self.listed(TO, "orders"), self.listed(FROM, "orders"))

    def test_one_call_says_what_it_did(self):
        self.fill(bulk=2000)
        result = self.copy()
        self.assertEqual([queue["queue"] for queue in result["queues"]], ["orders", "mails", "bulk"])
        for queue in result["queues"]:
            self.assertTrue(queue["verified"])
            self.assertEqual(queue["from"], queue["to"])
        self.assertEqual(result["queues"][2]["to"]["entries"], 2000)
        self.assertEqual(result["appended"], sum(queue["to"]["entries"] for queue in result["queues"]))
        self.assertEqual(result["queues"][1]["to"]["dead"], 8)
        self.assertGreaterEqual(result["queues"][0]["to"]["states"], 4)
        text = self.ordo("copy", FROM, "sqlite:other.db").stdout
        self.assertRegex(text, r"bulk +FROM +2000 +0 +0 +0 +0 +[0-9a-f]{16}\n +TO +2000 ")
        self.assertIn("let producers push to TO now", text)

    def test_what_came_since_is_copied_by_the_same_command(self):
        self.push("1", {"n": 1})
        self.assertEqual(self.copy()["appended"], 1)
        self.drain("--store", TO)
        self.push("2", {"n": 2})
        self.assertEqual(self.copy()["appended"], 1)
        self.assertEqual(self.copy()["appended"], 0)
        self.assertEqual([job["id"] for job in self.json("jobs", "orders", "--store", TO)], ["2"])
        self.drain("--store", TO)
        self.assertEqual(self.runs(), [("1", [{"n": 1}], -1), ("2", [{"n": 2}], -1)])
        self.assertEqual(self.stats_of(TO)["orders"]["processed"], 2)

    def test_no_node_runs_the_jobs_in_from_too(self):
        self.push("1", {"n": 1})
        self.push("1", {"n": 1}, queue="mails")
        self.ordo("pause", "mails")
        text = self.ordo("copy", FROM, TO).stdout
        self.assertIn("The queues of FROM are paused", text)
        self.assertTrue(self.stats_of(FROM)["orders"]["paused"])
        self.assertFalse(self.stats_of(TO)["orders"]["paused"])
        self.assertTrue(self.stats_of(TO)["mails"]["paused"], "as it was in FROM")
        self.drain()
        self.assertEqual(self.runs(), [])
        self.push("2", {"n": 2})
        self.ordo("copy", FROM, TO)
        self.assertFalse(self.stats_of(TO)["orders"]["paused"], "a later copy leaves it as it is")
        self.drain("--store", TO)
        self.assertEqual(sorted(run[0] for run in self.runs()), ["1", "2"])
        self.ordo("resume", "orders")
        self.assertFalse(self.stats_of(FROM)["orders"]["paused"])

    def test_living_nodes_are_told_to_stop_first(self):
        for store in (FROM, TO):
            self.push("1", {"n": 1}, "--at", "2100-01-01T00:00:00Z")
            node = self.start("--store", store)
            self.until("the node has its shards", lambda: [each for each in self.json("nodes", "--store", store)
                                                           if each["shards"] == SHARDS + 1])
            name = "FROM" if store == FROM else "TO"
            error = self.ordo("copy", FROM, TO, code=1).stderr
            self.assertRegex(error, rf"node \S+ \(process {node.pid} on .*\) is at work in {name}; stop the nodes first")
            node.terminate()
            self.assertEqual(self.end_of(node), 0)
        self.assertTrue(self.copy()["verified"])

    def test_what_it_refuses(self):
        self.push("1")
        for arguments in [["copy"], ["copy", FROM], ["copy", FROM, FROM], ["copy", FROM, "nope:x"],
                          ["copy", FROM, "sqlite:no/such/folder/x.db"]]:
            self.ordo(*arguments, code=2)
        self.assertIn("no store at", self.ordo("copy", "sqlite:none.db", TO, code=2).stderr)
        self.ordo("push", "orders", "--ndjson", "-", "--store", "sqlite:empty.db")
        self.assertIn("FROM has no queues", self.ordo("copy", "sqlite:empty.db", TO, code=1).stderr)
        self.assertFalse((self.folder / "new.db").exists(), "TO is made for something")
        self.ordo("push", "orders", "--id", "mine", "--store", TO)
        self.assertIn("queue 'orders' of TO has content of its own", self.ordo("copy", FROM, TO, code=1).stderr)
        self.drain()
        self.ordo("copy", FROM, "sqlite:third.db", "--keep-source")
        self.push("3")
        self.drain()
        self.assertIn("a node has worked there since", self.ordo("copy", FROM, "sqlite:third.db", code=1).stderr)

    def test_a_terminal_gets_a_bar(self):
        self.fill(bulk=100_000)
        shown, terminal = pty.openpty()
        process = subprocess.Popen([ORDO, "copy", FROM, TO], cwd=self.folder, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        text = read_terminal(shown)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertRegex(text.decode(), r"\r\x1b\[K\[=* *\] +\d+%  \d+ entries( checked)?, \d+/s")
        self.assertTrue(text.endswith(b"\r\x1b[K"))


if __name__ == "__main__":
    unittest.main()
