"""Each floor of what a chaos covers."""
import types
import unittest

import coverage
from checker import Checker


class Floors(unittest.TestCase):
    def setUp(self):
        self.coverage = coverage.Coverage()
        self.coverage.planned.update(kill=coverage.LEAST_ROUNDS, stop=1)
        self.coverage.hits.update(kill=1, stop=1)
        self.events = [{"e": "hit"}, {"e": "stop"}]
        self.checker = Checker({})
        push = {"acked": True, "waits": True}
        self.producer = types.SimpleNamespace(name="p", way="XADD", spoils=True, joined=1, pushes={1: push},
                                              spoilt={"x": {"acked": True}})
        self.checker.counts.update({"responses handled": 1, "runs of many payloads": 1})

    def problems(self):
        return self.coverage.problems(self.events, self.checker, [self.producer])

    def is_told(self, words):
        self.assertEqual([words in problem for problem in self.problems()], [True], self.problems())

    def test_all_is_there(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.coverage.owed(), [])
        self.assertEqual(self.coverage.text(["kill", "term"]), "kill 1 of 8, term 0")

    def test_what_was_planned_has_never_hit(self):
        self.coverage.planned["reshard"] += 1
        self.assertEqual(self.coverage.owed(), ["reshard"])
        self.is_told("reshard was planned 1 times and has never hit")

    def test_what_hit_left_no_trace(self):
        self.coverage.planned["reshard"] += 1
        self.coverage.hits["reshard"] += 1
        self.is_told("1 times reshard, and 0 resharded in the log")

    def test_there_were_hardly_any_faults(self):
        self.coverage.planned["kill"] = 1
        self.is_told("2 rounds of faults")

    def test_a_producer_has_pushed_nothing(self):
        self.producer.pushes[1]["acked"] = False
        self.is_told("nothing was pushed with XADD")

    def test_nothing_was_sent_that_nobody_can_read(self):
        self.producer.spoilt.clear()
        self.is_told("nothing that nobody can read")

    def test_what_was_to_wait_had_no_response(self):
        self.checker.counts["responses handled"] = 0
        self.is_told("1 jobs were to wait")

    def test_no_run_had_many_payloads(self):
        self.checker.counts["runs of many payloads"] = 0
        self.is_told("no run had many")


if __name__ == "__main__":
    unittest.main()
