"""What is kept of jobs that have ended (docs/traces.md)."""
import datetime
import json
import re
import unittest

from project import Project

RETRY = 'retry = { strategy = "fixed", delay = "0s" }\nmax_retries = 1\n'
ANSWER = """
job = request["jobs"][0]
if job["id"] == "dies" or (job["id"] == "second" and job["retry_count"] < 0):
    return {"ok": False, "error": "no route to " + job["id"]}
if job["id"] == "unwanted":
    return {"results": {"unwanted": {"discard": "not wanted"}}}
return {"ok": True}""".strip()


class Traces(Project):
    def setUp(self):
        super().setUp()
        self.answer(ANSWER)

    def run_some(self, *ids, queue='keep = "1h"\n'):
        self.config(queue=f"shards = 2\n{RETRY}{queue}")
        for job_id in ids:
            self.push(job_id, {"n": job_id})
        self.drain()

    def records(self, *arguments):
        return [(record["id"], record["state"]) for record in self.json("jobs", "orders", *arguments)]

    def test_what_became_of_a_job_with_its_attempts(self):
        self.run_some("second", "dies", "unwanted")
        (second,) = self.json("job", "orders", "second")
        self.assertEqual(second["state"], "done")
        self.assertEqual(second["retry_count"], 0)
        pushed, started, ended = (datetime.datetime.fromisoformat(second[what]) for what in ("pushed", "started", "ended"))
        self.assertLessEqual(pushed, started)
        self.assertLessEqual(started, ended)
        (attempt,) = second["attempts"]
        self.assertEqual((attempt["error"], attempt["error_kind"]), ("no route to second", "handler"))
        self.assertEqual(attempt["node"], second["node"])
        self.assertGreater(len(second["node"]), 0)
        dead, record = self.json("job", "orders", "dies")
        self.assertEqual((dead["state"], record["state"]), ("dead", "dead"))
        self.assertEqual([each["error"] for each in record["attempts"]], ["no route to dies"] * 2)
        (unwanted,) = self.json("job", "orders", "unwanted")
        self.assertEqual((unwanted["state"], unwanted["error"]), ("discarded", "not wanted"))
        sheet = self.ordo("job", "orders", "second").stdout
        self.assertRegex(sheet, r"(?m)^state +done$")
        self.assertRegex(sheet, r"(?m)^attempt +.*no route to second$")

    def test_lists_by_state_newest_first(self):
        self.run_some("1")
        self.push("2", None, "--at", "+1h")
        self.ordo("job", "orders", "2", "cancel")
        self.push("3", None, "--at", "500", "--expires", "1000")
        self.push("dies")
        self.drain()
        self.assertEqual(self.records("--state", "done"), [("1", "done")])
        self.assertEqual(self.records("--state", "cancelled"), [("2", "cancelled")])
        self.assertEqual(self.records("--state", "expired"), [("3", "expired")])
        self.assertEqual(self.records("--state", "failed"), [("dies", "failed")] * 2)
        self.assertEqual(sorted(self.records("--state", "ended")),
                         [("1", "done"), ("2", "cancelled"), ("3", "expired"), ("dies", "dead")])
        self.assertEqual(self.records("--state", "ended")[-1], ("1", "done"))
        self.assertEqual(self.records("--state", "failed", "--error", "nothing"), [])
        self.assertIn("dies", self.ordo("jobs", "orders", "--state", "failed").stdout)
        self.ordo("jobs", "orders", "export", "--state", "done", code=2)
        self.ordo("jobs", "orders", "--state", "done", "--sort", "id", code=2)

    def test_a_list_that_is_cut_goes_on(self):
        self.run_some(*[str(i) for i in range(7)])
        found, more = [], []
        while True:
            page = self.ordo("jobs", "orders", "--state", "done", "--json", "--limit", "3", *more)
            found += [record["id"] for record in json.loads(page.stdout)]
            told = re.search(r"there are more: .*--after (\S+)", page.stderr)
            if not told:
                break
            more = ["--after", told[1]]
        self.assertEqual(found, [record["id"] for record in self.json("jobs", "orders", "--state", "done")])
        self.assertEqual(sorted(found), [str(i) for i in range(7)])

    def test_payloads_are_kept_where_it_says_so(self):
        self.run_some("1", queue='keep = "1h"\nkeep_payloads = true\n')
        (record,) = self.json("job", "orders", "1")
        self.assertEqual(record["payloads"], [{"n": "1"}])
        self.run_some("2")
        (record,) = self.json("job", "orders", "2")
        self.assertNotIn("payloads", record)

    def test_nothing_is_kept_unless_it_is_asked_for(self):
        self.run_some("1", queue="")
        self.assertIn("keep", self.ordo("job", "orders", "1", code=1).stderr)
        self.assertEqual(self.records("--state", "ended"), [])
        self.assertEqual((self.stats()["kept"], self.stats()["kept_since"]), (0, None))

    def test_what_is_unset_goes(self):
        self.run_some("1")
        self.assertEqual(self.stats()["kept"], 1)
        self.assertIsNotNone(self.stats()["kept_since"])
        self.config(queue=f"shards = 2\n{RETRY}")
        self.start()
        self.until("it is gone", lambda: self.stats()["kept"] == 0)
        self.assertEqual(self.records("--state", "ended"), [])

    def test_what_is_forgotten_is_gone(self):
        self.run_some("dies", "1")
        self.assertEqual(self.json("job", "orders", "dies", "forget"), {"forgotten": 4})  # 2 attempts, a death, a payload
        self.ordo("job", "orders", "dies", code=1)
        self.ordo("job", "orders", "dies", "forget", code=1)
        self.assertEqual(self.records("--state", "ended"), [("1", "done")])

    def test_a_reshard_brings_it_along(self):
        self.run_some("1", "2", "dies")
        before = self.json("jobs", "orders", "--state", "ended")
        self.ordo("reshard", "orders", "3")
        self.config(queue=f'shards = 3\n{RETRY}keep = "1h"\n')
        self.assertEqual(sorted(self.json("jobs", "orders", "--state", "ended"), key=str), sorted(before, key=str))
        self.assertEqual(len(self.json("jobs", "orders", "--state", "failed")), 2)
        self.assertEqual(self.stats()["kept"], 5)
        self.push("3")
        self.drain()
        self.assertEqual(len(self.records("--state", "ended")), 4)

    def test_a_copy_brings_it_along(self):
        self.run_some("1", "dies")
        before = self.json("jobs", "orders", "--state", "ended")
        there = f"sqlite:{self.folder}/copy.db"
        self.ordo("copy", self.server.direct if self.server else "sqlite:ordo.db", there)
        found = json.loads(self.ordo("jobs", "orders", "--state", "ended", "--json", "--store", there).stdout)
        self.assertEqual(sorted(found, key=str), sorted(before, key=str))


if __name__ == "__main__":
    unittest.main()
