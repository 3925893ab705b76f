"""Each rule of the checker, by a log that breaks it and nothing else."""
import unittest

from checker import Checker
from repeats import CAPACITY

SECOND = 1_000_000_000


class Log:
    """Hand-made events, a millisecond apart."""

    def __init__(self):
        self.events, self.pushes, self.time = [], {}, 0

    def note(self, what, **more):
        self.time += SECOND // 1000
        self.events.append({"e": what, **more, "t": self.time})

    def push(self, *numbers, queue="fifo", key="k", acked=True, attempts=1, **more):
        for n in numbers:
            self.pushes[queue, key, n] = {"acked": acked, "attempts": attempts, **more}

    def start(self, run, *numbers, node="a", fence=1, queue="fifo", key="k", retry=-1, thread=False, pid=7, **more):
        job_id = key if queue == "merge" else f"{key}-{numbers[0]}"
        self.note("start", run=run, node=node, pid=pid, thread=thread, queue=queue, key=key, id=job_id,
                  n=list(numbers), retry=retry, fence=fence, **more)

    def end(self, run, what="end", **more):
        self.note(what, run=run, **more)

    def run(self, run, *numbers, **more):
        self.start(run, *numbers, **more)
        self.end(run)

    def fault(self, what, node="a"):
        self.note(what, node=node)
        if what in ("kill", "stop"):
            self.note("hit", node=node)


class Judged(unittest.TestCase):
    def setUp(self):
        self.log = Log()

    def holds(self, **counts):
        checker = Checker(self.log.pushes)
        self.assertEqual(checker.check(self.log.events), [])
        for name, count in counts.items():
            self.assertEqual(checker.counts[name.replace("_", " ")], count, name)

    def broken(self, *rules, dead=()):
        problems = Checker(self.log.pushes, dead).check(self.log.events)
        self.assertEqual([problem.partition(":")[0] for problem in problems], list(rules), problems)


