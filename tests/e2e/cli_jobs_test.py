"""The jobs of a queue as a whole: sorted and paged, exported and pushed again, changed many at once (docs/cli.md)."""
import base64
import json
import re
import unittest

from project import Project

B64 = lambda data: {"$base64": base64.b64encode(data).decode()}
# What a program that pushes bytes can leave, and what is shown with care.
HOSTILE = [
    {"id": "plain", "payload": {"v": 1.0, "t": "é x"}, "score": 0.1},
    {"id": B64(b"\x00\xff\n"), "key": B64(b"k\xfe"), "kind": B64(b"\x80"), "payload": B64(b"\xff\x00")},
    {"id": B64(b'{"$base64":"AAAA"}'), "key": "k k", "payload": B64(b'{"a": 1}')},
    {"id": "spaces", "payload": B64(b'""'), "score": -1e300},
    {"id": "empty", "payload": "", "run_at": "2035-03-09T07:05:00.000001Z"},
    {"id": "a\u202eb\u0000\u2028", "payload": "text \u0000"},
    {"id": "options", "payload": 7, "priority": -2147483648, "timeout": "1500001us", "expires": "2999-01-01T00:00:00.5Z",
     "windows": [{"start": "05:00", "end": "24:00", "days": ["mon", "sun"], "tz": "Europe/Moscow"}], "weight": 0.0001,
     "partition": B64(b"\xc3"), "critical": True, "lock": "it's"},
    {"id": "options2", "critical": False, "partition": ""},
    {"id": "many", "payload": 1, "score": 3}, {"id": "many", "payload": 2, "score": 1}, {"id": "many", "payload": B64(b"\xff"), "score": 2},
]


# Not at U+2028.
lines_of = lambda text: text.removesuffix("\n").split("\n")


class Jobs(Project):
    def setUp(self):
        super().setUp()
        self.config()
        self.make_store()

    def ids(self, *arguments):
        return [job["id"] for job in self.json("jobs", "orders", *arguments)]

    def push_some(self):
        for job_id, at in [("c", "1000"), ("a", "+2h"), ("b", "+1h"), ("d", "2000")]:
            self.push(job_id, None, "--at", at)


class Lists(Jobs):
    def test_they_are_sorted(self):
        self.push_some()
        self.assertEqual(self.ids(), ["c", "d", "b", "a"])
        self.assertEqual(self.ids("--desc"), ["a", "b", "d", "c"])
        self.assertEqual(self.ids("--sort", "id"), ["a", "b", "c", "d"])
        self.assertEqual(self.ids("--sort", "run_at", "--desc", "--limit", "2"), ["a", "b"])
        self.assertEqual(self.ids("--sort", "retry_count"), ["c", "d", "b", "a"])
        self.assertEqual(self.ids("--since", "-1h"), ["b", "a"])
        self.assertEqual(self.ids("--since", "1500", "--until", "+90m"), ["d", "b"])
        self.assertIn("run_at", self.ordo("jobs", "orders", "--sort", "size", code=2).stderr)

    def pages(self, *arguments):
        found, more = [], []
        while True:
            page = self.ordo(*arguments, "--json", "--limit", "2", *more)
            found.append([job["id"] for job in json.loads(page.stdout)])
            told = re.search(r"there are more: .*--after (\S+)", page.stderr)
            if not told:
                return found
            more = ["--after", told[1]]

    def test_a_list_that_is_cut_goes_on(self):
        self.push_some()
        self.push("e", None, "--at", "3000")
        self.assertEqual(self.pages("jobs", "orders"), [["c", "d"], ["e", "b"], ["a"]])
        self.assertEqual(self.pages("jobs", "orders", "--sort", "id", "--desc"), [["e", "d"], ["c", "b"], ["a"]])
        self.assertIn("cursor", self.ordo("jobs", "orders", "--after", "nonsense", code=1).stderr)

    def test_the_dead_are_sorted_and_paged(self):
        self.config("max_retries = 0", more="[queue.dying]\nshards = 1\nmax_retries = 0\ncommand = ['python3', '-B', 'worker.py']\n")
        self.answer("return {'ok': False, 'error': request['jobs'][0]['id']}")
        for job_id in ["b", "a", "c", "b"]:
            self.push(job_id, queue="dying")
            self.drain()
        self.assertEqual(self.pages("dead", "dying"), [["b", "a"], ["c"]])
        self.assertEqual(self.pages("dead", "dying", "--sort", "run_at", "--desc"), [["b", "c"], ["a"]])
        self.assertEqual(self.pages("dead", "dying", "--sort", "id"), [["a", "b"], ["c"]])
        self.assertEqual(self.pages("jobs", "dying", "--state", "dead", "--sort", "id"), [["a", "b"], ["c"]])
        self.assertEqual([job["id"] for job in self.json("jobs", "dying", "--state", "dead", "--error", "b")], ["b"])


