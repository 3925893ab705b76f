"""What is pushed, listed and managed, on whichever store (docs/cli.md)."""
import contextlib
import json
import signal
import subprocess
import time
import unittest

from project import ORDO, Project

JOB_KEYS = ["queue", "kind", "key", "id", "state", "payloads", "scores", "run_at", "starts_at", "waits_for", "retry_count", "crashes", "error"]
MORE_KEYS = ["error_kind", "priority", "timeout", "max_retries", "attempt"]
COUNTS = ["length", "due", "scheduled", "retrying", "running", "awaiting", "dead", "blocked_by_lock", "blocked_by_window", "blocked_by_key", "blocked_by_limit", "blocked_by_rate", "blocked_by_throttler", "blocked_by_suspect", "without_code", "ready", "oldest_due", "lag",
          "processed", "failed", "unreadable", "waits_for_newer", "kept", "kept_since", "kept_trimmed", "dead_trimmed",
          "dead_letters"]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z"


class Push(Project):
    def setUp(self):
        super().setUp()
        self.config()
        self.make_store()

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
                               "run_at": "2035-03-09T07:05:00.5Z", "starts_at": "2035-03-09T07:05:00.5Z",
                               "waits_for": [{"what": "code", "name": "charge", "held_by": [], "until": None},
                                             {"what": "time", "name": "", "held_by": [], "until": "2035-03-09T07:05:00.5Z"}],
                               "retry_count": -1, "crashes": 0, "error": None})
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
        self.ordo("push", "orders", "--id", "x" * 256, code=2)
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

    def test_an_interrupted_push_says_where_to_go_on(self):
        for pushed, number in [(2, signal.SIGINT), (4, signal.SIGTERM), (6, signal.SIGHUP)]:
            with self.subTest(signal=number), \
                    subprocess.Popen([ORDO, "push", "orders", "--ndjson", "-"], cwd=self.folder, env=self.environment(),
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)) as push:
                push.stdin.write(f'{{"id":"a{pushed}"}}\n{{"id":"b{pushed}"}}\n{{"id":"3"'.encode())
                push.stdin.flush()
                self.until("the first two are pushed", lambda: self.stats()["length"] == pushed)
                push.send_signal(number)
                self.assertEqual(self.end_of(push), 130)
                self.assertEqual(push.stdout.read(), b"")
                self.assertEqual(push.stderr.read(), b"ordo: push: interrupted; pushed 2, all that stands before line 3: go on with --from-line 3\n")
                self.assertEqual(self.stats()["length"], pushed)

    def test_a_time_in_milliseconds_is_refused_with_a_hint(self):
        self.assertIn("divide milliseconds by 1000", self.ordo("push", "orders", "--at", "1763900000000", code=2).stderr)

    def test_a_count_is_one_at_least(self):
        self.push_lines([{"id": "1"}])
        for arguments, option in [(["jobs", "orders"], "--limit"), (["dead", "orders", "list"], "--limit"),
                                  (["push", "orders", "--ndjson", "-"], "--from-line")]:
            for count in ("0", "-1"):
                self.assertIn(f"{option}: 1 at least", self.ordo(*arguments, f"{option}={count}", code=2).stderr)

    def test_reading_makes_no_store(self):
        self.config()
        if self.server:
            self.server.empty()
        else:
            (self.folder / "ordo.db").unlink()
        for command in [["stats"], ["jobs", "orders"], ["job", "orders", "1"], ["queues"], ["nodes"], ["doctor"],
                        ["dead", "orders", "list"], ["pause", "orders"]]:
            if self.store.startswith("redis"):
                continue  # an empty server is an empty store
            self.assertRegex(self.ordo(*command, code=2).stderr, "^ordo: no store at '.*': name another, or push a job or start a node, which makes it\n$")
        url = self.server.direct if self.server else "sqlite:ordo.db"
        refused = self.ordo("copy", url, "sqlite:copied.db", code=1 if self.store.startswith("redis") else 2).stderr
        self.assertRegex(refused, "FROM has no queues|no store at")
        self.assertFalse((self.folder / "copied.db").exists())
        self.push("1")
        self.assertEqual(self.stats()["length"], 1)

    def test_a_list_that_is_cut_says_so(self):
        self.push_lines([{"id": str(i)} for i in range(1001)])
        listed = self.ordo("jobs", "orders", "--json")
        self.assertEqual(len(json.loads(listed.stdout)), 1000)
        self.assertIn("1000 shown, and there are more", listed.stderr)
        self.assertIn("7 shown, and there are more", self.ordo("jobs", "orders", "--limit", "7").stderr)
        for all_of_them in (["--limit", "1001"], ["--id", "5"]):
            self.assertEqual(self.ordo("jobs", "orders", *all_of_them).stderr, "")

    def test_a_dead_job_keeps_what_it_was_pushed_with(self):
        self.config("max_retries = 0")
        self.answer("return {'ok': False, 'error': 'no luck'}")
        self.push("42", {"v": 1}, "--priority", "-3", "--timeout", "90s")
        job = self.json("job", "orders", "42")[0]
        self.assertEqual((list(job), job["priority"], job["timeout"]), ([*JOB_KEYS, *MORE_KEYS], -3, "90s"))
        self.drain()
        job = self.json("job", "orders", "42")[0]
        self.assertEqual((job["error_kind"], job["priority"], job["timeout"]), ("handler", -3, "90s"))
        self.assertIn("error kind   handler", self.ordo("job", "orders", "42").stdout)
        exported = self.ordo("dead", "orders", "export").stdout
        self.ordo("push", "orders", "--ndjson", "-", stdin=exported.encode())
        job = next(job for job in self.json("job", "orders", "42") if job["state"] == "queued")
        self.assertEqual((job["priority"], job["timeout"]), (-3, "90s"))


