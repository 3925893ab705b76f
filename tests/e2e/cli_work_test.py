"""`ordo work` with a worker in Python: what is delivered, merged, retried and killed (rules 1 to 3 and 6)."""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from project import ORDO, Project

NOW = 'retry = { strategy = "fixed", delay = "0s" }\n'
FAIL = "return {'ok': False, 'error': 'no'}"


class Delivery(Project):
    def test_a_request_has_its_shape(self):
        self.config()
        self.push("42", {"v": 1}, "--score", "1")
        self.drain()
        request = self.requests()[0]
        self.assertEqual(list(request), ["queue", "kind", "jobs"])
        self.assertEqual((request["queue"], request["kind"]), ("orders", "orders"))
        self.assertEqual(list(request["jobs"][0]), ["id", "key", "payloads", "scores", "retry_count", "fence"])
        fence = request["jobs"][0].pop("fence")
        self.assertGreater(fence, 0)
        self.assertEqual(request["jobs"][0], {"id": "42", "key": "42", "payloads": [{"v": 1}], "scores": [1],
                                              "retry_count": -1})

    def test_payloads_merge_before_the_first_run(self):
        self.config()
        self.push("a", {"v": 1}, "--score", "3")
        self.push("a", {"v": 2}, "--score", "2")
        self.push("a", {"v": 1}, "--score", "1")
        self.drain()
        request = self.requests()[0]["jobs"][0]
        self.assertEqual((request["payloads"], request["scores"]), ([{"v": 1}, {"v": 2}], [1, 2]))
        self.assertEqual(len(self.runs()), 1)

    def test_a_push_merges_into_a_job_in_back_off(self):
        self.config(queue='retry = { strategy = "fixed", delay = "1h" }\n')
        self.answer(FAIL)
        for payload, score in (("v1", "1"), ("v2", "2")):
            self.push("a", payload, "--score", score)
        node = self.start()
        failed = self.until("the job failed", lambda: [job for job in self.json("jobs", "orders")
                                                       if job["retry_count"] == 0 and job["state"] == "queued"])[0]
        self.assertEqual(failed["error"], "no")
        for payload, score in (("v2", "3"), ("v3", "4")):
            self.push("a", payload, "--score", score)
        merged = self.json("jobs", "orders")
        self.assertEqual(len(merged), 1)
        self.assertEqual((merged[0]["payloads"], merged[0]["scores"]), (["v1", "v2", "v3"], [1, 2, 4]))
        self.assertEqual((merged[0]["retry_count"], merged[0]["run_at"]), (0, failed["run_at"]))
        self.assertEqual([job["id"] for job in self.json("jobs", "orders", "--state", "retrying")], ["a"])
        node.terminate()
        self.assertEqual(self.end_of(node), 0)

    def test_merged_payloads_that_fit_into_no_request_run_one_part_after_the_other(self):
        self.config("shards = 1\nthreads = 1\nmax_retries = 0\nmax_payload = 8388608")
        payloads = [letter * 7_000_000 for letter in "abcde"]
        for payload in payloads:
            self.push_lines([{"id": "1", "key": "k", "payload": payload}])
        self.push_lines([{"id": "2", "key": "k", "payload": "last"}])
        self.drain()
        self.assertEqual([(job_id, [payload[0] for payload in received], count) for job_id, received, count in self.runs()],
                         [("1", ["a", "b"], -1), ("1", ["c", "d"], -1), ("1", ["e"], -1), ("2", ["l"], -1)])
        stats = self.stats()
        self.assertEqual((stats["processed"], stats["failed"], stats["dead"], stats["length"]), (2, 0, 0, 0))

    def test_choice_of_payloads(self):
        for choice, expected in (("last", ["v2"]), ("first", ["v1"])):
            with self.subTest(choice):
                self.config(queue=f'payloads = "{choice}"\n')
                self.push(choice, "v2", "--score", "2")
                self.push(choice, "v1", "--score", "1")
                self.drain()
                self.assertEqual(self.runs()[-1], (choice, expected, -1))
                self.assertEqual(self.stats()["length"], 0)

    def test_jobs_of_a_key_run_in_order(self):
        self.config(node="threads = 4")
        self.push_lines([{"id": f"{key}{n}", "key": key} for n in range(20) for key in "abcd"])
        self.drain()
        ids = [run[0] for run in self.runs()]
        for key in "abcd":
            self.assertEqual([i for i in ids if i.startswith(key)], [f"{key}{n}" for n in range(20)])

    def test_due_jobs_start_by_time_then_priority(self):
        self.config(queue="shards = 1\n", node="threads = 1")
        self.push_lines([{"id": "c", "run_at": 700}, {"id": "b", "run_at": 600, "priority": 200},
                         {"id": "a", "run_at": 620, "priority": 7}, {"id": "d"}])
        self.drain()
        self.assertEqual([run[0] for run in self.runs()], ["a", "b", "c", "d"])

    def test_a_batch_has_many_jobs_and_a_result_for_each(self):
        self.config(queue="shards = 1\nbatch_size = 10\nmax_retries = 0\n", node="threads = 1")
        self.push_lines([{"id": i} for i in ("good", "bad", "snoozed", "discarded", "forgotten")])
        self.answer("""return {"results": {"good": {"ok": True}, "bad": {"error": "no"}, "snoozed": {"snooze": 3600},
                        "discarded": {"discard": "old"}}}""")
        log = self.drain()
        # A lease that lapses on a busy machine lets the whole run be repeated, and parts no batch.
        self.assertEqual([job["id"] for job in self.requests()[0]["jobs"]],
                         ["good", "bad", "snoozed", "discarded", "forgotten"], (self.requests(), log))
        self.assertEqual([job["id"] for job in self.json("dead", "orders", "list")], ["bad", "forgotten"])
        left = self.json("jobs", "orders")
        self.assertEqual([(job["id"], job["retry_count"]) for job in left], [("snoozed", -1)])
        self.assertEqual(self.stats()["processed"], 2)

    def test_kinds_have_workers_of_their_own(self):
        self.config(more='[queue.orders.kind.charge]\ncommand = ["python3", "-B", "worker.py"]\nmax_retries = 0\n')
        self.push("1")
        self.push("1", None, "--kind", "charge")
        self.drain()
        self.assertEqual(sorted(request["kind"] for request in self.requests()), ["charge", "orders"])