class Exports(Jobs):
    def test_what_is_exported_and_pushed_again_is_the_same(self):
        self.config("lock = 'id'")
        self.push_lines(HOSTILE)
        exported = self.ordo("jobs", "orders", "export").stdout
        self.assertEqual(len(lines_of(exported)), len(HOSTILE))
        shown = self.json("jobs", "orders")
        self.ordo("remove", "orders", "--with-jobs")
        self.assertEqual(self.ordo("push", "orders", "--ndjson", "-", stdin=exported.encode()).stdout, f"pushed {len(HOSTILE)}\n")
        self.assertEqual(self.ordo("jobs", "orders", "export").stdout, exported)
        self.assertEqual(self.json("jobs", "orders"), shown)
        by_id = {json.dumps(job["id"]): job for job in map(json.loads, lines_of(exported))}
        for job in HOSTILE[:8]:
            for key, value in job.items():
                self.assertEqual(by_id[json.dumps(job["id"])][key], value, job)
        many = [(line["payload"], line["score"]) for line in map(json.loads, lines_of(exported)) if line["id"] == "many"]
        self.assertEqual(many, [(2, 1), (B64(b"\xff"), 2), (1, 3)])

    def test_the_dead_come_back_as_they_were(self):
        self.config("max_retries = 0\nlock = 'id'")
        self.answer("return {'ok': False, 'error': 'no'}")
        dead = [{name: value for name, value in job.items() if name not in ("run_at", "windows", "partition", "lock", "expires")} for job in HOSTILE]
        self.push_lines([{**job, "kind": "orders"} for job in dead])
        self.drain()
        self.assertEqual(self.stats()["dead"], len(HOSTILE))
        exported = self.ordo("dead", "orders", "export").stdout
        self.ordo("remove", "orders", "--with-jobs")
        self.ordo("push", "orders", "--ndjson", "-", stdin=exported.encode())
        self.drain()
        again = self.ordo("dead", "orders", "export").stdout
        self.assertEqual(sorted(lines_of(again)), sorted(lines_of(exported)))

    def test_an_export_is_filtered(self):
        self.push_some()
        lines = self.ordo("jobs", "orders", "export", "--state", "scheduled", "--until", "+90m").stdout.splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], ["b"])
        self.assertIn("ordo dead orders export", self.ordo("jobs", "orders", "export", "--state", "dead", code=2).stderr)


