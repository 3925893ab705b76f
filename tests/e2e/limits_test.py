"""Limits and locks as a user sees them (docs/limits.md, docs/locks.md)."""
import collections
import json
import unittest

from project import Project

# Notes what runs beside it, and waits until the test lets it go.
HELD = """
import fcntl, glob
job = request["jobs"][0]
mine = "running-" + request["queue"] + "-" + job["id"]
with open("door", "a") as door:
    fcntl.flock(door, fcntl.LOCK_EX)
    open(mine, "w").write(json.dumps(job["payloads"]))
    beside = [json.loads(open(name).read()) for name in sorted(glob.glob("running-*"))]
    open("beside", "a").write(json.dumps(beside) + "\\n")
while not os.path.exists("go"):
    time.sleep(0.02)
with open("door", "a") as door:
    fcntl.flock(door, fcntl.LOCK_EX)
    if os.path.exists(mine):
        os.remove(mine)
return {"ok": True}""".strip()


class Limits(Project):
    def setUp(self):
        super().setUp()
        self.answer(HELD)

    def let_go(self):
        self.write("go", "")

    def running(self):
        return sorted(path.name.removeprefix("running-") for path in self.folder.glob("running-*"))

    def beside(self):
        """The payloads of what ran at once, at each start."""
        return [[each[0] for each in line] for line in map(json.loads, (self.folder / "beside").read_text().splitlines())]

    def push_regions(self, **jobs):
        self.push_lines([{"id": f"{region}{i}", "payload": {"region": region}} for region, count in jobs.items() for i in range(count)])

    def until_limit(self, is_rate=False, **wanted):
        """What has a limit is told once a second; what waits for it is counted with each commit, and may be told before."""
        def told():
            return [limit for limit in self.json("limits") if limit["name"] == "orders" and not limit["partition"]
                    and ("rate" in limit) == is_rate and wanted.items() <= limit.items()]
        return self.until(f"the nodes tell {wanted} of the limit", told)[0]

    def test_a_limit_is_set_while_nodes_run(self):
        self.config(queue="limit = 2", node="threads = 6")
        self.push_lines([{"id": str(i), "payload": 1} for i in range(10)])
        self.start()
        self.until_stats(running=2, blocked_by_limit=8)
        self.assertIn("orders: set", self.ordo("limits", "set", "orders", "limit=4").stdout)
        self.until_stats(running=4, blocked_by_limit=6)
        self.until_limit(limit=4, set=True, used=4)
        self.assertIn("the configs count", self.ordo("limits", "unset", "orders").stdout)
        [limit] = [each for each in self.json("limits") if each["name"] == "orders"]
        self.assertFalse(limit["set"])
        self.assertIn("nothing was set", self.ordo("limits", "unset", "orders", code=1).stderr)
        self.assertIn("no config states that", self.ordo("limits", "set", "nobody", "limit=4", code=1).stderr)
        self.assertIn("no config states that", self.ordo("limits", "set", "orders", "rate=4/1s", code=1).stderr)
        self.assertIn("at least 1", self.ordo("limits", "set", "orders", "limit=0.5", code=1).stderr)
        self.assertIn("cannot be set", self.ordo("limits", "set", "orders", "weight=5", code=2).stderr)
        self.let_go()
        self.until_stats(processed=10)

    def test_no_more_run_than_the_limit_on_all_nodes_together(self):
        self.config(queue="limit = 3", node="threads = 4")
        self.push_lines([{"id": str(i), "payload": 1} for i in range(12)])
        self.start()
        self.start()
        self.until_stats(running=3, blocked_by_limit=9, due=9, length=9)
        self.until_limit(used=3, limit=3, waiting=9)
        self.assertIn("9 wait for a limit", self.ordo("stats").stdout)
        self.assertRegex(self.ordo("limits").stdout, r"orders +3 +3 +9")
        self.until("the workers have begun", lambda: len(self.running()) == 3)
        self.let_go()
        self.until_stats(processed=12)
        self.assertEqual(max(map(len, self.beside())), 3)

    def test_partitions_weights_and_critical_jobs(self):
        self.config(queue='shards = 1\nlimit = 10\npartition = "/region"\npartition_limit = 2', node="threads = 20")
        self.push_regions(east=30, north=1)
        self.push_lines([{"id": "heavy", "payload": {"region": "south"}, "weight": 1.5}, {"id": "heavy2", "payload": {"region": "south"}, "weight": "0.75"},
                         {"id": "urgent", "payload": {"region": "east"}, "critical": True}, {"id": "own", "payload": 1, "partition": "east"}])
        self.start()
        self.until_stats(running=5, blocked_by_limit=30)
        self.until("the workers have begun", lambda: len(self.running()) == 5)
        self.assertEqual(self.running(), ["orders-east0", "orders-east1", "orders-heavy", "orders-north0", "orders-urgent"])
        uses = lambda: {each["partition"]: each["used"] for each in self.json("limits") if each["partition"]}
        self.until("the nodes tell what is used", lambda: uses() == {"east": 2, "north": 1, "south": 1.5})
        [shown] = self.json("job", "orders", "heavy2")
        self.assertEqual(shown["weight"], 0.75)
        self.let_go()
        self.until_stats(processed=35)

    def test_a_named_limit_holds_queues_together(self):
        command = 'command = ["python3", "-B", "worker.py"]'
        self.config(queue='limits = ["crm"]', node="threads = 6", more=f'[queue.mails]\n{command}\nlimits = ["crm"]\n[queue.free]\n{command}\n[limit.crm]\nlimit = 2')
        for queue in ("orders", "mails", "free"):
            self.push_lines([{"id": str(i), "payload": queue} for i in range(4)], queue=queue)
        self.start()
        self.until("what may run does", lambda: len(self.running()) == 6)
        kinds = collections.Counter(name.split("-")[0] for name in self.running())
        self.assertEqual((kinds["free"], kinds["orders"] + kinds["mails"]), (4, 2))
        crm = lambda: [(each["used"], each["waiting"]) for each in self.json("limits") if each["name"] == "crm"]
        self.until("the nodes tell what is used", lambda: crm() == [(2, 6)])
        self.let_go()
        self.until("all ran", lambda: self.json("stats")["total"]["processed"] == 12)
        for beside in self.beside():
            self.assertLessEqual(sum(queue != "free" for queue in beside), 2)

    def test_a_rate_starts_no_more_than_its_burst_and_then_so_many(self):
        self.config(queue='rate = { limit = 2, per = "1h" }')
        self.let_go()
        self.push_lines([{"id": str(i)} for i in range(5)])
        self.start()
        self.until_stats(processed=2, blocked_by_rate=3)
        self.until("it is told when the next may start", lambda: self.until_limit(
            is_rate=True, rate={"limit": 2, "per": "1h", "burst": 2}, waiting=3)["next_free"])
        self.assertEqual(len(self.requests()), 2)

    def test_the_rate_of_each_value_is_set_and_a_limit_of_each_value_is_not(self):
        self.config(queue='partition = "/region"\npartition_limit = 2\nrate = { limit = 1, per = "1h", each = "partition" }')
        self.let_go()
        self.push_regions(east=3, north=1)
        self.start()
        self.until_stats(processed=2, blocked_by_rate=2)
        rate = lambda: [(each["rate"], each["set"]) for each in self.json("limits") if each["partition"] == "east" and "rate" in each]
        self.until("its rate is told", lambda: rate() == [({"limit": 1, "per": "1h", "burst": 1}, False)])
        self.assertIn("no config states that", self.ordo("limits", "set", "orders", "limit=4", code=1).stderr)
        self.assertIn("orders: set", self.ordo("limits", "set", "orders", "rate=3/1h").stdout)  # a shorter one is soon over, and then told no more
        self.until_stats(processed=4)
        self.until("the new rate is told", lambda: rate() == [({"limit": 3, "per": "1h", "burst": 3}, True)])

    def test_what_ran_on_a_node_that_is_killed_counts_no_more_and_a_rate_goes_on(self):
        self.config(queue='limit = 2\nshards = 1', node="threads = 3")
        self.push_lines([{"id": str(i), "payload": 1} for i in range(6)])
        first = self.start("-o", "node.lease=2s")
        self.until_stats(running=2, blocked_by_limit=4)
        self.until("the workers have begun", lambda: len(self.running()) == 2)
        first.kill()
        first.wait()
        for path in self.folder.glob("running-*"):
            path.unlink()
        self.start()
        self.until("two run again", lambda: len(self.running()) == 2)
        self.let_go()
        self.until_stats(processed=6)
        self.assertEqual(max(map(len, self.beside())), 2)

    def test_jobs_of_equal_lock_never_run_together_and_starve_nobody(self):
        command = 'command = ["python3", "-B", "worker.py"]'
        self.config(queue='lock = "/account"\nlock_name = "accounts"', node='scheduler = "strict"\nthreads = 4',
                    more=f'[queue.mails]\n{command}\nlock = "payload"\nlock_name = "accounts"\n[queue.low]\n{command}')
        self.push_lines([{"id": str(i), "payload": {"account": 7}} for i in range(3000)])
        self.push("0", 7, queue="mails")
        self.push("1", 8, queue="mails")
        self.push_lines([{"id": str(i), "payload": i} for i in range(2)], queue="low")
        self.start()
        self.until("others go on", lambda: {"low-0", "low-1", "mails-1"} <= set(self.running()))
        self.until("the blocked are counted", lambda: sum(queue["blocked_by_lock"] for queue in self.json("stats")["by_queue"].values()) == 3000)
        self.assertEqual(self.stats()["failed"], 0)
        held = lambda: {each["key"]: each for each in self.json("locks") if each["holders"]}
        self.until("the nodes tell who holds them, and who waits",
                   lambda: held().keys() == {"7", "8"} and held()["7"]["waiting"] == 3000)
        locks = held()
        self.assertEqual((locks["7"]["name"], len(locks["7"]["holders"])), ("accounts", 1))
        self.assertEqual(locks["8"]["holders"], [{"queue": "mails", "id": "1"}])
        self.assertEqual([each["key"] for each in self.json("locks", "mails") if each["holders"]][-1], "8")
        self.assertRegex(self.ordo("locks").stdout, r"accounts +7 +\S+/\d+ +3000")
        self.ordo("remove", "orders", "--with-jobs")
        self.let_go()

    def test_a_run_that_was_told_to_wait_closes_its_partition_for_all(self):
        self.answer("""
if request["jobs"][0]["id"] == "east0":
    return {"ok": False, "error": "429", "penalty": 600}
return {"ok": True}""".strip())
        retry = 'retry = { strategy = "fixed", delay = "1h" }'  # not due before the end of the test
        self.config(queue=f'limit = 10\npartition = "/region"\n{retry}', node='lease = "2s"')
        self.push_regions(east=1)
        node = self.start()
        self.until_stats(failed=1)
        penalties = lambda: [(each["partition"], each["waiting"], each["closed"]) for each in self.json("limits")
                             if each["name"] == "orders penalty"]
        self.until("it is told before anybody waits", lambda: penalties() == [("east", 0, True)])
        self.push_regions(east=2, west=1)
        self.until_stats(processed=1, blocked_by_rate=1)
        self.until("it is told who waits", lambda: penalties() == [("east", 1, True)])
        self.assertRegex(self.ordo("limits").stdout, r"orders penalty +east +closed +1 +in \d+ m")
        [job] = self.json("jobs", "orders", "--id", "east1")
        self.assertEqual([(each["what"], each["name"]) for each in job["waits_for"]], [("rate", "orders penalty: east")])
        node.kill()
        node.wait()
        self.push_regions(west=2)
        self.start()
        self.until_stats(processed=3, blocked_by_rate=1)

    def test_a_penalty_that_nobody_can_keep_is_said(self):
        self.answer("return {'ok': True, 'penalty': 600}")
        self.config()
        for job_id in "12":
            self.push(job_id)
        self.start()
        self.until_stats(processed=2)
        self.assertEqual(self.log().count("a run asked for a penalty"), 1, self.log())

    def test_what_could_never_start_is_refused(self):
        self.config(queue="limit = 2")
        for arguments, why in ((["--weight", "3"], "would never start"), (["--weight", "0"], "above 0"), (["--weight", "1e3"], "above 0"),
                               (["--lock", "x"], "has none"), (["--lock", ""], "empty"), (["--partition", "x" * 256], "at most 255")):
            with self.subTest(arguments=arguments):
                done = self.ordo("push", "orders", "--id", "1", *arguments, code=1 if "never" in why or "none" in why else 2)
                self.assertIn(why, done.stderr)
        for queue, why in (("limit = 0", "at least 1"), ("limit = 0.5", "at least 1"), ("limit = -1", "at least 1"), ('limit = "x"', "at least 1"), ("weight = 0", "above 0"),
                           ("weight = 0.1234567", "six digits"), ('limits = ["crm"]', "[limit.crm]"), ("shares = { a = 50 }", "shares"),
                           ('limit = 4\npartition = "/r"\nshares = { a = 60, b = 50 }', "110"), ('partition = "region"', "JSON pointer"), ('rate = { per = "1s" }', "limit"),
                           ('rate = { limit = 1, per = "90d" }', "31 days"), ('rate = { limit = 1, each = "partition" }', "partition"), ('lock = "user"', "JSON pointer"),
                           ('lock_name = "x"', "no effect"), ("borrow = true", "no effect"), ("lock_slots = 0", "lock_slots")):
            with self.subTest(queue=queue):
                self.config(queue=queue)
                self.assertIn(why, self.ordo("work", "--drain", code=2).stderr)
        self.config(more="[limit.crm]\n")
        self.assertIn("missing", self.ordo("work", "--drain", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
