"""Debian's Sidekiq 6.4.1 itself: it runs what Ordo pushes, and pushes the same bytes."""
import collections
import json
import pathlib
import random
import re
import signal
import subprocess
import unittest

from project import PATIENCE_S, Project, server_of

SCRIPT = pathlib.Path(__file__).with_name("sidekiq.rb")


def without_chance(text):
    """A job without what differs each time."""
    text = re.sub(r'"jid":"[0-9a-f]{24}"', '"jid":"J"', text)
    return re.sub(r'"(created|enqueued)_at":\d{10}\.\d+', r'"\1_at":T', text)


class Ruby(Project):
    store = "sqlite:"

    def setUp(self):
        super().setUp()
        self.redis = server_of("redis:")
        self.redis.empty()

    def ruby_environment(self, **more):
        return {**self.environment(), "SOCKET": str(self.redis.path), "LANG": "C.UTF-8", **more}

    def push_by_ruby(self, *asked):
        subprocess.run(["ruby", SCRIPT], input="\n".join(map(json.dumps, asked)), text=True, check=True, timeout=PATIENCE_S,
                       env=self.ruby_environment(PUSH="1"))

    def start_sidekiq(self, *arguments):
        with open(self.folder / "sidekiq.log", "ab") as log:
            process = subprocess.Popen(["sidekiq", "-r", SCRIPT, *arguments], cwd=self.folder, stdout=log, stderr=log,
                                       env=self.ruby_environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        return process

    def sink(self, *arguments, stdin=b""):
        return self.ordo("push-sidekiq", *arguments, "--url", self.redis.direct, stdin=stdin).stdout

    def ran(self):
        return [json.loads(text) for text in self.redis.ask("LRANGE", "ran", 0, -1)]

    def test_it_runs_what_ordo_pushes(self):
        lines = [{"class": "Note", "args": [i, {"a": ["ü", None, 1.5]}], "jid": f"{i:024x}"} for i in range(100)]
        self.sink("--ndjson", "-", stdin="\n".join(map(json.dumps, lines)).encode())
        self.sink("Note", '["later"]', "--at", "+1s", "--jid", "f" * 24)
        self.start_sidekiq("-c", "3")
        self.until("all have run", lambda: len(self.ran()) == 101)
        self.assertEqual(sorted(self.ran()), sorted([[f"{i:024x}", [i, {"a": ["ü", None, 1.5]}]] for i in range(100)] +
                                                    [["f" * 24, ["later"]]]))

    def test_the_bytes_are_those_of_its_client(self):
        args = [1, -2.5, "ü/\\\"\n\u2028", None, True, {"b": [], "a": {}}]
        self.push_by_ruby({"call": "perform_async", "args": args}, {"call": "perform_in", "in": 3600, "args": args},
                          {"call": "perform_async", "args": args, "set": {"queue": "slow"}})
        theirs = self.everything()
        self.redis.empty()
        text = json.dumps(args, ensure_ascii=False)
        self.sink("Note", text)
        self.sink("Note", text, "--at", "+1h")
        self.sink("Note", text, "--queue", "slow")
        self.assertEqual(self.everything(), theirs)
        self.redis.empty()
        self.push_by_ruby({"call": "perform_bulk", "args": [[1], [2]]})
        theirs = self.everything()
        self.redis.empty()
        self.sink("--ndjson", "-", stdin=b'{"class":"Note","args":[1]}\n{"class":"Note","args":[2]}\n')
        self.assertEqual(self.everything(), theirs)

    def everything(self):
        ask = self.redis.ask
        lists = {key: [without_chance(text) for text in ask("LRANGE", key, 0, -1)] for key in sorted(ask("KEYS", "queue:*"))}
        return lists, sorted(ask("SMEMBERS", "queues")), [without_chance(text) for text in ask("ZRANGE", "schedule", 0, -1)]

    # Ordo beside it.

    def configure(self, source="", node="", queue=""):
        self.config(queue="shards = 2\n" + queue, node=node, more=f"""
[source.rails]
type = "sidekiq"
url = "{self.redis.direct}"
queues = ["default", "slow"]
queue = "orders"
{source}
""")

    @staticmethod
    def random_jobs(count, seed):
        """Of ten, one fails, once: and stays among the dead, or not."""
        chance = random.Random(seed)
        values = [1, -7, 2**53 + 1, 1.5, 1e-7, "", "ü/", "a" * 300, None, True, [], {}, {"a": [1, {"b": None}]}]
        jobs = []
        for number in range(count):
            args = [number, *chance.sample(values, chance.randrange(4))]
            options = {"queue": "slow"} if chance.random() < 0.3 else {}
            if chance.random() < 0.1:
                args[1:1] = ["fail"]
                options |= chance.choice([{"retry": 0}, {"retry": 0, "dead": False}, {"retry": False}])
            jobs.append({"call": chance.choice(["perform_async", "perform_in"]), "in": chance.choice([0.1, 0.5]), "args": args, "set": options})
        return jobs

    def left_behind(self):
        """Keys and what they hold, without the names of processes, days and times."""
        left = {}
        for key in self.redis.ask("KEYS", "*"):
            name = re.sub(r"\d{4}-\d\d-\d\d$", "DAY", re.sub(r"^.+:\d+:[0-9a-f]{12}", "PROCESS", key))
            if key == "dead":
                left[name] = sorted(json.dumps([job[field] for field in ("class", "queue", "args", "retry", "retry_count", "error_message")])
                                    for job in self.dead_there())
            elif key.startswith("stat:"):
                left[name] = self.redis.ask("GET", key)
            elif key == "queues":
                left[name] = sorted(self.redis.ask("SMEMBERS", key))
            elif key != "ran" and not key.startswith("ordo:") and name != "PROCESS":  # whose hash Sidekiq leaves for a minute
                left[name] = self.redis.ask("TYPE", key)
        return left

    def test_a_thousand_random_jobs_run_and_leave_the_same_as_by_sidekiq(self):
        jobs = self.random_jobs(1000, 7)
        failing = sum(job["args"][1:2] == ["fail"] for job in jobs)
        self.assertGreater(failing, 50)
        self.push_by_ruby(*jobs)
        sidekiq = self.start_sidekiq("-c", "3", "-q", "default", "-q", "slow")
        self.until("Sidekiq has run all", lambda: len(self.ran()) == 1000 - failing and not self.redis.ask("EXISTS", "schedule"))
        sidekiq.terminate()
        sidekiq.wait()
        theirs = collections.Counter(json.dumps(args) for _, args in self.ran())
        left = self.left_behind()
        self.assertEqual((left["stat:processed"], left["stat:failed"]), ("1000", str(failing)))
        self.redis.empty()
        self.push_by_ruby(*jobs)
        self.configure("heartbeat = true\nstats = true\nmirror_dead = true")
        self.answer("""return {"ok": request["jobs"][0]["payloads"][0]["args"][1:2] != ["fail"], "error": "boom"}""")
        self.start()
        self.until_stats(processed=1000 - failing, failed=failing, length=0, running=0)
        payloads = [payload for _, payloads, _ in self.runs() for payload in payloads]
        self.assertEqual(len({payload["jid"] for payload in payloads}), 1000)
        self.assertEqual(collections.Counter(json.dumps(payload["args"]) for payload in payloads if payload["args"][1:2] != ["fail"]), theirs)
        self.until("its dead are shown", lambda: len(self.dead_there()) == self.stats()["dead"])
        self.nodes[-1].terminate()
        self.assertEqual(self.end_of(self.nodes[-1]), 0)
        self.assertEqual(self.left_behind(), left)

    def test_sidekiq_web_shows_the_node_and_its_runs(self):
        self.configure("heartbeat = true\nstats = true")
        self.answer("""
while not os.path.exists("go"):
    time.sleep(0.05)
return {"ok": request["jobs"][0]["payloads"][0]["args"][0] == 1, "error": "boom"}""".strip())
        self.push_by_ruby({"call": "perform_async", "args": [1, "shown"]}, {"call": "perform_async", "args": [2, "shown"]})
        self.start()
        self.until("both are shown", lambda: self.web("/busy").count("shown") >= 2)
        busy = self.web("/busy")
        self.assertIn("ordo:rails", busy)
        self.assertIn("Note", busy)
        self.web("/")
        self.web("/queues")
        self.write("go", "")
        self.until("they are counted", lambda: self.redis.ask("GET", "stat:processed") == "2" and
                   self.redis.ask("GET", "stat:failed") == "1")
        [process] = self.redis.ask("SMEMBERS", "processes")
        self.redis.ask("LPUSH", f"{process}-signals", "TSTP")
        self.until("the node is quiet", lambda: self.json("nodes")[0]["quiet"])
        self.until("nobody takes", lambda: not self.redis.ask("EXISTS", "ordo:taker:rails"))
        self.nodes[-1].terminate()
        self.assertEqual(self.end_of(self.nodes[-1]), 0)
        self.assertEqual(self.redis.ask("SMEMBERS", "processes"), [])

    def dead_there(self):
        return [json.loads(text) for text in self.redis.ask("ZRANGE", "dead", 0, -1)]

    def test_sidekiq_web_shows_the_dead_and_brings_them_back(self):
        self.configure("mirror_dead = true")
        self.answer("""return {"ok": os.path.exists("go"), "error": "boom <b>" + str(request["jobs"][0]["payloads"][0]["args"][0])}""")
        self.push_by_ruby(*({"call": "perform_async", "args": [number, "ü"], "set": {"retry": 0}} for number in range(3)))
        self.start()
        self.until("all are shown", lambda: len(self.dead_there()) == 3)
        page = self.web("/morgue")
        for number in range(3):
            self.assertIn(f"boom &lt;b&gt;{number}", page)
        job = self.dead_there()[0]
        details = self.web("/morgue/" + re.search(rf"morgue/([\d.]+-{job['jid']})", page)[1])
        for text in ("Note", job["jid"], "handler", "boom &lt;b&gt;"):
            self.assertIn(text, details)
        # Brought back here, deleted here, brought back there.
        self.write("go", "")
        self.ordo("dead", "orders", "retry", job["jid"])
        self.until("it is shown no more", lambda: len(self.dead_there()) == 2)
        other, last = self.dead_there()
        self.ordo("dead", "orders", "delete", other["jid"])
        self.until("neither is the other", lambda: self.dead_there() == [last])
        self.until_stats(processed=1)
        self.push_by_ruby({"call": "retry_all_dead"})
        self.until_stats(processed=2, length=0)
        self.assertEqual(self.dead_there(), [])

    def test_a_job_that_is_not_to_be_kept_leaves_nothing(self):
        self.configure("mirror_dead = true")
        self.answer("""return {"ok": False, "error": "boom"}""")
        self.push_by_ruby({"call": "perform_async", "args": [1], "set": {"retry": 0, "dead": False}},
                          {"call": "perform_async", "args": [2], "set": {"retry": False}},
                          {"call": "perform_async", "args": [3], "set": {"retry": 0}})
        self.start()
        self.until_stats(failed=3, dead=1, length=0, running=0)
        self.assertEqual([job["payloads"][0]["args"] for job in self.json("dead", "orders", "list")], [[3]])
        self.until("it is shown", lambda: [job["args"] for job in self.dead_there()] == [[3]])

    # Sidekiq's own set of retries.

    BY_COUNT = """
payload = request["jobs"][0]["payloads"][0]
failures = payload["retry_count"] + 1 if "retry_count" in payload else 0
ok = "retry_count" in payload if payload["args"][1] == "once" else failures >= payload["args"][1]
return {"ok": ok, "error": "boom <b>\\n a.py:1\\n b.py:2"}""".strip()

    def configure_retries(self, node=""):
        self.configure('retries = "sidekiq"\nmirror_dead = true', node=node, queue="key_order = 'exclusive'\nmax_crashes = 1000")

    def retries(self):
        return [json.loads(text) for text in self.redis.ask("ZRANGE", "retry", 0, -1)]

    def test_sidekiq_web_shows_the_retries_and_runs_deletes_and_kills_them(self):
        self.configure_retries()
        self.answer(self.BY_COUNT)
        self.push_by_ruby(*({"call": "perform_async", "args": [number, failures, 1.5, "ü"], "set": {"retry": 3, "tags": ["t"], "backtrace": True}}
                            for number, failures in enumerate(["once", 9, 9, 9])))
        self.start()
        self.until("all wait there", lambda: len(self.retries()) == 4)
        self.until_stats(length=0, running=0, failed=4, processed=0)
        page = self.web("/retries")
        for number in range(4):
            self.assertIn(f"{number}, ", page)
        self.assertIn("boom &lt;b&gt;", page)
        job = next(job for job in self.retries() if job["args"][0] == 1)
        details = self.web("/retries/" + re.search(rf"retries/([\d.]+-{job['jid']})", page)[1])
        for text in ("Note", job["jid"], "handler", "boom &lt;b&gt;", " a.py:1"):
            self.assertIn(text, details)
        self.assertEqual((job["retry_count"], job["tags"], job["args"]), (0, ["t"], [1, 9, 1.5, "ü"]))
        self.assertNotIn("retried_at", job)
        # Run, run in vain, deleted, killed: by the buttons' own calls.
        jids = {job["args"][0]: job["jid"] for job in self.retries()}
        self.push_by_ruby(*({"call": "of_retries", "jid": jids[number], "do": what}
                            for number, what in enumerate(["retry", "retry", "delete", "kill"])))
        self.until("one ends well, one fails again", lambda: [job["args"][0] for job in self.retries()] == [1] and self.stats()["processed"] == 1)
        self.assertEqual(self.retries()[0]["retry_count"], 0)  # `Retry now` counts back
        self.assertEqual([job["args"][0] for job in self.dead_there()], [3])
        self.until_stats(length=0, running=0, dead=0, failed=5, processed=1)
        self.assertEqual(self.web("/retries").count("boom &lt;b&gt;"), 1)

    def bring_back(self, *jobs):
        """As any Sidekiq process that finds them due; those that are there still."""
        for text in self.redis.ask("ZRANGE", "retry", 0, -1):
            if (not jobs or json.loads(text)["args"][0] in jobs) and self.redis.ask("ZREM", "retry", text) == 1:
                self.redis.ask("LPUSH", "queue:" + json.loads(text)["queue"], text)

    def test_a_job_is_retried_as_often_as_by_sidekiq_and_then_dead(self):
        self.configure_retries()
        self.answer(self.BY_COUNT)
        self.push_by_ruby({"call": "perform_async", "args": [1, 9], "set": {"retry": 2}})
        self.start()
        for count in range(2):
            self.until("it waits", lambda count=count: [job["retry_count"] for job in self.retries()] == [count])
            self.bring_back()
        self.until_stats(dead=1, failed=3, length=0)
        self.until("it is shown", lambda: [job["retry_count"] for job in self.dead_there()] == [2])
        self.assertEqual(self.retries(), [])

    def test_it_comes_again_when_it_is_due_with_or_without_sidekiq(self):
        self.configure_retries()
        self.answer(self.BY_COUNT)
        self.push_by_ruby({"call": "perform_async", "args": [1, 1]})
        self.start()
        self.until("it waits", lambda: self.retries())
        [score] = self.redis.ask("ZRANGE", "retry", 0, -1, "WITHSCORES")[1:]
        self.assertTrue(14 < float(score) - self.retries()[0]["failed_at"] < 26, score)  # 0^4 + 15 + rand(10)
        [text] = self.redis.ask("ZRANGE", "retry", 0, -1)
        self.redis.ask("ZADD", "retry", 1, text)
        self.until_stats(processed=1, failed=1, length=0)
        self.assertEqual(self.retries(), [])

    def test_killed_nodes_and_servers_lose_and_double_no_retry(self):
        self.configure_retries('lease = "1s"')
        self.answer(self.BY_COUNT)
        self.addCleanup(lambda: self.redis.process is None and self.redis.start())
        chance, pushed = random.Random(12), 0
        for round_ in range(40):
            self.start()
            lines = [json.dumps({"class": "Note", "args": [pushed + i, i % 3], "retry": 5}) for i in range(chance.randrange(1, 60))]
            self.sink("--ndjson", "-", "--queue", chance.choice(["default", "slow"]), stdin="\n".join(lines).encode())
            pushed += len(lines)
            self.until("it works", lambda: chance.random() < 0.1 or self.bring_back() or self.nodes[-1].poll() is not None)
            if round_ % 4 == 3:
                self.redis.kill()
                self.redis.start()
            self.nodes[-1].kill()
            self.nodes[-1].wait()
        self.start()
        self.until("all have ended well", lambda: self.bring_back() or self.stats()["processed"] >= pushed)
        self.until_stats(processed=pushed, length=0, running=0, dead=0)
        self.assertEqual(self.retries(), [])
        ended = collections.Counter(payload["args"][0] for _, payloads, _ in self.runs() for payload in payloads
                                    if payload.get("retry_count", -1) + 1 >= payload["args"][1])
        self.assertEqual(set(ended), set(range(pushed)))

    def web(self, path):
        """A page of Sidekiq Web."""
        script = SCRIPT.with_name("sidekiq_web.rb")
        done = subprocess.run(["ruby", script, path], capture_output=True, text=True, timeout=PATIENCE_S, env=self.ruby_environment(),
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        return done.stdout

    def test_nodes_that_are_killed_lose_and_double_nothing(self):
        self.configure("mirror_dead = true", node='lease = "1s"', queue="max_crashes = 1000")  # it is our fault
        self.answer("""return {"ok": request["jobs"][0]["payloads"][0]["args"][0] % 20 != 0, "error": "boom"}""")
        chance, pushed = random.Random(11), 0
        for _ in range(100):
            self.start()
            for _ in range(2):
                count = chance.randrange(1, 100)
                lines = [json.dumps({"class": "Note", "args": [pushed + i], "retry": 0}) for i in range(count)]
                self.sink("--ndjson", "-", "--queue", chance.choice(["default", "slow"]), stdin="\n".join(lines).encode())
                pushed += count
            # At any moment of its work: it takes, or waits until it may.
            self.until("it lives", lambda: chance.random() < 0.2 or self.nodes[-1].poll() is not None)
            self.nodes[-1].kill()
            self.nodes[-1].wait()
        self.start()
        dead = len(range(0, pushed, 20))
        self.until_stats(processed=pushed - dead, length=0, running=0, dead=dead)
        ran = {payload["args"][0] for _, payloads, _ in self.runs() for payload in payloads}
        self.assertEqual(ran, set(range(pushed)))
        self.assertEqual(self.redis.ask("LLEN", "queue:default") + self.redis.ask("LLEN", "queue:slow"), 0)
        self.until("the dead are shown", lambda: sorted(job["args"][0] for job in self.dead_there()) == list(range(0, pushed, 20)))

    def test_ordo_beside_a_sidekiq_on_one_redis(self):
        self.configure()
        self.redis.ask("ZADD", "schedule", 1, json.dumps({"class": "Note", "args": ["theirs"], "queue": "mail", "jid": "a" * 24, "retry": True}))
        self.start_sidekiq("-c", "1", "-q", "mail")
        self.start()
        self.push_by_ruby({"call": "perform_async", "args": ["ours"]}, {"call": "perform_async", "args": ["mail"], "set": {"queue": "mail"}})
        self.until_stats(processed=1)
        self.until("Sidekiq has run its own", lambda: len(self.ran()) == 2)
        self.assertEqual(sorted(args for _, args in self.ran()), [["mail"], ["theirs"]])


if __name__ == "__main__":
    unittest.main()