class Times(Jobs):
    def run_at(self, job):
        return [row["run_at"] for row in self.json("jobs", "orders", "--id", job)]

    def test_a_waiting_job_is_given_another_time(self):
        self.push("1", 1, "--at", "2030-01-01T00:00:00Z")
        self.push("1", 1, "--at", "2029-01-01T00:00:00Z")
        self.assertEqual(self.run_at("1"), ["2030-01-01T00:00:00Z"], "the first push says when")
        self.push("1", 1, "--at", "2031-01-01T00:00:00Z", "--replace-time")
        self.assertEqual(self.run_at("1"), ["2031-01-01T00:00:00Z"])
        self.push_lines([{"id": "1", "payload": 1, "run_at": "2028-01-01T00:00:00Z", "replace_time": True}])
        self.assertEqual(self.run_at("1"), ["2028-01-01T00:00:00Z"])
        told = self.ordo("job", "orders", "1", "reschedule", "--at", "2032-01-01T00:00:00Z")
        self.assertEqual(told.stdout, "requested: '1' moves to 2032-01-01 00:00 (2032-01-01T00:00:00+00:00); stored, and carried out when a node runs\n")
        self.assertEqual(self.run_at("1"), ["2032-01-01T00:00:00Z"])
        self.start()
        self.until("a node has it", lambda: any(node["shards"] for node in self.json("nodes")))
        self.assertEqual(self.run_at("1"), ["2032-01-01T00:00:00Z"])
        self.assertEqual(self.json("job", "orders", "1", "reschedule", "--at", "2020-01-01T00:00:00Z", "--json"), {"requested": 1})
        self.until("it has run", lambda: self.stats()["processed"] == 1)

    def test_an_expiry_that_counts_from_the_start_moves_with_it_and_another_refuses(self):
        self.push("moves", 1, "--at", "2030-01-01T00:00:00Z", "--expires", "+1h")
        self.push_lines([{"id": "line", "payload": 1, "run_at": "2030-01-01T00:00:00Z", "expires": "+1h"}])
        for job in ("moves", "line"):
            self.assertEqual([row["expires"] for row in self.json("job", "orders", job)], ["2030-01-01T01:00:00Z"])
            self.ordo("job", "orders", job, "reschedule", "--at", "2032-01-01T00:00:00Z")
            self.assertEqual([row["expires"] for row in self.json("job", "orders", job)], ["2032-01-01T01:00:00Z"])
        exported = self.ordo("jobs", "orders", "export").stdout
        self.assertEqual([json.loads(line)["expires"] for line in exported.splitlines()], ["+1h", "+1h"])
        self.push("stays", 1, "--at", "2030-01-01T00:00:00Z", "--expires", "2031-01-01T00:00:00Z")
        refused = self.ordo("job", "orders", "stays", "reschedule", "--at", "2031-01-01T00:00:00Z", code=1).stderr
        self.assertIn("expires at 2031-01-01T00:00:00Z, before it may start", refused)
        self.assertEqual(self.run_at("stays"), ["2030-01-01T00:00:00Z"])

    def test_a_time_that_is_missing_or_for_something_else_is_refused(self):
        self.push("1")
        self.assertIn("Give --at TIME", self.ordo("job", "orders", "1", "reschedule", code=2).stderr)
        self.assertIn("--at is for reschedule", self.ordo("job", "orders", "1", "cancel", "--at", "+1h", code=2).stderr)
        self.assertIn("no job '2'", self.ordo("job", "orders", "2", "reschedule", "--at", "+1h", code=1).stderr)
        for at in ("+106751991d", "nonsense", ""):
            self.ordo("job", "orders", "1", "reschedule", "--at", at, code=2)


