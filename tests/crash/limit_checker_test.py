"""Each rule of limits and locks, by a log that breaks it and nothing else."""
import unittest

import limited
from checker import Checker
from checker_test import SECOND, Judged


class Limits(Judged):
    def push(self, key, queue="calls", weight="1", region=None, lock=None, critical=False):
        """What shares nothing but the limit of its queue and the named one, unless told otherwise."""
        self.log.push(1, queue=queue, key=key, weight=weight, region=region or key, lock=lock or key, critical=critical)

    def start(self, key, queue="calls", run=None, **more):
        self.log.start(run or key, 1, queue=queue, key=key, **more)

    def together(self, *keys, queue="calls"):
        for key in keys:
            self.start(key, queue)
        for key in keys:
            self.log.end(key)

    def fill(self, count, queue="calls", **more):
        keys = [f"{queue}{number}" for number in range(count)]
        for key in keys:
            self.push(key, queue, **more)
        self.together(*keys, queue=queue)

    def test_as_many_as_the_limit(self):
        self.fill(limited.LIMIT)
        self.holds(starts_at_a_full_limit=1)

    def test_one_more(self):
        self.fill(limited.LIMIT + 1)
        self.broken("limit")

    def test_weights_count(self):
        self.fill(10 * limited.LIMIT, weight="0.1")
        self.holds(starts_at_a_full_limit=1)
        self.setUp()
        self.fill(10 * limited.LIMIT + 1, weight="0.1")
        self.broken("limit")

    def test_what_is_critical_does_not_count(self):
        self.fill(limited.LIMIT + 9, critical=True)
        self.holds(starts_at_a_full_limit=0)

    def test_a_partition(self):
        self.fill(limited.PARTITION_LIMIT, region="east")
        self.holds(starts_at_a_full_partition=1)
        self.setUp()
        self.fill(limited.PARTITION_LIMIT + 1, region="east")
        self.broken("partition")

    def test_a_named_limit_of_two_queues(self):
        for number in range(limited.NAMED_LIMIT):
            self.push(f"m{number}", "mails")
            self.start(f"m{number}", "mails")
        self.log.end("m0")
        self.push("c")
        self.start("c")
        for number in range(1, limited.NAMED_LIMIT):
            self.log.end(f"m{number}")
        self.log.end("c")
        self.holds(starts_at_a_full_limit=2)

    def test_a_named_limit_of_two_queues_and_one_more(self):
        for number in range(limited.NAMED_LIMIT):
            self.push(f"m{number}", "mails")
            self.start(f"m{number}", "mails")
        self.push("c")
        self.together("c")
        for number in range(limited.NAMED_LIMIT):
            self.log.end(f"m{number}")
        self.broken("limit")

    def test_a_lock_of_two_queues(self):
        self.push("c", lock="a")
        self.push("m", "mails", lock="a")
        self.start("c")
        self.start("m", "mails")
        self.log.end("c")
        self.log.end("m")
        self.broken("lock")

    def test_one_after_the_other(self):
        self.push("c", lock="a")
        self.push("m", "mails", lock="a")
        self.together("c")
        self.together("m", queue="mails")
        self.holds()

    # Who waits, and who is retried ----------------------------------------------------------------------------

    def waiting(self, outcome="wait"):
        """The first run of a job ends so, another of its lock runs, and it is run again, with a response if it waited."""
        self.push("c", lock="a")
        self.push("m", "mails", lock="a")
        self.start("c", run="r1")
        self.log.end("r1", outcome)
        self.log.note("respond", queue="calls", key="c-1", message="x")
        self.log.note("answer", queue="calls", key="c-1", message="x", answer="accepted")
        self.together("m", queue="mails")
        response = {"key": "c-1", "body": {"key": "c-1", "message": "x"}, "message_id": "x"}
        self.start("c", run="r2", **({"response": response} if outcome == "wait" else {"retry": 0}))
        self.log.end("r2")

    def test_a_job_that_waits_keeps_its_lock(self):
        self.waiting()
        self.broken("lock")

    def test_a_job_in_back_off_does_not(self):
        self.waiting("fail")
        self.holds()

    def test_a_response_that_is_handled_again_keeps_it_between(self):
        self.waiting()
        end = self.log.events.pop()
        self.log.events = [line for line in self.log.events if line.get("run") != "m"]
        self.log.events.append({**end, "e": "fail"})
        self.start("m", "mails")
        self.log.end("m")
        self.start("c", run="r3", response=self.log.events[-4]["response"])
        self.log.end("r3")
        self.broken("lock")

    # What is cut short ----------------------------------------------------------------------------------------

    def cut(self, fault, ends=False):
        """A run of node a, what befalls it a second later, another of its lock on node b; then maybe its end."""
        self.push("c", lock="a")
        self.push("m", "mails", lock="a")
        self.start("c", run="r1")
        self.log.time += SECOND
        fault()
        self.start("m", "mails", node="b")
        if ends:
            self.log.end("r1")
        self.log.end("m")
        if not ends:
            self.start("c", run="r2", node="b", fence=2)
            self.log.end("r2")

    def test_what_cuts_a_run_short_frees_its_lock(self):
        for fault in (lambda: self.log.fault("kill"), lambda: self.log.fault("stop"), lambda: self.log.fault("put back"),
                      lambda: self.log.fault("term"), lambda: self.log.note("kill_worker", pid=7)):
            with self.subTest():
                self.setUp()
                self.cut(fault)
                problems = Checker(self.log.pushes).check(self.log.events)
                self.assertEqual([problem for problem in problems if problem.startswith("lock")], [])

    def test_what_befalls_others_does_not(self):
        self.cut(lambda: self.log.fault("kill", node="c"))
        self.broken("overlap", "lock")

    def test_what_ends_had_it_until_then(self):
        self.cut(lambda: self.log.fault("put back"), ends=True)
        self.broken("lock")

    def test_but_for_what_the_guard_of_a_killed_node_was_about_to_end(self):
        self.cut(lambda: self.log.fault("kill"), ends=True)
        self.holds()


if __name__ == "__main__":
    unittest.main()
