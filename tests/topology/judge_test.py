"""The judge of this folder's tests stands on the networks that it judges."""
import unittest

from topology import Topology


class Judge(unittest.TestCase):
    def asked(self, answers, seconds=240):
        questions = iter(answers)

        def condition():
            answer = next(questions)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return Topology().until("it is so", condition, seconds)

    def test_asks_again_where_no_answer_comes(self):
        self.assertEqual(self.asked([AssertionError("ordo nodes: it does not answer"), False, 7]), 7)

    def test_tells_the_last_question_that_had_no_answer(self):
        with self.assertRaisesRegex(AssertionError, "it is so; the last question without an answer: none"):
            self.asked([], 0)


if __name__ == "__main__":
    unittest.main()
