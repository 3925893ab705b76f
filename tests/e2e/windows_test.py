"""Windows and expiry, of queues and of jobs, as a user sees them (docs/windows.md)."""
import datetime
import unittest

from project import Project

class Windows(Project):
    def setUp(self):
        super().setUp()
        self.answer("return {'ok': True}")
        self.now = datetime.datetime.now(datetime.timezone.utc).replace(second=0, microsecond=0)

    def clock(self, minutes):
        """What the clock shows so many minutes later, and that instant."""
        at = self.now + datetime.timedelta(minutes=minutes)
        return at.strftime("%H:%M"), at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def queue_open(self, first, last, more=""):
        """A queue whose window is open from `first` to `last` minutes from now."""
        self.config(queue=f"windows = [{{ start = '{self.clock(first)[0]}', end = '{self.clock(last)[0]}' }}]\n" + more)

    def test_a_closed_queue_starts_nothing_and_says_so(self):
        opens = self.clock(120)[1]
        self.queue_open(120, 180)
        self.push_lines([{"id": str(i)} for i in range(5)])
        node = self.start()
        self.until("the node counts them", lambda: self.stats()["blocked_by_window"] == 5)
        stats = self.stats()
        self.assertEqual((stats["due"], stats["length"], stats["lag"]), (5, 5, 0))
        self.assertEqual({job["starts_at"] for job in self.json("jobs", "orders")}, {opens})
        self.assertIn("5 wait for a window", self.ordo("stats").stdout)
        self.assertIn(opens.replace("Z", "+00:00"), self.ordo("job", "orders", "3").stdout)
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual(self.runs(), [])
        self.drain()  # what waits for a window waits for its time

    def test_an_open_queue_works(self):
        self.queue_open(-60, 120)
        self.push("1")
        self.drain()
        self.assertEqual(len(self.runs()), 1)

    def test_a_job_has_windows_of_its_own(self):
        self.config()
        later, opens = self.clock(90)
        self.ordo("push", "orders", "--id", "closed", "--window", f"{later}-{self.clock(100)[0]}", "--window", f"{self.clock(200)[0]}-{self.clock(210)[0]} UTC")
        self.push_lines([{"id": "open", "windows": [{"start": "00:00", "end": "24:00", "days": ["mon-sun"], "tz": "Asia/Tokyo"}]}])
        self.drain()
        [job] = self.json("jobs", "orders")
        self.assertEqual((job["id"], job["starts_at"]), ("closed", opens))
        [shown] = self.json("job", "orders", "closed")
        self.assertEqual([window["start"] for window in shown["windows"]], [later, self.clock(200)[0]])
        self.assertEqual(len(self.runs()), 1)

    def test_what_could_never_start_is_refused(self):
        self.queue_open(120, 180)
        for arguments, why in (
                (["--window", "05:00-07:00 Europe/Moskau"], "time zone"),
                (["--window", f"{self.clock(200)[0]}-{self.clock(210)[0]}"], "never start"),
                (["--expires", "2001-01-01T00:00:00Z"], "before it may start"),
                (["--expires", "+1m", "--at", "+1h"], "before it may start"),
                (["--expires", "+1h"], "before it may start")):
            self.assertIn(why, self.ordo("push", "orders", "--id", "1", *arguments, code=1).stderr)
        refused = self.ordo("push", "orders", "--id", "1", "--window", "25:00-26:00", code=2)
        self.assertIn("no time of the day", refused.stderr)
        self.assertEqual(self.json("jobs", "orders"), [])

    def test_what_was_not_started_in_time_is_dead_or_dropped(self):
        self.config(queue="max_retries = 0\n", more='[queue.news]\nexpires = "1ms"\non_expire = "drop"\ncommand = ["python3", "-B", "worker.py"]\n')
        self.push_lines([{"id": "late", "payload": {"n": 1}, "expires": "+1s"}, {"id": "late", "payload": {"n": 2}, "expires": "+500ms"},
                         {"id": "kept"}])
        self.ordo("pause", "orders")
        self.ordo("pause", "news")
        self.push("old", queue="news")
        node = self.start()
        self.until("it is dead", lambda: self.stats()["dead"] == 2)
        self.until("it is gone", lambda: self.stats("news")["length"] == 0)
        self.assertEqual(self.stats("news")["dead"], 0)
        [dead] = self.json("dead", "orders", "list")
        self.assertEqual((dead["id"], dead["error_kind"], dead["payloads"]), ("late", "expired", [{"n": 1}, {"n": 2}]))
        self.assertEqual(self.stats()["failed"], 0)
        self.ordo("dead", "orders", "retry", "late")
        self.ordo("resume", "orders")
        self.until("both have run", lambda: self.stats()["processed"] == 2)
        node.terminate()
        self.assertEqual(self.end_of(node), 0)

    def test_bad_windows_in_a_config_are_named(self):
        for settings, why in (("windows = [{ start = '05:00' }]", "needs start and end"),
                              ("windows = [{ start = '05:00', end = '05:00' }]", "starts when it ends"),
                              ("windows = [{ start = '5', end = '07:00' }]", "no time of the day"),
                              ("windows = [{ start = '05:00', end = '07:00', tz = 'Mars' }]", "time zone"),
                              ("windows = [{ start = '05:00', end = '07:00', days = ['someday'] }]", "names no days"),
                              ("windows = [{ start = '05:00', end = '07:00' }]\nfinish_by = true", "needs min_remaining"),
                              ("windows = [{ start = '05:00', end = '07:00' }]\nmin_remaining = '3h'", "longer than any"),
                              ("finish_by = true", "no effect")):
            self.config(queue=settings + "\n")
            self.assertIn(why, self.ordo("stats", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
