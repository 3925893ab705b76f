"""The demonstration: a replica of a tree, built from a stream of changes that comes out of order."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

REPLICA = os.path.join(os.environ["ORDO_BINARY_DIR"], "replica")
SOURCE = os.environ["ORDO_SOURCE_DIR"]
TIMEOUT = 600


def run(*arguments, cwd=SOURCE, code=0):
    ended = subprocess.run([REPLICA, *arguments], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT)
    if ended.returncode != code:
        raise AssertionError(f"exit {ended.returncode}, wanted {code}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout if code == 0 else ended.stderr


def row(output, name):
    """The numbers of a line of the table: pushes, runs, merged away, too late, wrong files, files."""
    line = re.search(rf"^  {name} +(.*)$", output, re.M).group(1)
    words = line.replace(",", "").split()
    return [int(words[i]) for i in (0, 1, 2, 3, 6, 8)]


@unittest.skipUnless(os.path.exists(REPLICA), "the examples are not built")
class ReplicaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "out")

    def test_this_repository(self):
        output = run("--ordered")
        self.assertIn("the replica is equal, byte for byte", output)
        pushes, runs, merged, _, wrong, files = row(output, "Ordo")
        self.assertEqual(wrong, 0)
        self.assertGreater(files, 0)
        self.assertGreaterEqual(runs + merged, pushes)
        self.assertNotIn("\033", output)

    def test_generated_history_with_and_without_order(self):
        output = run("--generated", "6000", "--out", self.out)
        pushes, _, merged, _, wrong, files = row(output, "Ordo")
        self.assertEqual((pushes, wrong), (6000, 0))
        self.assertGreater(merged, 0)
        pushes, runs, _, _, wrong, _ = row(output, "a plain queue")
        self.assertEqual((pushes, runs), (6000, 6000))
        self.assertGreater(wrong, 0)
        self.assertIn(f"A plain queue: {wrong} wrong files", output)
        self.assert_equals_checkout(os.path.join(self.out, "generated-6000.git"), files)

    def assert_equals_checkout(self, repository, files):
        """git's own opinion of the tree."""
        tree = os.path.join(self.out, "ordered", "tree")
        environment = {**os.environ, "GIT_INDEX_FILE": os.path.join(self.out, "index")}
        git = ["git", f"--git-dir={repository}", f"--work-tree={tree}", "-c", "core.bare=false"]
        subprocess.run([*git, "read-tree", "HEAD"], env=environment, check=True, timeout=TIMEOUT)
        status = subprocess.run([*git, "status", "--porcelain"], env=environment, check=True, timeout=TIMEOUT,
                                capture_output=True, text=True, cwd=tree)
        self.assertEqual(status.stdout, "")
        self.assertEqual(sum(len(names) for _, _, names in os.walk(tree)) +
                         sum(os.path.islink(os.path.join(at, name)) for at, folders, _ in os.walk(tree)
                             for name in folders), files)

    def acknowledged(self):
        try:
            with open(os.path.join(self.out, "ordered", "acknowledged"), encoding="ascii") as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0

    def kill_after(self, changes):
        """Starts it, and kills it with no warning once so many changes are pushed. False: it was too quick for us."""
        arguments = [REPLICA, "--generated", "12000", "--ordered", "--out", self.out]
        with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + TIMEOUT
            while self.acknowledged() < changes:
                if process.poll() is not None:
                    self.assertEqual(process.returncode, 0)
                    return False
                self.assertLess(time.monotonic(), end)
                time.sleep(0.002)
            process.kill()
            return process.wait(TIMEOUT) == -signal.SIGKILL and self.acknowledged() < 12000

    def test_killed_in_the_middle_twice(self):
        while not (self.kill_after(2000) and self.kill_after(5000)):
            shutil.rmtree(self.out)
        acknowledged = self.acknowledged()
        output = run("--generated", "12000", "--ordered", "--out", self.out)
        self.assertIn(f"went on after change {acknowledged:,}", output)
        pushes, _, _, _, wrong, files = row(output, "Ordo")
        self.assertEqual((pushes, wrong), (12000 - acknowledged, 0))
        self.assert_equals_checkout(os.path.join(self.out, "generated-12000.git"), files)

    def test_a_short_history_is_replaced(self):
        os.mkdir(self.out)
        output = run("--unordered", cwd=self.out)
        self.assertIn("the current folder is no git repository with commits: a generated history is used", output)
        self.assertGreater(row(output, "a plain queue")[4], 0)

    def test_refuses_what_it_does_not_know(self):
        self.assertIn("what is '--fast' for?", run("--fast", code=2))
        self.assertIn("give one, or none for both", run("--ordered", "--unordered", code=2))
        run("--generated", "300", "--unordered", "--out", self.out)
        self.assertIn("has a replica of", run("--generated", "301", "--unordered", "--out", self.out, code=2))


if __name__ == "__main__":
    unittest.main()
