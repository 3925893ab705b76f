"""What a chaos that judges only some kinds of problems makes of the others."""
import time
import types
import unittest

from chaos import Chaos


class Judged(unittest.TestCase):
    def chaos(self, judged=("lost", "overlap"), is_over=False):
        chaos = Chaos.__new__(Chaos)
        chaos.judged, chaos.problems, chaos.notes, chaos.is_done = judged, [], [], True
        chaos.ends_by = time.monotonic() + (-1 if is_over else 1000)
        return chaos

    def found(self, chaos):
        chaos.note_problem("n1 ended by itself with 1")
        chaos.too_late("not done after 600 s: 7 left")
        chaos.too_late("not done after 600 s: 6 left")
        return chaos.problems, chaos.notes

    def test_what_it_does_not_mean_is_noted_once(self):
        self.assertEqual(self.found(self.chaos()), ([], ["n1 ended by itself with 1", "not done after 600 s: 7 left"]))

    def test_it_means_that_it_ends_at_all(self):
        problems, notes = self.found(self.chaos(is_over=True))
        self.assertEqual((len(problems), notes), (2, ["n1 ended by itself with 1"]))

    def test_all_else_means_everything(self):
        problems, notes = self.found(self.chaos(judged=()))
        self.assertEqual((len(problems), notes), (3, []))

    def test_a_store_that_does_not_answer_is_asked_again(self):
        def fail():
            raise AssertionError("ordo stats: exit 1")
        chaos = self.chaos()
        chaos.cluster = types.SimpleNamespace(unfinished=fail)
        self.assertTrue(chaos.is_unfinished())
        self.assertEqual(chaos.notes, ["stats: ordo stats: exit 1"])
        chaos.judged = ()
        self.assertRaises(AssertionError, chaos.is_unfinished)


if __name__ == "__main__":
    unittest.main()
