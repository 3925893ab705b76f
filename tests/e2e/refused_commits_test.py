"""Shards whose commits the store refuses, for whatever reason: a damaged page, a trigger, a value that is too large."""
import contextlib
import sqlite3
import unittest

from project import Project

REFUSED = "BEFORE UPDATE OF batch ON shard"


class RefusedCommits(Project):
    @contextlib.contextmanager
    def refusing(self, when=""):
        with contextlib.closing(sqlite3.connect(self.folder / "ordo.db", timeout=60)) as file:
            file.execute(f"CREATE TRIGGER refused {REFUSED} {when} BEGIN SELECT RAISE(ABORT, 'this page is damaged'); END")
            yield file
            file.execute("DROP TRIGGER IF EXISTS refused")

    def shard_of(self, queue):
        with contextlib.closing(sqlite3.connect(self.folder / "ordo.db", timeout=60)) as file:
            return file.execute("SELECT number << 16 FROM queue WHERE name = ?", (queue,)).fetchone()[0]

    def test_one_of_them_holds_up_no_other(self):
        self.config(queue="shards = 2", more='[queue.bad]\nshards = 1\ncommand = ["python3", "-B", "worker.py"]')
        self.push("1", queue="bad")
        with self.refusing(f"WHEN NEW.id = {self.shard_of('bad')}"):
            node = self.start()
            self.until("it says which it is", lambda: "cannot commit what has ended" in self.log())
            self.push_lines([{"id": str(number)} for number in range(100)])
            self.until_stats(processed=100, length=0)
            self.until("it says which it is", lambda: "shard 0 of queue 'bad': " in self.log())
            failing = lambda: [node["commit_error"] for node in self.json("stats").get("failing_nodes", [])]
            self.until("its row says so, too", lambda: any("shard 0 of queue 'bad': " in error for error in failing()))
            self.assertEqual(self.stats("bad")["processed"], 0)
        self.until_stats("bad", processed=1)
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual(sum(job == "1" for job, *_ in self.runs()), 2, "of each queue, once")

    def test_a_node_whose_runs_wait_for_their_marks_ends_when_it_is_told_to(self):
        """Behind a crash each run waits for a commit before its start."""
        self.answer("while True: time.sleep(1)")
        self.config(queue="shards = 1", node="threads = 1\nlease = '60s'\nshutdown_timeout = '1s'")
        first = self.start()
        self.push("1")
        self.until("it runs", self.requests)
        first.kill()
        first.wait()
        with self.refusing():
            second = self.start()
            self.until("nothing can be written", lambda: "cannot commit what has ended" in self.log())
            second.terminate()
            self.assertEqual(self.end_of(second), 0)
        self.assertEqual(len(self.requests()), 1)


if __name__ == "__main__":
    unittest.main()