class Failure(Project):
    def counts_of_runs(self, max_retries, payloads):
        """retry_count of each run until the job is dead, and the dead payloads in order."""
        self.config(queue=NOW + f"max_retries = {max_retries}\n")
        self.answer(FAIL)
        for score, payload in enumerate(payloads):
            self.push("a", payload, "--score", str(score))
        told = self.drain().stderr
        self.assertRegex(told, r"info    node \w+ serves orders\n")
        self.assertEqual(told.count("error   job 'a' of queue 'orders' has died: "), len(payloads), told)
        dead = [json.loads(line)["payload"] for line in self.ordo("dead", "orders", "export").stdout.splitlines()]
        return [(run[1], run[2]) for run in self.runs()], dead

    def test_two_retries_and_two_payloads(self):
        runs, dead = self.counts_of_runs(2, ["v1", "v2"])
        both, second = ["v1", "v2"], ["v2"]
        self.assertEqual(runs, [(both, -1), (both, 0), (both, 1), (second, -1), (second, 0), (second, 1)])
        self.assertEqual(dead, ["v1", "v2"])
        jobs = self.json("dead", "orders", "list")
        self.assertEqual([(job["id"], job["payloads"], job["scores"], job["state"], job["error"]) for job in jobs],
                         [("a", ["v1", "v2"], [0, 1], "dead", "no")])
        self.assertEqual(self.stats()["failed"], 6)

    def test_one_retry(self):
        self.assertEqual(self.counts_of_runs(1, ["v1"]), ([(["v1"], -1), (["v1"], 0)], ["v1"]))

    def test_no_retry(self):
        self.assertEqual(self.counts_of_runs(0, ["v1"]), ([(["v1"], -1)], ["v1"]))

    def test_default_delays(self):
        self.config()
        self.answer(FAIL)
        self.push("a")
        self.start()
        job = self.until("the job failed", lambda: [job for job in self.json("jobs", "orders") if job["retry_count"] == 0])[0]
        self.assertEqual((job["crashes"], job["error"]), (0, "no"))
        self.until_stats(retrying=1, length=1, due=0, scheduled=0, failed=1)

    def test_the_dead_come_back(self):
        self.counts_of_runs(0, ["v1", "v2"])
        self.assertEqual(self.json("dead", "orders", "retry", "a"), {"retried": 2})
        self.answer("return {'ok': True}")
        self.drain()
        self.assertEqual(self.runs()[-1], ("a", ["v1", "v2"], -1))
        self.assertEqual(self.json("dead", "orders", "list"), [])
        self.assertEqual(self.json("dead", "orders", "retry", "--all"), {"retried": 0})

    def test_the_dead_are_exported_as_push_reads_them(self):
        self.counts_of_runs(0, ["v1", {"v": 2}])
        exported = self.ordo("dead", "orders", "export").stdout
        self.assertEqual(self.json("dead", "orders", "delete", "--all"), {"deleted": 2})
        self.answer("return {'ok': True}")
        self.ordo("push", "orders", "--ndjson", "-", stdin=exported.encode())
        self.drain()
        self.assertEqual(self.runs()[-1], ("a", ["v1", {"v": 2}], -1))

    def test_a_timeout_kills_the_process(self):
        self.config(queue='max_retries = 0\ntimeout = "300ms"\n')
        self.answer("time.sleep(600)")
        self.push("a")
        self.drain()
        self.assertEqual(self.json("dead", "orders", "list")[0]["error_kind"], "timeout")

    def test_a_crash_counts(self):
        self.config(queue=NOW + "max_retries = 0\n")
        self.answer("os.kill(os.getpid(), signal.SIGSEGV)")
        self.push("a")
        self.drain()
        dead = self.json("dead", "orders", "list")[0]
        self.assertEqual((dead["error_kind"], dead["crashes"]), ("crash", 1))
        self.assertIn("SEGV", dead["error"])


