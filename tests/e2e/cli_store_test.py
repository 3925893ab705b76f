"""What is pushed, listed and managed, on whichever store (docs/cli.md)."""
import subprocess
import unittest

from project import ORDO, Project

JOB_KEYS = ["queue", "kind", "key", "id", "state", "payloads", "scores", "run_at", "retry_count", "crashes", "error"]
COUNTS = ["length", "due", "scheduled", "retrying", "running", "awaiting", "dead", "blocked_by_lock", "lag",
          "processed", "failed"]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z"


class Push(Project):
    def setUp(self):
        super().setUp()
        self.config()

    def job(self, job_id):
        jobs = self.json("jobs", "orders", "--id", job_id)
        self.assertEqual(len(jobs), 1)
        return jobs[0]

    def test_prints_the_id(self):
        self.assertEqual(self.push("42").stdout, "42\n")
        self.assertRegex(self.ordo("push", "orders").stdout, r"^[0-9A-Z]{26}\n$")
        self.assertEqual(self.ordo("push", "orders", "--id", "a\"b", "--json").stdout, '{"pushed":1,"id":"a\\"b"}\n')

    def test_a_job_has_its_shape(self):
        self.ordo("push", "orders", "--id", "42", "--payload", ' {"v": 1.0, "t": "\\u00e9 x"} ', "--score", "-7.5",
                  "--key", "k", "--kind", "charge", "--at", "2035-03-09T08:05:00.5+01:00", "--priority", "-3")
        job = self.job("42")
        self.assertEqual(list(job), JOB_KEYS)
        self.assertEqual(job, {"queue": "orders", "kind": "charge", "key": "k", "id": "42", "state": "queued",
                               "payloads": [{"v": 1.0, "t": "é x"}], "scores": [-7.5],
                               "run_at": "2035-03-09T07:05:00.5Z", "retry_count": -1, "crashes": 0, "error": None})
        self.assertIn('[{"v":1.0,"t":"\\u00e9 x"}]', self.ordo("jobs", "orders", "--json").stdout)

    def test_defaults(self):
        self.push("42")
        job = self.job("42")
        self.assertEqual((job["kind"], job["key"], job["payloads"]), ("orders", "42", [""]))
        self.assertRegex(job["run_at"], f"^{TIME}$")
        self.assertGreater(job["scores"][0], 1.6e9)

    def test_payloads_that_are_bytes(self):
        self.ordo("push", "orders", "--id", "bytes", "--payload-file", "-", stdin=b"\x00\xff\n")
        self.assertEqual(self.job("bytes")["payloads"], [{"$base64": "AP8K"}])
        self.ordo("push", "orders", "--id", "bytes", "--payload", '{"$base64":"AP8K"}')  # equal bytes merge
        self.assertEqual(len(self.job("bytes")["payloads"]), 1)
        self.ordo("push", "orders", "--id", "empty", "--payload", '""')
        self.assertEqual(self.job("empty")["payloads"], [""])

    def test_times(self):
        self.ordo("push", "orders", "--id", "unix", "--at", "2056485900")
        self.assertEqual(self.job("unix")["run_at"], "2035-03-02T22:05:00Z")
        self.ordo("push", "orders", "--id", "delay", "--at", "+1h")
        self.assertEqual([job["id"] for job in self.json("jobs", "orders", "--state", "scheduled")], ["delay", "unix"])
        self.assertEqual(self.json("jobs", "orders", "--state", "due"), [])
        self.assertEqual(len(self.json("jobs", "orders", "--state", "queued")), 2)

    def test_a_queue_nobody_knows(self):
        self.assertIn("orders", self.ordo("push", "ordrs", "--id", "1", code=1).stderr)
        self.ordo("push", "orders", "--id", "x" * 256, code=1)
        self.assertEqual(self.stats()["length"], 0)

    def test_ndjson(self):
        jobs = [{"id": str(i), "payload": {"v": i}, "score": i} for i in range(2500)]
        self.assertEqual(self.push_lines(jobs).stdout, "pushed 2500\n")
        self.assertEqual(self.stats()["length"], 2500)
        self.write("more.ndjson", '{"run_at":"+1h","key":"k","kind":"c","priority":1,"timeout":"1s"}\n\n{}\r\n')
        self.assertEqual(self.json("push", "orders", "--ndjson", "more.ndjson"), {"pushed": 2})

    def test_ndjson_pushes_what_is_there_when_its_input_pauses(self):
        with subprocess.Popen([ORDO, "push", "orders", "--ndjson", "-"], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as push:
            push.stdin.write(b'{"id":"1"}\n{"id":"2"}\n{"id":')
            push.stdin.flush()
            self.until("the first two are pushed", lambda: self.stats()["length"] == 2)
            self.assertEqual(push.communicate(b'"3"}\n')[0], b"pushed 3\n")


class Lists(Project):
    def setUp(self):
        super().setUp()
        self.config(more="[queue.mail]\n[queue.a]\n")

    def test_stats_have_their_shape(self):
        self.push("1")
        self.push("2", None, "--at", "+1h")
        stats = self.json("stats")
        self.assertEqual(list(stats), ["total", "by_queue"])
        self.assertEqual(list(stats["total"]), COUNTS)
        self.assertEqual(list(stats["by_queue"]), ["orders", "mail", "a"])  # as in the file
        self.assertEqual(list(stats["by_queue"]["orders"]), [*COUNTS, "paused"])
        self.assertEqual(stats["by_queue"]["orders"]["length"], 2)
        self.assertIs(stats["by_queue"]["mail"]["paused"], False)
        self.assertRegex(self.ordo("stats").stdout, r"(?m)^orders +2 ")

    def test_pause_and_resume(self):
        self.push("1")
        self.ordo("pause", "orders")
        self.assertIs(self.stats()["paused"], True)
        self.assertEqual(self.json("queues")[0], {"name": "orders", "shards": 5, "state": "paused"})
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 0 awaiting, 1 paused, 0 dead")
        self.ordo("resume", "orders")
        self.drain()
        self.assertEqual(self.stats()["processed"], 1)
        self.ordo("pause", "nope", code=1)

    def test_remove(self):
        self.push("1")
        self.assertIn("--with-jobs", self.ordo("remove", "orders", code=1).stderr)
        self.ordo("remove", "orders", "--with-jobs")
        self.assertEqual(self.stats()["length"], 0)

    def test_job(self):
        self.push("42", {"v": 1}, "--at", "+1h")
        shown = self.json("job", "orders", "42", "show")
        self.assertEqual(shown, self.json("job", "orders", "42"))
        self.assertEqual([job["id"] for job in shown], ["42"])
        self.ordo("job", "orders", "42", "run-now")
        self.drain()
        self.assertEqual(self.runs(), [("42", [{"v": 1}], -1)])
        self.assertEqual(self.json("job", "orders", "42", code=1), [])
        self.push("43", None, "--at", "+1h")
        self.ordo("job", "orders", "43", "cancel")
        self.drain()
        self.assertEqual(self.stats()["length"], 0)
        self.ordo("job", "orders", "43", "cancel")  # gone: nothing happens


if __name__ == "__main__":
    unittest.main()
