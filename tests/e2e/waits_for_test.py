"""Why a job does not run, as a user sees it (docs/jobs.md)."""
import unittest

from project import Project

HELD = """
job = request["jobs"][0]
if job["id"].startswith("call"):
    return {"results": {job["id"]: {"wait": "answer", "timeout": 600}}}
while not os.path.exists("go"):
    time.sleep(0.02)
return {"ok": True}""".strip()


class WaitsFor(Project):
    def setUp(self):
        super().setUp()
        self.answer(HELD)

    def reasons(self, job_id, *filters):
        jobs = [job for job in self.json("jobs", "orders", *filters) if job["id"] == job_id]
        return [(each["what"], each["name"], sorted(each["held_by"])) for job in jobs for each in job["waits_for"]]

    def until_reasons(self, job_id, *wanted):
        self.until(f"{job_id} waits for {wanted}", lambda: self.reasons(job_id) == list(wanted))
        self.assertEqual(self.reasons(job_id, "--id", job_id), list(wanted))

    def test_without_a_node_nobody_has_the_code(self):
        self.config()
        self.push_lines([{"id": "1"}])
        self.assertEqual(self.reasons("1"), [("code", "orders", [])])
        self.assertRegex(self.ordo("jobs", "orders").stdout, r"code orders")
        self.ordo("pause", "orders")
        self.assertEqual(self.reasons("1"), [("pause", "orders", []), ("code", "orders", [])])

    def test_what_holds_a_job_up_is_named_with_its_holders(self):
        self.config(queue='limit = 2\nlock = "/account"', node="threads = 4")
        self.push_lines([{"id": "1", "key": "k", "payload": {"account": 7}}])
        self.start()
        self.until("1 runs", lambda: self.stats()["running"] == 1)
        self.push_lines([
            {"id": "2", "key": "k", "payload": {"account": 8}},
            {"id": "3", "payload": {"account": 7}},
            {"id": "later", "payload": {"account": 9}, "run_at": "2035-01-01T00:00:00Z"},
            {"id": "nobody", "kind": "unknown", "payload": {"account": 10}}])
        self.until_reasons("2", ("key", "k", ["1"]))
        self.until_reasons("3", ("lock", "7", ["1"]))
        self.until_reasons("later", ("time", "", []))
        self.until_reasons("nobody", ("code", "unknown", []))
        self.assertEqual(self.reasons("1"), [])
        self.assertIn("lock 7 (held by 1)", self.ordo("jobs", "orders").stdout)
        self.assertRegex(self.ordo("job", "orders", "3").stdout, r"waits for +lock 7 \(held by 1\)")
        self.push_lines([{"id": "4", "payload": {"account": 11}}])
        self.until("4 runs", lambda: self.stats()["running"] == 2)
        self.push_lines([{"id": "5", "payload": {"account": 12}}])
        self.until_reasons("3", ("lock", "7", ["1"]), ("limit", "orders", ["1", "4"]))
        self.until_reasons("5", ("limit", "orders", ["1", "4"]))
        self.write("go", "")
        self.until("they have run", lambda: self.stats()["processed"] == 5)

    def test_a_rate_and_a_response_have_a_time(self):
        self.config(queue='rate = { limit = 1, per = "1h", burst = 1 }')
        self.push_lines([{"id": "call"}])
        self.start()
        self.until("it waits", lambda: self.stats()["awaiting"] == 1)
        self.push_lines([{"id": "second"}])
        self.until_reasons("call", ("response", "answer", []))
        self.until_reasons("second", ("rate", "orders", []))
        times = lambda: [job["waits_for"][0]["until"] or "" for job in self.json("jobs", "orders")]
        self.until("both are told until when", lambda: [time[:2] for time in times()] == ["20", "20"])

    def test_a_value_that_no_share_is_left_for_waits_for_the_rest(self):
        self.config(queue='limit = 4\npartition = "/region"\nshares = { east = 100 }')
        self.push_lines([{"id": "s1", "payload": {"region": "south"}}])
        self.start()
        self.until_reasons("s1", ("limit", "orders: *", []))
        self.until("it is counted", lambda: [(each["partition"], each["waiting"]) for each in self.json("limits")
                                             if each["waiting"]] == [("*", 1)])


if __name__ == "__main__":
    unittest.main()