class Drain(Project):
    def test_counts_what_is_left(self):
        self.config(queue="max_retries = 0\n", more='[queue.later]\ncommand = ["python3", "-B", "worker.py"]\n')
        self.answer(FAIL)
        self.push("dies")
        self.push("scheduled", None, "--at", "+1h")
        self.push("paused", queue="later")
        self.ordo("pause", "later")
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 1 scheduled, 0 retrying, 0 awaiting, 1 paused, 0 unserved, 1 dead")

    def test_waits_for_retries(self):
        self.config(queue='retry = { strategy = "fixed", delay = "500ms" }\n')
        self.answer("""seen = pathlib.Path("seen")
if seen.exists(): return {"ok": True}
seen.touch()
return {"ok": False, "error": "first"}""")
        self.push("a")
        self.drain()
        self.assertEqual([run[2] for run in self.runs()], [-1, 0])

    def test_serves_only_the_queues_it_was_told(self):
        self.config(more='[queue.mail]\ncommand = ["python3", "-B", "worker.py"]\n')
        self.push("1")
        self.push("2", queue="mail")
        self.drain("--queue", "mail")
        self.assertEqual([run[0] for run in self.runs()], ["2"])

    def test_without_any_worker(self):
        self.write("ordo.toml", "[queue.orders]\n")
        self.assertIn("worker", self.ordo("work", "--drain", code=2).stderr)
        self.ordo("work", "-r", "./no.so", code=2)