class Lists(Project):
    def setUp(self):
        super().setUp()
        self.config(more="[queue.mail]\n[queue.a]\n")

    @contextlib.contextmanager
    def running(self):
        node = self.start()
        yield node
        node.send_signal(signal.SIGTERM)
        self.assertEqual(self.end_of(node), 0)

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
        self.ordo("push", "mail", "--at", str(int(time.time()) - 3600))
        self.assertAlmostEqual(self.json("stats")["by_queue"]["mail"]["lag"], 3600, delta=500)
        self.assertRegex(self.ordo("stats").stdout, r"(?m)^mail .* (3[6-9]|40)\d\d\.\ds ")

    def test_pause_and_resume(self):
        self.push("1")
        self.ordo("pause", "orders")
        self.assertIs(self.stats()["paused"], True)
        self.assertEqual(self.json("queues")[0], {"name": "orders", "shards": 5, "state": "paused"})
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 0 retrying, 0 awaiting, 1 paused, 0 unserved, 0 dead")
        self.ordo("resume", "orders")
        self.drain()
        self.assertEqual(self.stats()["processed"], 1)
        self.ordo("pause", "nope", code=1)

    def test_a_queue_is_paused_once_its_nodes_obey(self):
        state = lambda: self.json("queues")[0]["state"]
        self.config(node='lease = "1h"', more="[queue.mail]\n[queue.a]\n")  # it lives as long as it stands still
        self.push("1")
        with self.running() as node:
            self.until("the node has the queue", lambda: self.stats()["processed"] == 1)
            self.freeze(node)
            self.ordo("pause", "orders")
            self.assertEqual(state(), "pausing")
            node.send_signal(signal.SIGCONT)
            self.until("it obeys", lambda: state() == "paused")
            self.push("2")
            self.ordo("resume", "orders")
            self.assertEqual(state(), "running")
            self.until("it goes on", lambda: self.stats()["processed"] == 2)
            self.answer("while not pathlib.Path('open').exists():\n    time.sleep(0.02)\nreturn {'ok': True}")
        with self.running():
            self.push("3")
            self.until("it runs", lambda: self.stats()["running"] == 1)
            self.ordo("pause", "orders")
            self.assertEqual(state(), "pausing")
            self.write("open", "")
            self.until("the run has ended", lambda: state() == "paused")
            self.until_stats(processed=3)

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
        self.assertIn("no job '43'", self.ordo("job", "orders", "43", "cancel", code=1).stderr)
        self.assertIn("no job '44'", self.ordo("job", "orders", "44", "run-now", code=1).stderr)

    def test_a_waiting_job_can_be_killed(self):
        self.push("43", {"v": 1}, "--at", "+1h")
        self.push("44", None, "--at", "+1h")
        self.ordo("job", "orders", "43", "kill")
        self.push("43", {"v": 2})
        self.drain()
        self.assertEqual(self.runs(), [("43", [{"v": 2}], -1)], "what came later is another job")
        [dead] = self.json("dead", "orders")
        self.assertEqual((dead["id"], dead["payloads"], dead["error_kind"]), ("43", [{"v": 1}], "cancelled"))
        self.assertIn("job '43' is dead", self.ordo("job", "orders", "43", "kill", code=1).stderr)
        done = self.ordo("jobs", "orders", "kill", "--state", "scheduled", "--yes")
        self.assertEqual(done.stdout, "requested: kill of 1 job\n")
        self.push("45", None, "--key", "44")  # a drain leaves wishes where nothing is due to the next node
        self.drain()
        self.assertEqual({job["id"] for job in self.json("dead", "orders")}, {"43", "44"})
        self.ordo("dead", "orders", "retry", "43")
        self.drain()
        self.assertEqual(self.runs()[-1], ("43", [{"v": 1}], -1))

    def test_a_wish_means_the_job_that_is_shown(self):
        for more in [["--kind", "ship"], ["--kind", "bill"], ["--kind", "bill", "--key", "k"]]:
            self.push("42", None, "--at", "+1h", *more)
        for verb in ["cancel", "run-now"]:
            error = self.ordo("job", "orders", "42", verb, code=1).stderr
            for name in ["3 jobs", "kind 'ship' key '42'", "kind 'bill' key '42'", "kind 'bill' key 'k'"]:
                self.assertIn(name, error)
            self.assertIn("2 jobs", self.ordo("job", "orders", "42", verb, "--kind", "bill", code=1).stderr)
            self.ordo("job", "orders", "42", verb, "--kind", "none", code=1)
        self.assertEqual(len(self.json("jobs", "orders", "--state", "scheduled")), 3)
        self.ordo("job", "orders", "42", "cancel", "--key", "k")
        self.ordo("job", "orders", "42", "run-now", "--kind", "ship")
        self.assertEqual([(job["kind"], job["key"]) for job in self.json("job", "orders", "42")],
                         [("ship", "42"), ("bill", "42")])
        self.assertEqual([job["kind"] for job in self.json("jobs", "orders", "--state", "due")], ["ship"])

    def test_job_says_all(self):
        self.config('timeout = "7m"\nmax_retries = 4\nretry = { strategy = "fixed", delay = "1h" }',
                    more="[queue.orders.kind.ship]\nmax_retries = 2\n")
        self.answer("""
job = request["jobs"][0]
if job["id"] == "fails":
    return {"ok": False, "error": "no"}
while not os.path.exists("go"):
    time.sleep(0.02)
return {"ok": True}""".strip())
        self.push("fails", None, "--kind", "ship")
        self.push("runs", None, "--priority", "3")
        whole = lambda job: self.json("job", "orders", job)[0]
        told = lambda job: {key: whole(job)[key] for key in MORE_KEYS}
        with self.running():
            self.until("both have started", lambda: {"running": 1, "retrying": 1}.items() <= self.stats().items())
            self.push("waits", None, "--at", "+1h")
            self.assertEqual(told("waits"), {"error_kind": None, "priority": 100, "timeout": "7m", "max_retries": 4, "attempt": 0})
            self.assertEqual(told("fails"), {"error_kind": "handler", "priority": 100, "timeout": "7m", "max_retries": 2, "attempt": 1})
            job = self.until("its owner tells of it", lambda: whole("runs")["node"] and whole("runs"))
            self.assertEqual(list(job), [key for key in JOB_KEYS if key != "starts_at"] + [*MORE_KEYS, "node", "started"])
            self.assertEqual({key: job[key] for key in MORE_KEYS},
                             {"error_kind": None, "priority": 3, "timeout": "7m", "max_retries": 4, "attempt": 1})
            self.assertEqual(job["node"], self.json("nodes")[0]["id"])
            self.assertRegex(job["started"], f"^{TIME}$")
            self.write("go", "")

    def test_a_wish_that_cannot_act_says_so(self):
        self.config("max_retries = 0\nthreads = 3")
        self.answer("""
job = request["jobs"][0]
if job["id"] == "dies":
    return {"ok": False, "error": "no"}
if job["id"] == "waits":
    return {"results": {"waits": {"wait": "kk", "timeout": 3600}}}
while not os.path.exists("go"):
    time.sleep(0.02)
return {"ok": True}""".strip())
        for job in ("runs", "waits", "dies"):
            self.push(job)
        with self.running():
            self.until("all have started", lambda: {"running": 1, "awaiting": 1, "dead": 1}.items() <= self.stats().items())
            wishes = {"run-now": ["run-now"], "reschedule": ["reschedule", "--at", "+1h"], "kill": ["kill"]}
            for verb, wish in wishes.items():
                says = lambda job: self.ordo("job", "orders", job, *wish, code=1).stderr
                self.assertEqual(says("runs"), f"ordo: {verb}: job 'runs' runs already; nothing was done\n")
                self.assertEqual(says("waits"), f"ordo: {verb}: job 'waits' waits for a response to 'kk'; nothing was done\n")
                self.assertEqual(says("dies"), f"ordo: {verb}: job 'dies' is dead: `ordo dead orders retry dies` brings it back\n")
                self.assertIn("it has ended or died, or was never pushed", says("nobody"))
            self.push("runs", 1)  # it waits beside the one that runs
            self.assertIn("'runs' runs already", self.ordo("job", "orders", "runs", "kill", code=1).stderr)
            self.ordo("job", "orders", "runs", "reschedule", "--at", "+1h")
            self.until("it is moved", lambda: self.stats()["scheduled"] == 1)
            self.write("go", "")

    def test_dead_jobs_of_one_id(self):
        self.config("max_retries = 0", more="[queue.orders.kind.ship]\n")
        self.answer("return {'ok': False, 'error': 'no'}")
        for more in [["--key", "k1"], ["--key", "k1"], ["--key", "k2"], ["--kind", "ship", "--key", "k2"]]:
            self.push("d", time.monotonic_ns(), *more)
            self.drain()
        self.push("other")
        self.drain()
        before = self.json("dead", "orders")
        self.assertEqual(len(before), 4)
        for verb in ("retry", "delete"):
            refused = self.ordo("dead", "orders", verb, "d", "--kind", "orders", "--yes", code=1)
            self.assertEqual(refused.stderr.splitlines(True)[-1], f"ordo: dead {verb}: 2 jobs of queue 'orders' have the id 'd': kind 'orders' key 'k1', "
                                             "kind 'orders' key 'k2'; nothing was done; name the kind and the key\n")
            self.assertEqual(refused.stdout, "")
            self.assertIn("3 jobs of queue", self.ordo("dead", "orders", verb, "other", "d", code=1).stderr)
        self.assertEqual(self.json("dead", "orders"), before)
        done = self.ordo("dead", "orders", "retry", "d", "--kind", "orders", "--key", "k1", "--yes")
        self.assertIn("2 payloads brought back\n", done.stdout)
        self.assertIn("'d'", self.ordo("dead", "orders", "delete", "d", "--key", "k3", "--yes", code=1).stderr)
        self.ordo("dead", "orders", "delete", "d", "--kind", "ship", "--yes")
        self.assertEqual(sorted((job["id"], job["kind"], job["key"]) for job in self.json("dead", "orders")),
                         [("d", "orders", "k2"), ("other", "orders", "other")])

    def test_jobs_stand_in_the_order_of_their_starts(self):
        for job_id, at, priority in [("late", "+3h", "1"), ("b", "1030", "200"), ("a", "1050", "5"), ("c", "1100", "1")]:
            self.push(job_id, None, "--at", at, "--priority", priority)
        ids = lambda *more: [job["id"] for job in self.json("jobs", "orders", *more)]
        self.assertEqual(ids(), ["a", "b", "c", "late"])  # a minute, then the priority
        self.assertEqual(ids("-o", "queue.orders.order=priority"), ["c", "a", "b", "late"])
        self.assertEqual(ids("-o", "queue.orders.granularity=1s"), ["b", "a", "c", "late"])
        self.assertEqual(ids("--limit", "2"), ["a", "b"])

    def test_a_running_job_and_the_one_queued_beside_it(self):
        self.answer("while not pathlib.Path('open').exists():\n    time.sleep(0.02)\nreturn {'ok': True}")
        self.push_lines([{"id": "1", "payload": i} for i in range(3)])
        with self.running():
            rows = lambda: [(job["state"], job["payloads"]) for job in self.json("job", "orders", "1")]
            self.until("it runs", lambda: rows() == [("running", [0, 1, 2])])
            self.until("its worker has it", self.runs)
            self.push("1", 3)
            self.push("1", 4)
            self.push("0", None, "--at", "1000")  # it would start before what runs
            self.assertEqual(rows(), [("running", [0, 1, 2]), ("queued", [3, 4])])
            self.until("the other one runs, too", lambda: self.stats()["running"] == 2)
            self.until("they stand first", lambda: [(job["id"], job["state"]) for job in self.json("jobs", "orders")] == [
                ("0", "running"), ("1", "running"), ("1", "queued")])
            self.ordo("job", "orders", "1", "cancel", code=1)  # which of the two?
            self.ordo("job", "orders", "1", "cancel", "--state", "running")
            self.until("the other one runs", lambda: rows() == [("running", [3, 4])])
            self.ordo("job", "orders", "1", "cancel")
            self.until("they are gone", lambda: [job["id"] for job in self.json("jobs", "orders")] == ["0"])
            self.write("open", "")
            self.until("all is done", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        self.assertEqual([run[0] for run in self.runs()][:2], ["1", "0"])

    def test_the_dead_stand_by_job(self):
        self.config("max_retries = 0\nshards = 1")
        self.answer("return {'ok': False, 'error': request['jobs'][0]['id']}")
        for i, job_id in enumerate(["1", "2", "1", "3", "2", "1"]):
            self.push(job_id, {"v": i})
            self.drain()
        want = [("1", [{"v": 0}, {"v": 2}, {"v": 5}]), ("2", [{"v": 1}, {"v": 4}]), ("3", [{"v": 3}])]
        for listing in [["dead", "orders"], ["jobs", "orders", "--state", "dead"]]:
            self.assertEqual([(job["id"], job["payloads"]) for job in self.json(*listing)], want)
        self.assertEqual([(job["id"], job["payloads"]) for job in self.json("job", "orders", "1")], want[:1])
        self.assertEqual(len(self.json("jobs", "orders", "--state", "dead", "--limit", "2")), 2)
        lines = [json.loads(line) for line in self.ordo("dead", "orders", "export").stdout.splitlines()]
        self.assertEqual([(line["id"], line["payload"]) for line in lines],
                         [(job_id, payload) for job_id, payloads in want for payload in payloads])
        done = self.ordo("dead", "orders", "retry", "1", "nope", code=1)
        self.assertEqual(done.stdout, "3 payloads brought back\n")
        self.assertIn("'nope'", done.stderr)
        self.ordo("dead", "orders", "delete", "nope", code=1)
        self.assertEqual([job["id"] for job in self.json("dead", "orders")], ["2", "3"])

    def test_times_that_are_too_long(self):
        self.push("ever", None, "--at", "+999999999999s")
        self.assertEqual(self.json("job", "orders", "ever")[0]["run_at"], "9999-12-31T23:59:59.999999Z")
        for at in ["+99999999999999999999s", "1e300", "-1e300", "inf", "99999999999999999999", "12026-01-01T00:00:00Z"]:
            self.ordo("push", "orders", "--at", at, code=2)
        self.push_lines([{"id": "lines", "run_at": "+200000000000s"}])
        self.push("timeout", None, "--timeout", "1000000h")
        self.config("timeout = '1000000h'\nretry = { strategy = 'fixed', delay = '1000000h' }", "poll_interval = '1000000h'")
        self.answer("return {'ok': False, 'error': 'no'}")
        self.push("retry")
        with self.running():
            self.until_stats(failed=2, retrying=2)


if __name__ == "__main__":
    unittest.main()