class ManyAtOnce(Jobs):
    def test_scheduled_ones_run_now(self):
        self.push_some()
        told = self.ordo("jobs", "orders", "run-now", "--state", "scheduled", code=2).stderr
        self.assertIn("2 jobs fit, and nothing was done", told)
        self.assertIn("ordo jobs orders run-now --state scheduled --yes", told)
        self.assertEqual(self.json("jobs", "orders", "run-now", "--state", "scheduled", "--count"), {"jobs": 2})
        done = self.ordo("jobs", "orders", "run-now", "--state", "scheduled", "--until", "+90m", "--yes")
        self.assertEqual(done.stdout, "requested: run-now of 1 job\n")
        self.drain()
        self.assertEqual([run[0] for run in self.runs()].count("b"), 1)
        self.assertEqual(self.ids(), ["a"])

    def test_retrying_ones_are_cancelled(self):
        self.answer("return {'ok': False, 'error': 'no ' + request['jobs'][0]['id']}")
        self.push("1")
        self.push("2")
        node = self.start()
        self.until("both have failed", lambda: self.stats()["retrying"] == 2)
        node.terminate()
        self.end_of(node)
        self.assertEqual(self.ids("--error", "no 1"), ["1"])
        self.assertEqual(self.ids("--retry-count", "0", "--sort", "id"), ["1", "2"])
        self.assertEqual(self.ids("--retry-count", "1"), [])
        done = self.json("jobs", "orders", "cancel", "--state", "retrying", "--error", "no 1", "--yes")
        self.assertEqual(done, {"requested": 1})
        self.assertEqual(self.ids(), ["2"])

    def test_what_is_not_clear_is_refused(self):
        self.push_some()
        for arguments in [["cancel"], ["cancel", "--state", "running"], ["run-now", "--state", "dead"], ["remove"],
                          # what looks as if it chose, and chooses nothing
                          ["cancel", "--state", "queued", "--limit", "1", "--yes"], ["export", "--limit", "1"],
                          ["cancel", "--state", "queued", "--id", "", "--yes"], ["cancel", "--state", "queued", "--key", "", "--yes"],
                          ["cancel", "--state", "queued", "--until", "", "--yes"], ["--count"], ["list", "--yes"],
                          ["cancel", "--state", "queued", "--key=", "--yes"]]:
            self.ordo("jobs", "orders", *arguments, code=2)
        self.assertEqual(self.ordo("jobs", "orders", "cancel", "--state", "due", "--kind", "none").stdout, "requested: cancel of 0 jobs\n")
        self.assertEqual(len(self.ids()), 4)

    def test_a_running_job_is_left_alone(self):
        self.answer("while not pathlib.Path('open').exists():\n    time.sleep(0.02)\nreturn {'ok': True}")
        self.push("1", 1)
        node = self.start()
        self.until("it runs", lambda: self.stats()["running"] == 1)
        self.push("1", 2)
        self.push("2", 2, "--at", "+1h")
        self.until("it is known to run", lambda: [job["state"] for job in self.json("job", "orders", "1")] == ["running", "queued"])
        self.assertEqual(self.json("jobs", "orders", "cancel", "--state", "queued", "--yes"), {"requested": 2})
        self.write("open", "")
        self.until("all is done", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        node.terminate()
        self.end_of(node)
        self.assertEqual([run[0] for run in self.runs()], ["1"])


class Stats(Jobs):
    def test_queues_are_chosen_by_name_or_its_beginning(self):
        self.config(more="[queue.mail-in]\n[queue.mail-out]\n[queue.other]\n")
        self.push("1", queue="mail-in")
        self.push("2", queue="other")
        stats = self.json("stats", "mail-*", "orders")
        self.assertEqual(list(stats["by_queue"]), ["orders", "mail-in", "mail-out"])
        self.assertEqual(stats["total"]["length"], 1)
        self.assertNotIn("other", self.ordo("stats", "mail-*").stdout)
        self.assertIn("did you mean 'other'", self.ordo("stats", "othr", code=1).stderr)
        self.ordo("stats", "x*", code=1)

    def test_shards_have_their_owner_and_lag(self):
        self.config("shards = 2", more="[queue.mail]\nshards = 1\ncommand = ['python3', '-B', 'worker.py']\n")
        self.push("1", None, "--at", "1000", queue="mail")
        shards = self.json("stats", "--shards", "mail")
        self.assertEqual([(shard["queue"], shard["shard"], shard["owner"], shard["due"]) for shard in shards], [("mail", 0, None, 1)])
        self.assertGreater(shards[0]["lag"], 1e9)
        self.assertRegex(self.ordo("stats", "--shards").stdout, r"(?m)^mail +0 +1 +1 +0 +0 +\d+\.\ds  none$")
        node = self.start()
        node_id = self.until("the node has them", lambda: {shard["owner"] for shard in self.json("stats", "--shards", "mail")} - {None})
        self.assertEqual(node_id, {self.json("nodes")[0]["id"]})
        node.terminate()
        self.end_of(node)

    def test_what_is_paused_already_is_told(self):
        told = [self.ordo(verb, "orders").stdout for verb in ["resume", "pause", "pause", "resume", "resume"]]
        self.assertEqual(told, ["orders was not paused\n", "requested: orders takes no new job until it is resumed\n",
                                "orders was paused already\n", "requested: orders takes jobs\n", "orders was not paused\n"])


if __name__ == "__main__":
    unittest.main()
