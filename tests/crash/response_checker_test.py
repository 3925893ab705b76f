"""Each rule of responses, by a log that breaks it and nothing else."""
import unittest

from checker import Checker
from checker_test import SECOND, Judged


class Responses(Judged):
    def setUp(self):
        super().setUp()
        self.log.push(1, queue="calls", attempts=1, weight="1", region="", lock="k", critical=False)

    def start(self, run, **more):
        self.log.start(run, 1, queue="calls", **more)

    def wait(self, run="r1", what="wait", may_time_out=False, **more):
        self.start(run, **more)
        self.log.end(run, what, queue="calls", key="k-1", may_time_out=may_time_out)

    def respond(self, message, *answers):
        self.log.note("respond", queue="calls", key="k-1", message=message)
        for answer in answers:
            self.log.note("answer", queue="calls", key="k-1", message=message, answer=answer)

    def handle(self, message, run="r2", end="end", key="k-1", body=None, **more):
        body = body or {"key": "k-1", "message": message}
        self.start(run, response={"key": key, "body": body, "message_id": message}, **more)
        self.log.end(run, end)

    def test_a_wait_and_its_response(self):
        self.wait()
        self.respond("x", "accepted")
        self.respond("x", "duplicate")
        self.respond("y", "late")
        self.handle("x")
        self.holds(responses_handled=1, completed=1)

    def test_one_that_comes_before(self):
        self.respond("x", "buffered")
        self.wait()
        self.handle("x")
        self.holds(responses_handled=1)

    def test_one_whose_answer_was_lost(self):
        self.wait()
        self.respond("x")
        self.respond("x", "duplicate")
        self.handle("x")
        self.holds(responses_handled=1)

    def test_one_of_which_nothing_was_told(self):
        self.wait()
        self.respond("x")
        self.handle("x")
        self.holds(responses_handled=1)

    # What is lost ---------------------------------------------------------------------------------------------

    def test_a_job_that_waits_for_ever_is_lost(self):
        self.wait()
        self.broken("lost")

    def test_what_was_accepted_is_handled(self):
        self.wait()
        self.respond("x", "accepted")
        self.broken("lost", "lost response")

    def test_what_is_a_duplicate_was_taken(self):
        self.wait()
        self.respond("x")
        self.respond("x", "duplicate")
        self.respond("y", "accepted")
        self.handle("y")
        self.broken("lost response")

    def test_two_are_accepted(self):
        self.wait()
        self.respond("x", "accepted")
        self.respond("y", "accepted")
        self.handle("x")
        self.broken("lost response")

    def again(self, *answers, **more):
        """The job waits, has an answer, and waits again; then it is done with the second of two."""
        self.wait(**more)
        self.respond("x", answers[0])
        self.log.fault("kill")
        self.wait("r3", node="b", fence=2, retry=0 if more else -1)
        self.respond("y", answers[1])
        self.handle("y", node="b", fence=2)

    def test_a_job_that_waits_anew_after_a_crash_has_another(self):
        self.again("accepted", "accepted")
        self.holds(responses_dropped_with_their_job=1)

    def test_a_job_whose_wait_timed_out_has_no_other(self):
        self.again("late", "accepted", may_time_out=True)
        self.holds(responses_handled=1, waits_that_timed_out=1)
        self.setUp()
        self.again("accepted", "accepted", may_time_out=True)
        self.broken("lost response")

    # What is doubled, or another's ----------------------------------------------------------------------------

    def test_it_is_handled_once(self):
        self.wait()
        self.respond("x", "accepted")
        self.handle("x")
        self.handle("x", "r3")
        self.broken("repeat")

    def test_or_twice_after_a_crash(self):
        self.wait()
        self.respond("x", "accepted")
        self.handle("x")
        self.log.fault("kill")
        self.handle("x", "r3", node="b", fence=2)
        self.holds(repeated_runs=1, responses_handled=1)

    def test_after_a_failure_it_is_handled_again(self):
        self.wait()
        self.respond("x", "accepted")
        self.handle("x", end="fail")
        self.handle("x", "r3")
        self.holds(responses_handled=1, completed=1)

    def test_that_is_no_failure_of_its_job(self):
        self.wait()
        self.respond("x", "accepted")
        self.handle("x", end="fail")
        self.handle("x", "r3", retry=0)
        self.broken("retries")

    def test_nobody_sent_it(self):
        self.wait()
        self.handle("x")
        self.broken("response")

    def test_nobody_waits_for_it(self):
        self.respond("x", "buffered")
        self.handle("x")
        self.broken("response")

    def test_it_is_another_jobs(self):
        for more in ({"key": "k-2"}, {"body": {"key": "k-2", "message": "x"}}, {"body": {"key": "k-1", "message": "z"}}):
            with self.subTest(more):
                self.setUp()
                self.wait()
                self.respond("x")
                self.handle("x", **more)
                self.broken("response")

    def test_what_is_late_is_not_handled(self):
        self.wait()
        self.respond("x", "late")
        self.handle("x")
        self.broken("response")

    # What is told ---------------------------------------------------------------------------------------------

    def test_what_was_taken_is_a_duplicate_from_then_on(self):
        for answer in ("accepted", "buffered", "late"):
            with self.subTest(answer):
                self.setUp()
                self.wait()
                self.respond("x", "accepted")
                self.respond("x", answer)
                self.handle("x")
                self.broken("answer")

    def test_what_was_sent_once_is_no_duplicate(self):
        self.wait()
        self.respond("x", "duplicate")
        self.handle("x")
        self.broken("answer")

    # What runs again ------------------------------------------------------------------------------------------

    def waits_again(self, disturb=lambda: None, **more):
        self.wait()
        disturb()
        self.wait("r3", **more)
        self.respond("x", "accepted")
        self.handle("x", **more)

    def test_a_job_that_waits_does_not_run(self):
        self.waits_again()
        self.broken("repeat")

    def test_unless_its_wait_was_lost(self):
        for disturb in (lambda: self.log.fault("kill"), lambda: self.log.note("cut"),
                        lambda: self.log.note("reshard", queue="calls", shards=2)):
            with self.subTest():
                self.setUp()
                self.waits_again(disturb, node="b", fence=2)
                problems = Checker(self.log.pushes).check(self.log.events)
                self.assertEqual([problem for problem in problems if problem.startswith("repeat")], [])

    def test_a_cut_of_long_ago_explains_nothing(self):
        self.log.note("cut")
        self.log.time += 20 * SECOND
        self.waits_again()
        self.broken("repeat")

    def test_nor_does_a_reshard_that_is_over(self):
        self.log.note("reshard", queue="calls", shards=2)
        self.log.note("resharded", queue="calls")
        self.log.time += 20 * SECOND
        self.waits_again()
        self.broken("repeat")

    def test_a_wait_that_may_not_time_out_is_no_failure(self):
        self.wait()
        self.log.fault("kill")
        self.wait("r3", node="b", fence=2, retry=0)
        self.respond("x", "accepted")
        self.handle("x", node="b", fence=2)
        self.broken("retries")


if __name__ == "__main__":
    unittest.main()
