"""Rows of listings come from the nodes that own the shards, and are the same without them (docs/jobs.md)."""
import re
import unittest

from project import Project

HELD = """
job = request["jobs"][0]
if job["id"] == "fails":
    return {"ok": False, "error": "no route"}
while not os.path.exists("go"):
    time.sleep(0.02)
return {"ok": True}""".strip()


class Ask(Project):
    def setUp(self):
        super().setUp()
        self.answer(HELD)

    def answered(self):
        """(jobs, shards) of each question that nodes have answered."""
        return [(int(jobs), int(shards)) for jobs, shards
                in re.findall(r"answered a question: (\d+) jobs of (\d+) shards", self.log())]

    def told_by_the_owner(self, *arguments):
        """What is shown, in answers of the owner alone: it may have been busy for one of them."""
        def look():
            before = len(self.answered())
            rows = self.json(*arguments)
            return [rows] if sum(shards for _, shards in self.answered()[before:]) > 0 else None

        return self.until("the owner answers", look)[0]

    def test_rows_are_the_same_by_the_owner_and_by_the_store(self):
        self.config(queue='shards = 3\nretry = { strategy = "fixed", delay = "1h" }',
                    node='threads = 2\nlog_level = "debug"')
        self.push_lines([{"id": "runs", "key": "k", "payload": {"n": 1}}, {"id": "fails", "payload": "x"}])
        node = self.start()
        self.until("it fails and runs", lambda: self.stats()["running"] == 1 and self.stats()["retrying"] == 1)
        self.push_lines([
            {"id": "behind", "key": "k", "payload": [1], "priority": 3},
            {"id": "runs", "key": "k", "payload": "beside"},
            {"id": "later", "payload": 1, "run_at": "2035-01-01T00:00:00Z", "timeout": "7s", "expires": "2036-01-01T00:00:00Z"},
            {"id": "later", "payload": 2, "score": -1},
            {"id": "other", "kind": "unknown", "windows": [{"start": "05:00", "end": "07:00", "tz": "Europe/Moscow"}]},
            *({"id": f"many-{i}", "run_at": f"2035-01-02T00:00:{i:02}Z", "payload": "p" * i} for i in range(30))])
        self.until("the counts are written", lambda: self.stats()["scheduled"] >= 30 and self.stats()["blocked_by_key"] == 2)
        looks = [("jobs", "orders"), ("jobs", "orders", "--id", "later"), ("jobs", "orders", "--id", "behind"),
                 ("jobs", "orders", "--key", "k"), ("jobs", "orders", "--kind", "unknown"),
                 ("jobs", "orders", "--limit", "5"), ("job", "orders", "runs"), ("job", "orders", "behind")]
        told = [self.told_by_the_owner(*look) for look in looks]
        self.assertEqual(len(told[0]), 36, told[0])
        self.assertEqual([job["id"] for job in told[2]], ["behind"])
        self.freeze(node)
        before = self.answered()
        running = told[6][0]
        self.assertEqual(running["node"], self.json("nodes")[0]["id"])
        self.assertTrue(running["started"])
        running.update(node=None, started=None)  # the store does not know it
        for look, rows in zip(looks, told):
            self.assertEqual(self.json(*look), rows, look)
        self.assertEqual(self.answered(), before, "it is frozen")

    def test_what_was_pushed_just_now_is_shown(self):
        self.config(node='log_level = "debug"')
        self.make_store()
        self.start()
        self.until("it is there", lambda: any(node["shards"] for node in self.json("nodes")))
        for i in range(20):
            self.push(str(i), None, "--at", "+1h")
            self.assertEqual([job["id"] for job in self.json("jobs", "orders", "--id", str(i))], [str(i)])
            self.assertEqual(len(self.json("jobs", "orders")), i + 1)
        self.assertGreater(len(self.answered()), 0)

    def test_a_cancel_says_which_where_one_waits_beside_one_that_runs(self):
        self.config()
        self.make_store()
        self.start()
        self.push("same", 1)
        states = lambda: sorted(job["state"] for job in self.json("jobs", "orders"))
        self.until("it runs", lambda: states() == ["running"])
        self.assertIn("0 jobs fit", self.ordo("jobs", "orders", "cancel", "--state", "queued", "--count").stdout)
        self.push("same", 2)
        self.assertIn("queued or running", self.ordo("job", "orders", "same", "cancel", code=1).stderr)
        self.assertEqual(states(), ["queued", "running"])
        self.ordo("job", "orders", "same", "cancel", "--state", "queued")
        self.until("the one that waits is gone", lambda: states() == ["running"])
        self.assertIn("is queued", self.ordo("job", "orders", "same", "cancel", "--state", "queued", code=1).stderr)
        self.push("same", 3)
        self.ordo("jobs", "orders", "cancel", "--state", "queued", "--yes")
        self.until("the one that waits is gone", lambda: states() == ["running"])
        self.write("go", "")


if __name__ == "__main__":
    unittest.main()
