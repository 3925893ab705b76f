"""What `./dev test` says of tests that were skipped."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import run  # noqa: E402

GOOGLETEST = """[ RUN      ] Disk.is_full
/src/disk_test.cpp:5: Skipped
needs root

[  SKIPPED ] Disk.is_full (0 ms)
[ RUN      ] Disk.is_there
[       OK ] Disk.is_there (0 ms)
[ RUN      ] Disk.all/redis
[  SKIPPED ] Disk.all/redis (3 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Disk.is_full
[  SKIPPED ] Disk.all/redis
"""
UNITTEST = """test_redis (__main__.BadNetwork.test_redis)
Far from its store. ... skipped 'network namespaces cannot be made'
test_postgres (__main__.BadNetwork.test_postgres) ... ok
setUpClass (__main__.Plugin) ... skipped "it's not built"

Ran 2 tests in 0.1s

OK (skipped=2)
"""


class Skipped(unittest.TestCase):
    def test_are_named_with_their_reason(self):
        self.assertEqual(run.skipped_in(GOOGLETEST), ["Disk.is_full: needs root", "Disk.all/redis: no reason given"])
        self.assertEqual(run.skipped_in(UNITTEST), ["BadNetwork.test_redis: network namespaces cannot be made", "Plugin.setUpClass: it's not built"])

    def test_are_counted_without_a_name_too(self):
        self.assertEqual(run.skipped_in("Ran 3 tests in 1s\n\nFAILED (failures=1, skipped=2)\n"), ["a test without a name"] * 2)
        self.assertEqual(run.skipped_in("Ran 3 tests in 1s\n\nOK\n"), [])


if __name__ == "__main__":
    unittest.main()
