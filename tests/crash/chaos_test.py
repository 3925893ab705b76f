"""A short chaos; `./dev chaos` runs longer ones. Another seed each time, which is printed, unless ORDO_CRASH_SEED gives it.
ORDO_CRASH_JUDGED: the only kinds of problems that count; without, a run ends when all its faults have hit, too."""
import os
import random
import unittest

import chaos

IS_BEHIND = bool(os.environ.get("ORDO_CRASH_BEHIND"))
STORE = os.environ.get("ORDO_CRASH_STORE", "sqlite:")
SECONDS = int(os.environ.get("ORDO_CRASH_SECONDS") or (25 if STORE.startswith("sqlite:") else 15))
JUDGED = os.environ.get("ORDO_CRASH_JUDGED", "").split()


class Short(unittest.TestCase):
    def test_nothing_is_lost_or_runs_out_of_turn(self):
        seed = int(os.environ.get("ORDO_CRASH_SEED") or random.SystemRandom().randrange(1_000_000))
        self.assertTrue(chaos.run(SECONDS, seed, store=STORE, is_behind=IS_BEHIND, judged=JUDGED))


if __name__ == "__main__":
    unittest.main()
