"""A short chaos for every build; `./dev chaos` runs longer ones. Another seed each time: it is printed."""
import os
import random
import unittest

import chaos

IS_BEHIND = bool(os.environ.get("ORDO_CRASH_BEHIND"))
STORE = os.environ.get("ORDO_CRASH_STORE", "sqlite:")
SECONDS = 25 if STORE.startswith("sqlite:") else 15


class Short(unittest.TestCase):
    def test_nothing_is_lost_or_runs_out_of_turn(self):
        seed = int(os.environ.get("ORDO_CRASH_SEED") or random.SystemRandom().randrange(1_000_000))
        self.assertTrue(chaos.run(SECONDS, seed, store=STORE, is_behind=IS_BEHIND))


if __name__ == "__main__":
    unittest.main()