class Signals(Project):
    def begin(self, job, node="", **config):
        """A node that is in the middle of the run of job "a"."""
        self.config(node=node, **config)
        self.answer("pathlib.Path('started').touch()\n" + job)
        self.push("a")
        process = self.start()
        self.until("the run has started", (self.folder / "started").exists)
        return process

    def test_term_lets_the_run_end(self):
        node = self.begin("time.sleep(1)\nreturn {'ok': True}")
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual((self.stats()["processed"], self.stats()["length"]), (1, 0))

    def test_term_puts_back_what_does_not_end(self):
        node = self.begin("time.sleep(600)", node='shutdown_timeout = "500ms"')
        node.send_signal(signal.SIGINT)
        self.assertEqual(self.end_of(node), 0)
        job = self.json("jobs", "orders")[0]
        self.assertEqual((job["id"], job["state"], job["retry_count"], job["crashes"]), ("a", "queued", -1, 0))

    def test_a_second_int_leaves_at_once(self):
        node = self.begin("time.sleep(600)", node='shutdown_timeout = "10m"')
        node.send_signal(signal.SIGINT)
        self.until("it stops", lambda: "stopping: no more jobs are taken" in self.log())
        self.assertIsNone(node.poll())
        node.send_signal(signal.SIGINT)
        self.assertEqual(self.end_of(node), 1)
        self.assertEqual([job["retry_count"] for job in self.json("jobs", "orders")], [-1])

    def test_a_killed_node_leaves_its_run_to_the_next(self):
        node = self.begin("time.sleep(600)", node='lease = "5s"')
        node.kill()
        self.end_of(node)
        self.answer("return {'ok': True}")
        self.drain("-o", "node.lease=60s")
        self.assertEqual(self.runs(), [("a", [""], -1)] * 2)
        self.assertEqual((self.stats()["processed"], self.stats()["length"]), (1, 0))

    def begin_group(self, job):
        """As begin(), with the node as leader of a process group of its own, and the processes below it."""
        self.config()
        self.answer("pathlib.Path('pid').write_text(str(os.getpid()))\npathlib.Path('started').touch()\n" + job)
        self.push("a")
        node = self.start(within=["setsid"])
        self.until("the run has started", (self.folder / "started").exists)
        return node, int((self.folder / "pid").read_text())

    def test_a_signal_to_the_group_lets_the_run_end(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.write("started", "")
                (self.folder / "started").unlink()
                node, _ = self.begin_group("""while not os.path.exists('go'):
    time.sleep(0.02)
return {'ok': True}""")
                processed = self.stats()["processed"]
                stops = self.log().count("stopping: no more jobs are taken")
                os.killpg(node.pid, number)
                if number == signal.SIGHUP:
                    self.until("it has read its config", lambda: "the config was read again" in self.log())
                    node.terminate()
                self.until("it stops", lambda: self.log().count("stopping: no more jobs are taken") > stops)
                self.write("go", "")
                self.assertEqual(self.end_of(node), 0)
                self.assertEqual(self.stats()["processed"], processed + 1)
                self.assertEqual(self.json("jobs", "orders"), [])
                (self.folder / "go").unlink()

    def test_a_signal_to_all_processes_is_no_crash(self):
        """As systemd stops a service: each process of it is told, those of the workers too."""
        node, worker = self.begin_group("time.sleep(600)")
        self.freeze(node)  # so that it learns of both at once, however long we take
        os.kill(worker, signal.SIGTERM)
        node.terminate()
        node.send_signal(signal.SIGCONT)
        self.assertEqual(self.end_of(node), 0)
        [job] = self.json("jobs", "orders")
        self.assertEqual((job["id"], job["retry_count"], job["crashes"]), ("a", -1, 0), self.log())
        self.assertEqual(self.stats()["failed"], 0)
        self.assertIn("killed by signal TERM as the node stops; its jobs are put back", self.log())

    def test_a_worker_that_is_killed_alone_has_crashed(self):
        node, worker = self.begin_group("time.sleep(600)")
        os.kill(worker, signal.SIGTERM)
        self.until("it is told", lambda: "the worker process was killed by signal TERM" in self.log())
        counts = lambda: [(job["retry_count"], job["crashes"]) for job in self.json("jobs", "orders")]
        self.until("it is stored", lambda: counts() == [(0, 1)])
        node.terminate()
        self.assertEqual(self.end_of(node), 0)

    def test_tstp_takes_no_more(self):
        node = self.begin("return {'ok': True}")
        node.send_signal(signal.SIGTSTP)
        self.until("it is quiet", lambda: [node["quiet"] for node in self.json("nodes")] == [True])
        self.assertRegex(self.ordo("nodes").stdout, r"(?m) quiet$")
        self.push_lines([{"id": f"b{n}"} for n in range(20)])
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual([run[0] for run in self.runs()], ["a"])

    def test_ttin_writes_stacks_and_goes_on(self):
        node = self.begin("return {'ok': True}")
        node.send_signal(signal.SIGTTIN)
        file = self.until("the stacks are written", lambda: list(self.folder.glob("ordo-*-traces.txt")))[0]
        self.until("the log names them", lambda: file.name in self.log())
        text = file.read_text()
        self.assertGreater(text.count("thread "), 3)
        self.assertNotIn("does not answer", text)
        self.assertIn("#0", text)
        self.push("b")
        self.until("it works on", lambda: [run[0] for run in self.runs()] == ["a", "b"])
        node.terminate()
        self.assertEqual(self.end_of(node), 0)

    def test_doctor_names_kinds_without_code(self):
        node = self.begin("return {'ok': True}")
        self.until("it has ended", lambda: self.stats()["processed"] == 1)
        self.ordo("push", "orders", "--kind", "ghost")
        self.ordo("push", "orders", "--kind", "later", "--at", "+1h")
        found = [finding["what"] for finding in self.json("doctor") if "living node" in finding["what"]]
        self.assertEqual(found, ["1 job of kind 'ghost' in queue 'orders' waits: no living node has the code for it"])
        node.terminate()
        self.end_of(node)

    def warnings(self):
        return "\n".join(finding["what"] for finding in self.json("doctor") if finding["level"] == "warning")

    def test_doctor_looks_at_the_work(self):
        self.config(queue='retry = { strategy = "list", delays = ["0s", "0s", "0s", "0s", "1h"] }',
                    more='[queue.mail]\ncommand = ["python3", "-B", "worker.py"]\nmax_retries = 0\n')
        self.answer("return {'ok': False, 'error': 'no route\\nto host'}")
        self.push("often")
        self.push_lines([{"id": str(i)} for i in range(3)], queue="mail")
        self.start()
        self.until("all have failed", lambda: self.stats()["failed"] == 5 and self.stats("mail")["dead"] == 3)
        self.until("the counts are written", lambda: self.stats()["retrying"] == 1)
        told = self.warnings()
        self.assertIn("3 payloads of queue 'mail' died within the last hour, 0 in the hour before; last: no route", told)
        self.assertIn("1 job of queue 'orders' waits for a retry, 1 of them has failed 5 times or more; most often: no route", told)
        self.assertNotIn("quiet", told)
        self.ordo("nodes", "quiet", self.json("nodes")[0]["id"])
        self.until("it is quiet", lambda: "asked to take no more jobs" in self.log())
        self.push("waits")
        self.assertIn("1 due job of queue 'orders' waits: every node that serves it is quiet", self.warnings())
        self.ordo("pause", "mail")
        self.push("old", None, "--at", str(int(time.time()) - 7300), queue="mail")
        self.assertRegex(self.warnings(), "queue 'mail' is paused, and 1 job waits in it; the first one has been due for 2h")

    def test_doctor_names_a_node_that_does_not_answer(self):
        self.config(node='lease = "1h"')  # it lives as long as it stands still
        self.make_store()
        node = self.start()
        def told():  # its first row is written before it has compared its clock with the store's
            rows = self.json("nodes")
            return rows if rows and rows[0]["clock"] is not None and rows[0]["shards"] == 5 else None
        found = self.until("it owns its shards and has told of itself", told)[0]
        self.assertEqual(found["version"], self.ordo("--version").stdout.split()[1])
        self.assertLess(abs(found["clock"]), 60)
        self.freeze(node)
        self.push("1")
        self.assertIn(f"node {found['id']} has not answered for 2 s, while jobs of its queues wait: 'orders' (1 due)", self.warnings())

    def test_doctor_names_queues_that_no_node_serves(self):
        self.config()
        self.push("a")
        self.ordo("push", "orders", "--kind", "ghost")
        found = [finding["what"] for finding in self.json("doctor") if "living node" in finding["what"]]
        self.assertEqual(found, ["2 jobs in queue 'orders' wait: no living node serves it"])

    @unittest.skipUnless(Project.store == "sqlite:", "it makes a file refuse")
    def test_a_node_that_cannot_write_says_why(self):
        node = self.begin("while not pathlib.Path('open').exists():\n    time.sleep(0.02)\nreturn {'ok': True}")

        def bad():
            doctor = subprocess.run([ORDO, "doctor", "--json"], cwd=self.folder, capture_output=True, check=False,
                                    env=self.environment())
            found = [finding["what"] for finding in json.loads(doctor.stdout) if finding["level"] == "bad"]
            self.assertEqual(doctor.returncode, 1 if found else 0)
            return found
        with contextlib.closing(sqlite3.connect(self.folder / "ordo.db", timeout=60)) as file:
            file.execute("CREATE TRIGGER full BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'no room'); END")
            self.write("open", "")
            self.assertRegex(self.until("doctor says so", bad)[0], r"^node \w+ cannot write what has ended since \S+Z: .*cannot write")
            failing = self.json("stats")["failing_nodes"]
            self.assertEqual([node["cannot_start"] for node in failing], [[]])
            self.assertIn("cannot write", failing[0]["commit_error"])
            self.assertIn(f"node {failing[0]['id']} cannot write what has ended since", self.ordo("stats").stdout)
            self.assertEqual(self.stats()["processed"], 0)
            file.execute("DROP TRIGGER full")
        self.until("it is over", lambda: self.stats()["processed"] == 1)
        self.until("doctor says so", lambda: not bad())
        self.assertNotIn("failing_nodes", self.json("stats"))
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual(len(self.runs()), 1)

    def test_watch_ends_with_int(self):
        self.config()
        self.make_store()
        watch = subprocess.Popen([ORDO, "stats", "--watch"], cwd=self.folder, stdout=subprocess.PIPE,
                                 env=self.environment())
        self.nodes.append(watch)
        lines = [watch.stdout.readline(), watch.stdout.readline()]
        self.assertTrue(all(line.startswith(b"length 0 ") for line in lines), lines)
        watch.send_signal(signal.SIGINT)
        self.assertEqual(self.end_of(watch), 0)

    def test_a_log_in_json(self):
        node = self.begin("print('hel\\\"lo', flush=True)\nreturn {'ok': True}", node='log = "json"')
        self.until("it has ended", lambda: self.stats()["processed"] == 1)
        node.terminate()
        self.end_of(node)
        lines = [json.loads(line) for line in self.log().splitlines()]
        self.assertTrue(all(list(line)[:3] == ["time", "level", "message"] for line in lines))
        said = [line for line in lines if 'hel"lo' in line["message"]]
        self.assertEqual([(line["queue"], line["kind"]) for line in said], [("orders", "orders")])
        self.assertEqual(len({line["node"] for line in lines if "node" in line}), 1)

    def test_a_failure_is_told_with_its_fields(self):
        self.config(node='log = "json"', queue='retry = { strategy = "fixed", delay = "1h" }\n')
        self.answer("return {'ok': False, 'error': 'no room\\nfor it'}")
        node = self.start()
        self.push_lines([{"id": "42", "key": "k"}])

        def told():
            lines = [json.loads(line) for line in self.log().splitlines()]
            return [line for line in lines if line.get("id") == "42"]
        [line] = self.until("it is told", told)
        self.assertEqual({key: line[key] for key in ("level", "queue", "kind", "key", "attempt", "error")},
                         {"level": "warning", "queue": "orders", "kind": "orders", "key": "k", "attempt": 1, "error": "no room"})
        self.until("it is stored", lambda: self.json("jobs", "orders")[0]["run_at"] == line["retry_at"])
        self.assertIn("job '42' of queue 'orders' (key 'k') has failed at attempt 1, runs again at ", line["message"])
        self.assertIn(line["shard"], range(5))
        self.assertEqual([line["node"]], [node["id"] for node in self.json("nodes")])
        node.terminate()
        self.end_of(node)

    def test_starts_and_ends_are_told_if_wanted(self):
        self.config(node='start_job = "info"\ndone_job = "info"')
        self.push("a")
        told = self.drain().stderr
        self.assertRegex(told, r"info    job 'a' of queue 'orders' has started, attempt 1\n")
        self.assertRegex(told, r"info    job 'a' of queue 'orders' is done, after \d+\.\d+ s\n")
        self.push("b")
        self.assertIn("debug   job 'b' of queue 'orders' is done", self.drain("-o", "node.log_level=debug", "-o", "node.done_job=debug").stderr)
        self.ordo("work", "-o", "node.done_job=loud", code=2)

    def test_repeats_of_an_error_are_one_line(self):
        self.config(queue="max_retries = 0\nbatch_size = 100\nshards = 1\n")
        self.answer(FAIL)
        self.push_lines([{"id": str(n)} for n in range(100)])
        told = [line for line in self.drain().stderr.splitlines() if " has died: no" in line]
        self.assertLess(len(told), 20, told)
        counts = [int(line.rsplit("(and ", 1)[1].split()[0]) for line in told if "(and " in line]
        self.assertEqual(len(told) + sum(counts), 100, told)

    def test_the_start_tells_what_cannot_run(self):
        self.config(more='[queue.orders.kind.heir]\n[queue.bare.kind.charge]\ncommand = ["python3", "-B", "worker.py"]\n'
                    '[queue.bare.kind.ghost]\n[queue.mail]\ncommand = ["no-such-program"]\n')
        told = self.drain().stderr
        self.assertIn("warning queue 'bare' has no code here for jobs of kind 'ghost', 'bare'\n", told)
        self.assertNotIn("heir", told)
        self.assertRegex(told, "error   jobs of kind 'mail' of queue 'mail' will not run on this node: .*no-such-program")

    def test_kinds_inherit_the_code_of_their_queue(self):
        own = """import json, sys
for line in sys.stdin:
    open("own.ndjson", "a").write(line)
    print(json.dumps({"ok": True}), flush=True)
"""
        self.write("own.py", own)
        self.config(more='[queue.orders.kind.heir]\ntimeout = "1h"\n[queue.orders.kind.own]\ncommand = ["python3", "-B", "own.py"]\n')
        for kind in ("heir", "own", "stranger"):
            self.push(kind, None, "--kind", kind)
        done = self.drain()
        self.assertIn("1 unserved", done.stdout)
        self.assertEqual([(request["kind"], request["jobs"][0]["id"]) for request in self.requests()], [("heir", "heir")])
        self.assertEqual([json.loads(line)["kind"] for line in (self.folder / "own.ndjson").read_text().splitlines()], ["own"])
        self.assertEqual([job["id"] for job in self.json("jobs", "orders")], ["stranger"])

    def test_a_program_that_is_missing_never_looks_ready(self):
        self.config(more='[queue.mail]\ncommand = ["./no-such-program"]\nmax_retries = 0\n')
        self.push("1", queue="mail")
        self.start()
        self.until("its job waits for code", lambda: self.stats("mail")["without_code"] == 1)
        ready = set()
        told = lambda: [line for line in self.log().splitlines() if "put back" in line or "will not run" in line]
        for _ in range(40):  # over the first pauses, in which it is tried again
            ready.add(self.stats("mail")["ready"])
        self.assertEqual(ready, {0})
        self.until("its job says so", lambda: [reason["what"] for reason in self.json("job", "mail", "1")[0]["waits_for"]] == ["code"])
        self.assertEqual(len(told()), 1, "one line of the log tells it")
        self.write("no-such-program", "#!/bin/sh\nexec python3 -B worker.py\n")
        (self.folder / "no-such-program").chmod(0o755)
        self.until("it runs", lambda: self.stats("mail")["processed"] == 1)
        self.until("nothing is wrong any more", lambda: "failing_nodes" not in self.json("stats"))

    def test_a_cancelled_run_is_no_failure(self):
        node = self.begin("pathlib.Path('runs').touch()\ntime.sleep(600)")
        self.until("it runs", (self.folder / "runs").exists)
        self.ordo("job", "orders", "a", "cancel")
        self.until("it is gone", lambda: self.stats()["running"] + self.stats()["length"] == 0)
        self.assertEqual((self.stats()["failed"], self.stats()["processed"], self.stats()["dead"]), (0, 0, 0))
        node.terminate()
        self.end_of(node)

    def test_a_drain_counts_what_it_does_not_serve(self):
        self.config(more='[queue.mail]\ncommand = ["python3", "-B", "worker.py"]\n')
        self.push_lines([{"id": "1"}, {"id": "2"}])
        self.assertEqual(self.drain("--queue", "mail").stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 0 retrying, 0 awaiting, 0 paused, 2 unserved, 0 dead")

    def test_a_drain_ends_behind_a_job_that_is_not_served(self):
        retry = 'retry = { strategy = "fixed", delay = "1h" }\n'
        self.config(queue=retry, more="[queue.orders.kind.ship]\n")
        self.answer("return {'ok': request['kind'] != 'ship'}")
        self.push("first", None, "--kind", "ship", "--key", "k")
        node = self.start()
        self.until("it has failed, and keeps its key", lambda: self.stats()["retrying"] == 1)
        node.terminate()
        self.end_of(node)
        self.config(queue=retry)  # the kind has no code any more
        for i in range(3):
            self.push(f"behind{i}", None, "--key", "k")
        self.push("other")
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 1 retrying, 0 awaiting, 0 paused, 3 unserved, 0 dead")
        self.assertEqual(self.stats()["processed"], 1)

    def test_threads_are_those_that_take_jobs(self):
        self.config(queue="threads = 2", node="threads = 7")
        self.start()
        self.assertEqual(self.until("the node is there", lambda: self.json("nodes"))[0]["threads"], 2)

    def test_the_node_is_listed_while_it_lives(self):
        node = self.begin("return {'ok': True}")
        nodes = self.json("nodes")
        self.assertEqual([(n["pid"], n["queues"], n["threads"], n["alive"]) for n in nodes], [(node.pid, ["orders"], 5, True)])
        node.terminate()
        self.end_of(node)
        self.assertEqual(self.json("nodes"), [])

    def test_nodes_are_asked_to_take_no_more_and_to_stop(self):
        self.config()
        node = self.start()
        node_id = self.until("the node is there", lambda: self.json("nodes"))[0]["id"]
        self.assertIn("takes no more jobs", self.ordo("nodes", "quiet", node_id).stdout)
        self.assertEqual([node["quiet"] for node in self.json("nodes")], [True])
        self.until("it knows", lambda: "asked to take no more jobs" in self.log())
        self.push("1")
        self.assertIn("stops", self.ordo("nodes", "stop", node_id).stdout)
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual(self.runs(), [])
        self.assertEqual(self.json("nodes"), [])
        self.ordo("nodes", "stop", node_id, code=1)
        self.ordo("nodes", "stop", code=2)
        self.ordo("nodes", "kill", node_id, code=2)


if __name__ == "__main__":
    unittest.main()
