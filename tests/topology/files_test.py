"""The files of an SQLite store under running nodes: deleted, replaced, on a disk that stands still."""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from project import ORDO, Project  # noqa: E402

SLOW_DISK = pathlib.Path(ORDO).resolve().parent / "tests/libordo_slow_disk.so"


class Sqlite(Project):
    store = "sqlite:"

    def setUp(self):
        super().setUp()
        self.config(queue="shards = 4\n", node="threads = 2\n")

    def start_both(self):
        nodes = [self.start(), self.start()]
        self.until("both have shards", lambda: [node["shards"] for node in self.json("nodes")] == [2, 2])
        return nodes

    def sqlite(self, sql, file="ordo.db"):
        return subprocess.run(["sqlite3", "-readonly", file, sql], cwd=self.folder, capture_output=True, text=True, check=True).stdout


class Files(Sqlite):
    def both_end(self, nodes):
        for node in nodes:
            self.assertEqual(self.end_of(node), 1, self.log())
        told = [line for line in self.log().splitlines() if line.startswith("ordo: ")]
        self.assertEqual(len(told), 2, self.log())
        for line in told:
            self.assertIn("was deleted or replaced while it was in use; nothing more is written", line)

    def test_a_deleted_database(self):
        nodes = self.start_both()
        self.push("1")
        self.until("it ran", lambda: self.stats()["processed"] == 1)
        for file in self.folder.glob("ordo.db*"):
            file.unlink()
        self.push("2")  # makes a new one
        self.both_end(nodes)
        self.start()
        self.until("what was acknowledged runs", lambda: self.stats()["processed"] == 1)
        self.assertEqual([run[0] for run in self.runs()], ["1", "2"])

    def test_a_backup_moved_over_the_database(self):
        self.push("of the backup")
        self.sqlite(".backup backup.db")
        nodes = self.start_both()
        self.until("it ran", lambda: self.stats()["processed"] == 1)
        os.rename(self.folder / "backup.db", self.folder / "ordo.db")
        self.both_end(nodes)
        self.assertEqual(self.sqlite("PRAGMA integrity_check").strip(), "ok")
        for suffix in ("-wal", "-shm"):  # as the documents say
            (self.folder / f"ordo.db{suffix}").unlink(missing_ok=True)
        self.drain()
        self.assertEqual([run[0] for run in self.runs()], ["of the backup"] * 2)

    def test_a_program_that_pushes_is_told(self):
        """One that has the old file open does not push into nothing."""
        self.push("0")
        pusher = subprocess.Popen([ORDO, "push", "orders", "--ndjson", "-"], cwd=self.folder, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(pusher.kill)
        pusher.stdin.write(json.dumps({"id": "1"}) + "\n")
        pusher.stdin.flush()
        self.until("it has pushed", lambda: self.stats()["length"] == 2)
        for file in self.folder.glob("ordo.db*"):
            file.unlink()
        _, errors = pusher.communicate(json.dumps({"id": "2"}) + "\n")
        self.assertNotEqual(pusher.returncode, 0)
        self.assertIn("was deleted or replaced while it was in use", errors)


class SlowDisk(Sqlite):
    """A library before the C library's makes each sync take as long as a file says."""

    def setUp(self):
        super().setUp()
        if not SLOW_DISK.exists():
            self.skipTest("the library that slows a disk down is not built")
        for node in range(2):
            self.write(f"sync_{node}", "0")
        self.answer_with_overlaps(0.3)

    def slow_down(self, ms, nodes=(0, 1)):
        for node in nodes:
            self.write(f"sync_{node}.new", str(ms))
            os.rename(self.folder / f"sync_{node}.new", self.folder / f"sync_{node}")

    def slow(self, node):
        return ("env", f"LD_PRELOAD={SLOW_DISK}", f"ORDO_SYNC_MS={self.folder / f'sync_{node}'}")

    def begin(self, lease_s):
        self.config(queue="shards = 4\nmax_retries = 3\n", node=f"threads = 4\nlease = '{lease_s}s'\n")
        nodes = [self.start(within=self.slow(node)) for node in range(2)]
        self.until("both have shards", lambda: [node["shards"] for node in self.json("nodes")] == [2, 2])
        self.ids = [f"{key}-{n}" for n in range(15) for key in range(8)]
        self.push_lines([{"id": i, "key": i.split("-")[0]} for i in self.ids])
        self.until("some ran", lambda: len(self.runs()) > 10)
        return nodes

    def renewals(self):
        """Of each node, as the file has them."""
        rows = (line.split("|") for line in self.sqlite("PRAGMA busy_timeout = 100000; SELECT id, renewals FROM node").splitlines()[1:])
        return {node: int(count) for node, count in rows}

    def judge(self):
        self.until("all is done", lambda: self.stats()["length"] == 0 and self.stats()["running"] == 0)
        self.assertFalse(self.overlaps.exists(), "two runs of one key at the same time")
        firsts = list(dict.fromkeys(run[0] for run in self.runs()))
        self.assertEqual(sorted(firsts), sorted(self.ids))
        for key in range(8):
            of_key = [i for i in firsts if i.startswith(f"{key}-")]
            self.assertEqual(of_key, sorted(of_key, key=lambda i: int(i.split("-")[1])))
        self.assertEqual(self.stats()["dead"], 0)

    def test_slow_syncs_cost_no_lease(self):
        nodes = self.begin(60)  # renewed every 3 s: only who cannot renew at all loses it
        self.slow_down(400)
        ran, before = len(self.runs()), self.renewals()
        self.until("runs go on", lambda: len(self.runs()) > ran + 10)
        for _ in range(2):
            self.until("leases are renewed", lambda: all(self.renewals()[node] > count for node, count in before.items()))
            before = self.renewals()
        self.slow_down(0)
        self.judge()
        self.assertEqual([node.poll() for node in nodes], [None, None], self.log())
        self.assertNotIn("runs are stopped", self.log())
        repeated = [i for i, count in collections.Counter(run[0] for run in self.runs()).items() if count > 1]
        self.assertEqual(repeated, [])

    def test_a_disk_that_stands_still_for_longer_than_the_lease(self):
        nodes = self.begin(2)
        self.slow_down(5000)
        self.until("runs are stopped in time", lambda: "are about to end" in self.log() or "lost" in self.log())
        self.slow_down(0)
        self.judge()
        self.assertEqual([node.poll() for node in nodes], [None, None], self.log())

    def test_a_node_that_is_stopped_inside_the_lock_is_killed(self):
        stopped, other = self.begin(3)
        self.slow_down(600_000, [0])
        self.until("it is in a sync", (self.folder / "sync_0.waits").exists)
        stopped.send_signal(signal.SIGSTOP)
        self.assertEqual(self.end_of(stopped), -signal.SIGKILL)
        self.judge()
        self.assertIsNone(other.poll(), self.log())


if __name__ == "__main__":
    unittest.main()