class Rules(Judged):
    def test_nothing_is_wrong(self):
        self.log.push(1, 2, 3)
        self.log.push(1, 2, 3, queue="merge", key="m")
        for n in (1, 2, 3):
            self.log.run(f"r{n}", n)
        self.log.run("m", 1, 2, 3, queue="merge", key="m")
        self.holds(runs=4, completed=6)

    def test_a_run_that_its_node_put_back_may_start_again(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.time += SECOND
        self.log.note("put back", node="a")
        self.log.time += SECOND
        self.log.run("r2", 1)
        self.holds(runs=2, completed=1)

    def test_not_one_that_started_later_or_elsewhere(self):
        self.log.push(1)
        self.log.note("put back", node="a")
        self.log.note("put back", node="b")
        self.log.time += SECOND
        self.log.start("r1", 1)
        self.log.run("r2", 1)
        self.broken("overlap")

    # Lost ---------------------------------------------------------------------------------------------------

    def test_what_never_ran_is_lost(self):
        self.log.push(1, 2)
        self.log.run("r1", 1)
        self.broken("lost")

    def test_a_payload_that_was_not_delivered_is_lost(self):
        self.log.push(1, 2, 3, queue="merge")
        self.log.run("r1", 1, 3, queue="merge")
        self.broken("lost")

    def test_what_failed_and_never_ran_again_is_lost(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.end("r1", "fail")
        self.broken("lost")

    def test_what_was_put_back_and_never_ran_again_is_lost(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.end("r1", "stopped")
        self.broken("lost")

    def test_what_ended_after_its_successor_has_come_must_run_again(self):
        self.log.push(1, 2)
        self.log.start("r1", 1, thread=True)
        self.log.fault("stop")
        self.log.run("r2", 2, node="b", fence=2)
        self.log.end("r1")
        self.broken("lost")

    def test_what_nobody_acknowledged_may_be_lost(self):
        self.log.push(1, acked=False)
        self.holds(unknown_that_did_not_run=1)

    def test_what_died_is_not_lost(self):
        self.log.push(1)
        self.broken(dead=[("fifo", "k", 1)])

    def test_what_nobody_pushed_must_not_run(self):
        self.log.run("r1", 1)
        self.broken("invented")

    def test_what_was_rolled_back_must_not_run(self):
        self.log.push(1, acked=False, attempts=0)
        self.log.run("r1", 1)
        self.broken("invented")

    def dead(self, *dead, **spoilt):
        checker = Checker({})
        checker.look_at_dead(dead, spoilt)
        return [problem.partition(":")[0] for problem in checker.problems]

    def test_what_nobody_can_read_dies_once(self):
        sent, unknown = {"attempts": 1, "acked": True}, {"attempts": 1, "acked": False}
        self.assertEqual(self.dead(("unreadable", "x1"), x1=sent, x2=unknown), [])
        self.assertEqual(self.dead(x1=sent), ["unreadable"])
        self.assertEqual(self.dead(("unreadable", "x1"), ("unreadable", "x1"), x1=sent), ["unreadable"])

    def test_nothing_else_dies(self):
        self.assertEqual(self.dead(("error", "1")), ["dead"])
        self.assertEqual(self.dead(("unreadable", "x3")), ["dead"])

    # Who took over lacks the last seconds ---------------------------------------------------------------------

    def fall_behind(self):
        """What happened since the return is what is lacked, once `behind` is noted."""
        self.log.time += 20 * SECOND
        return self.log.time

    def test_what_was_acknowledged_since_one_fell_behind_may_be_lost(self):
        since = self.fall_behind()
        self.log.push(1, t=since + 1)
        self.log.note("behind", since=since)
        self.holds(lost_with_who_was_ahead=1)

    def test_not_what_was_acknowledged_before_or_long_after(self):
        since = self.fall_behind()
        self.log.push(1, t=since - 1)
        self.log.push(2, t=since + 20 * SECOND)
        self.log.note("behind", since=since)
        self.broken("lost", "lost")

    def test_a_key_begins_again_where_its_ends_were_lost(self):
        self.log.push(1, 2, 3, 4)
        self.log.run("r1", 1)
        since = self.fall_behind()
        self.log.run("r2", 2)
        self.log.run("r3", 3)
        self.log.note("behind", since=since)
        for n in (2, 3, 4):
            self.log.run(f"again{n}", n, node="b", fence=2)
        self.holds(**{"repeats_(behind)": 2, "keys_that_began_again": 1})

    def test_and_is_in_order_from_there_on(self):
        self.log.push(1, 2, 3)
        since = self.fall_behind()
        for n in (1, 2, 3):
            self.log.run(f"r{n}", n)
        self.log.note("behind", since=since)
        for n in (1, 3, 2):
            self.log.run(f"again{n}", n, node="b", fence=2)
        self.broken("order")

    def test_but_not_what_ended_long_before(self):
        self.log.push(1)
        self.log.run("r1", 1)
        since = self.fall_behind()
        self.log.note("behind", since=since)
        self.log.run("r2", 1, node="b", fence=2)
        self.broken("repeat")

    def test_and_overlaps_and_fences_are_what_they_are(self):
        self.log.push(1, 2)
        since = self.fall_behind()
        self.log.start("r1", 1, fence=2)
        self.log.note("behind", since=since)
        self.log.start("r2", 1, node="b", fence=1)
        self.broken("stale start", "lost", "lost")

    # Overlap ------------------------------------------------------------------------------------------------

    def test_two_at_a_time_on_one_node(self):
        self.log.push(1, 2)
        self.log.start("r1", 1)
        self.log.start("r2", 2)
        self.log.end("r2")
        self.broken("overlap", "lost")

    def test_two_at_a_time_on_two_nodes(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.run("r2", 1, node="b", fence=2)
        self.broken("overlap")

    def test_a_run_goes_on_after_a_later_owner_has_started_another_key(self):
        self.log.push(1)
        self.log.push(1, key="f")  # of the same shard
        self.log.start("r1", 1)
        self.log.run("r2", 1, key="f", node="b", fence=2)
        self.log.end("r1")
        self.holds(completed=2)  # its shard has moved without it

    def test_a_kill_ends_a_run(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.fault("kill")
        self.log.run("r2", 1, node="b", fence=2)
        self.holds(completed=1)

    def test_a_stop_ends_a_run_and_its_late_end_counts_for_nothing(self):
        self.log.push(1)
        self.log.start("r1", 1, thread=True)
        self.log.fault("stop")
        self.log.start("r2", 1, node="b", fence=2)
        self.log.fault("cont")
        self.log.end("r1")
        self.log.end("r2")
        self.holds(completed=1, late_ends=1, repeated_runs=0)

    def test_a_stop_of_long_ago_is_no_excuse(self):
        self.log.push(1)
        self.log.fault("stop")
        self.log.fault("cont")
        self.log.time += 10 * SECOND
        self.log.start("r1", 1)
        self.log.run("r2", 1, node="b", fence=2)
        self.broken("overlap")

    def test_nor_is_one_that_a_kill_ended(self):
        self.log.push(1)
        self.log.fault("stop", node="c")
        self.log.fault("kill", node="c")
        self.log.time += 10 * SECOND
        self.log.start("r1", 1)
        self.log.run("r2", 1, node="b", fence=2)
        self.broken("overlap")

    def test_a_stop_does_not_end_the_threads_of_the_node_itself(self):
        self.log.push(1)
        self.log.start("r1", 1, thread=True)
        self.log.fault("stop")
        self.log.fault("cont")
        self.log.run("r2", 1, thread=True, fence=2)
        self.broken("overlap")

    def test_what_was_put_back_by_a_term_is_silent(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.fault("term")
        self.log.start("r2", 1, node="b", fence=2)
        self.log.end("r1")
        self.log.end("r2")
        self.broken("overlap")

    def test_a_killed_worker_process_ends_its_run(self):
        self.log.push(1)
        self.log.start("r1", 1, pid=9)
        self.log.note("kill_worker", pid=9)
        self.log.run("r2", 1, retry=0)
        self.holds(completed=1)

    def test_a_stall_of_another_node_may_cost_a_lease(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.note("stall", since=0)
        self.log.start("r2", 1, node="b", fence=2)
        self.log.end("r2")
        self.holds(completed=1)

    def test_a_command_that_its_node_stops_in_a_stall_may_run_elsewhere_under_the_same_fence(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.note("stall", since=0)
        self.log.run("r2", 1, node="b")
        self.holds(completed=1)

    def test_a_thread_that_its_node_stops_in_a_stall_says_so(self):
        self.log.push(1)
        self.log.start("r1", 1, thread=True)
        self.log.note("stall", since=0)
        self.log.run("r2", 1, node="b")
        self.broken("fence")

    def test_a_command_runs_elsewhere_under_the_same_fence_without_a_reason(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.run("r2", 1, node="b")
        self.broken("fence", "overlap")

    # Order --------------------------------------------------------------------------------------------------

    def test_a_later_job_of_a_key_starts_first(self):
        self.log.push(1, 2)
        self.log.run("r2", 2)
        self.log.run("r1", 1)
        self.broken("order")

    def test_after_a_crash_a_later_job_starts_before_the_repeat(self):
        self.log.push(1, 2)
        self.log.start("r1", 1)
        self.log.fault("kill")
        self.log.run("r2", 2, node="b", fence=2)
        self.log.run("r3", 1, node="b", fence=2)
        self.broken("order")

    def test_after_a_crash_a_job_runs_again_before_later_ones(self):
        self.log.push(1, 2)
        self.log.run("r1", 1)
        self.log.fault("kill")
        self.log.run("r2", 1, node="b", fence=2)
        self.log.run("r3", 2, node="b", fence=2)
        self.holds(repeated_runs=1)

    def test_payloads_are_sorted(self):
        self.log.push(1, 2, queue="merge")
        self.log.run("r1", 2, 1, queue="merge")
        self.broken("order")

    def test_a_payload_comes_after_later_ones_of_its_job(self):
        self.log.push(1, 2, 3, queue="merge")
        self.log.run("r1", 1, 3, queue="merge")
        self.log.run("r2", 2, queue="merge")
        self.broken("order")

    def test_a_payload_that_had_ended_comes_back(self):
        self.log.push(1, 2, queue="merge")
        self.log.run("r1", 1, queue="merge")
        self.log.run("r2", 2, queue="merge")
        self.log.fault("kill")
        self.log.run("r3", 1, queue="merge", node="b", fence=2)
        self.broken("order")

    def test_what_was_pushed_twice_may_come_back(self):
        self.log.push(1, attempts=2)
        self.log.push(2)
        self.log.run("r1", 1)
        self.log.run("r2", 2)
        self.log.run("r3", 1)
        self.holds(completed=2)

    # Fences and repeats -------------------------------------------------------------------------------------

    def test_runs_of_one_owner_on_two_nodes(self):
        self.log.push(1, 2)
        self.log.run("r1", 1)
        self.log.run("r2", 2, node="b")
        self.holds(completed=2)

    def test_a_run_that_was_taken_back_and_the_next_with_one_fence(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.fault("stop")
        self.log.run("r2", 1, node="b")
        self.broken("fence")

    def test_a_start_under_an_old_fence(self):
        self.log.push(1, 2)
        self.log.run("r1", 1, fence=2)
        self.log.run("r2", 2, node="b", fence=1)
        self.broken("stale start", "overlap", "lost")

    def test_a_late_start_of_a_node_that_was_stopped(self):
        self.log.push(1)
        self.log.fault("stop")
        self.log.run("r1", 1, node="b", fence=2)
        self.log.fault("cont")
        self.log.run("r2", 1)
        self.holds(late_starts=1, late_ends=1)

    def test_nothing_runs_twice_without_a_reason(self):
        self.log.push(1)
        self.log.run("r1", 1)
        self.log.run("r2", 1)
        self.broken("repeat")

    def repeat(self, fault, after, seconds=0, **more):
        """An end, a fault so many seconds before or after it, and a run of the same job."""
        self.log.push(1, **more)
        self.log.time += 100 * SECOND
        if not after:
            fault()
            self.log.time += int(seconds * SECOND)
        self.log.run("r1", 1)
        if after:
            self.log.time += int(seconds * SECOND)
            fault()
        self.log.run("r2", 1, node="b", fence=2)

    def test_each_cause_of_a_repeat(self):
        for cause, fault in {"kill": lambda: self.log.fault("kill"), "stop": lambda: self.log.fault("stop"),
                             "lost lease": lambda: self.log.fault("lost"),
                             "killed worker": lambda: self.log.note("kill_worker", pid=7),
                             "stall": lambda: self.log.note("stall", since=self.log.time - SECOND)}.items():
            with self.subTest(cause):
                self.log = Log()
                self.repeat(fault, after=True, seconds=2)
                self.holds(**{"repeated_runs": 1, f"repeats_({cause})": 1})
                self.log = Log()
                self.repeat(fault, after=True, seconds=20)
                self.broken("repeat")
                if cause not in ("stop", "kill"):
                    self.log = Log()
                    self.repeat(fault, after=False, seconds=2)
                    self.broken("repeat")

    def test_what_the_worker_of_a_killed_node_still_starts_runs_again(self):
        self.repeat(lambda: self.log.fault("kill"), after=False)
        self.holds(**{"repeated_runs": 1, "repeats_(kill)": 1})

    def test_a_clean_stop_is_no_cause_of_a_repeat(self):
        self.repeat(lambda: self.log.fault("term"), after=True)
        self.broken("repeat")

    def test_a_store_that_is_away_keeps_an_end_from_becoming_durable(self):
        def fault():
            self.log.note("stall", since=self.log.time)
            self.log.events[-1]["t"] = self.log.time = self.log.time + 20 * SECOND
            self.log.fault("kill")
        self.repeat(fault, after=True)
        self.holds(repeated_runs=1)

    def test_each_repeat_needs_another_sending(self):
        self.log.push(1, attempts=2)
        self.log.run("r1", 1)
        self.log.run("r2", 1)
        self.holds(**{"repeats_(sent again)": 1})
        self.log.run("r3", 1)
        self.broken("repeat")

    def test_the_death_of_a_node_is_no_failure(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.fault("kill")
        self.log.run("r2", 1, node="b", fence=2, retry=0)
        self.broken("retries")

    def test_a_worker_that_is_killed_before_it_notes_its_start_is_one_failure(self):
        self.log.push(1, 2, 3)
        self.log.run("r1", 1, pid=9)
        self.log.note("kill_worker", pid=9)
        self.log.run("r2", 2, retry=0)
        self.log.run("r3", 3)
        self.holds(completed=3)
        self.log.events[-2]["retry"] = 0
        self.broken("retries")

    def test_a_failure_is_one(self):
        self.log.push(1)
        self.log.start("r1", 1)
        self.log.end("r1", "fail")
        self.log.run("r2", 1, retry=0)
        self.holds(completed=1)

    # What a cause explains ----------------------------------------------------------------------------------

    def test_a_run_that_is_doubled_has_no_other_fence(self):
        for fault in (lambda: self.log.fault("kill"), lambda: self.log.fault("stop"), lambda: self.log.note("lost", node="a"),
                      lambda: self.log.note("stall", since=0)):
            self.log = Log()
            self.log.push(1)
            self.log.run("r1", 1)
            self.log.run("r2", 1)
            fault()
            self.broken("repeat")

    def test_a_fault_explains_one_run_of_a_key(self):
        self.log.push(1)
        self.log.run("r1", 1)
        self.log.fault("stop")
        self.log.fault("cont")
        self.log.run("r2", 1, fence=2)
        self.holds(repeated_runs=1)
        self.log.run("r3", 1, fence=3)
        self.broken("repeat")

    def run_of_each_key(self, count, name, **more):
        for key in range(count):
            self.log.run(f"{name}{key}", 1, key=f"k{key}", **more)

    def test_all_that_a_node_had_when_it_was_hit_may_run_again(self):
        count = 3 * CAPACITY
        for key in range(count):
            self.log.push(1, key=f"k{key}")
        self.run_of_each_key(count, "r")
        self.log.fault("kill")
        self.run_of_each_key(count, "again", node="b", fence=2)
        self.holds(**{"repeats_(kill)": count, "repeats_that_all_of_kill_may_explain": count + CAPACITY})

    def test_of_what_it_ran_later_no_more_than_it_has_threads(self):
        for count, broken in ((CAPACITY, []), (CAPACITY + 1, ["repeat"])):
            self.log = Log()
            for key in range(count):
                self.log.push(1, key=f"k{key}")
            self.log.fault("stop")
            self.run_of_each_key(count, "r")
            self.run_of_each_key(count, "again", node="b", fence=2)
            self.broken(*broken)

    def test_what_is_put_back_under_its_fence_is_no_more_than_threads(self):
        for key in range(CAPACITY + 1):
            self.log.push(1, key=f"k{key}")
        self.run_of_each_key(CAPACITY + 1, "r")
        self.log.note("put back", node="a")
        self.run_of_each_key(CAPACITY, "again")
        self.holds(**{"repeats_(lost_lease)": CAPACITY})
        self.log.run("more", 1, key=f"k{CAPACITY}")
        self.broken("repeat")

    def test_a_killed_worker_had_one_run(self):
        self.log.push(1)
        self.log.push(1, key="f")
        self.log.run("r1", 1)
        self.log.run("r2", 1, key="f")
        self.log.note("kill_worker", pid=7)
        self.log.run("r3", 1, key="f", retry=0)
        self.holds(**{"repeats_(killed_worker)": 1})
        self.log.run("r4", 1)
        self.broken("repeat")

    def test_a_cause_goes_to_whom_nothing_else_explains(self):
        self.log.push(1)
        self.log.push(1, key="f")
        self.log.run("r1", 1)
        self.log.note("stall", since=self.log.time)
        self.log.time += 2 * SECOND
        self.log.run("r2", 1, key="f")
        self.log.note("kill_worker", pid=7)
        self.log.run("r3", 1, fence=2)
        self.log.run("r4", 1, key="f", retry=0)
        self.holds(**{"repeats_(killed_worker)": 1, "repeats_(stall)": 1})

    def test_a_kill_cuts_short_no_more_than_a_node_has_threads(self):
        for key in range(CAPACITY + 1):
            self.log.push(1, key=f"k{key}")
            self.log.start(f"r{key}", 1, key=f"k{key}")
        self.log.fault("kill")
        self.run_of_each_key(CAPACITY + 1, "again", node="b", fence=2)
        self.broken("cut")


if __name__ == "__main__":
    unittest.main()
