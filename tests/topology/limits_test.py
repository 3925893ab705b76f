"""What a node cannot have: its worker's program, descriptors, processes, threads, memory."""
import json
import os
import pathlib
import random
import shutil
import signal
import stat
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from project import ORDO, Project  # noqa: E402

IS_MISSING = "jobs of kind 'orders' of queue 'orders' will not run on this node: "  # said at the start
CANNOT_START = "runs of kind 'orders' of queue 'orders' cannot be started on this node: "


class Limits(Project):
    store = "sqlite:"

    def config_of(self, name, command, queue="", node=""):
        self.write(name, f'store = "sqlite:ordo.db"\n[node]\n{node}\n[queue.orders]\ncommand = {json.dumps(command)}\n{queue}\n')

    def processed(self, count):
        self.until(f"{count} jobs have run", lambda: self.stats()["processed"] == count)

    def nothing_failed(self):
        """No attempt was counted, and no job buried."""
        stats = self.stats()
        self.assertEqual((stats["failed"], stats["dead"]), (0, 0))
        self.assertEqual({run[2] for run in self.runs()} - {-1}, set())

    def ran_once(self, ids):
        self.assertEqual(sorted(run[0] for run in self.runs()), sorted(ids))

    def errors(self):
        """Of runs: what a start says of programs that are not there comes before them."""
        lines = [line for line in self.log().splitlines() if " error " in line]
        return [line for line in lines if "will not run on this node" not in line]


class Programs(Limits):
    def test_a_node_without_the_program_leaves_the_jobs_to_another(self):
        queue = "shards = 4\nmax_retries = 0\n"
        self.config_of("ordo.toml", ["python3", "-B", "worker.py"], queue, "threads = 2")
        self.config_of("broken.toml", ["./missing"], queue, "threads = 2")
        self.start("--config", "broken.toml")
        self.until("it has the shards", lambda: [node["shards"] for node in self.json("nodes")] == [4])
        ids = [str(i) for i in range(300)]
        self.push_lines([{"id": i, "key": str(int(i) % 40)} for i in ids])
        self.until("it says so", lambda: IS_MISSING in self.log())
        self.start()
        self.processed(300)
        self.nothing_failed()
        self.ran_once(ids)
        keys = {}
        for run in self.runs():
            keys.setdefault(int(run[0]) % 40, []).append(int(run[0]))
        self.assertEqual([key for key, order in keys.items() if order != sorted(order)], [])
        self.assertEqual(self.errors(), [])
        self.assertIn('cannot run the command "./missing": No such file or directory (is it installed', self.log())

    def test_jobs_wait_for_a_program_that_comes_later(self):
        self.config_of("ordo.toml", ["./later"], "max_retries = 0\n", "threads = 3")
        self.start()
        self.push_lines([{"id": str(i)} for i in range(20)])
        self.until("it says so", lambda: IS_MISSING in self.log())
        stats = self.stats()
        self.assertEqual(stats["length"] + stats["running"], 20)
        failing = lambda: [[(kind["queue"], kind["kind"], "No such file" in kind["why"]) for kind in node["cannot_start"]]
                           for node in self.json("stats").get("failing_nodes", [])]
        self.until("stats say so", lambda: failing() == [[("orders", "orders", True)]])
        self.assertIn("cannot start kind 'orders' of queue 'orders': cannot run the command", self.ordo("stats").stdout)
        self.write("later", "#!/bin/sh\nexec python3 -B worker.py\n")
        self.assertEqual(self.stats()["processed"], 0)  # found, and still not to be run
        os.chmod(self.folder / "later", 0o755)
        self.processed(20)
        self.until("stats say so", lambda: failing() == [])
        self.nothing_failed()
        self.assertEqual(self.errors(), [])

    def test_a_third_node_without_the_code_buries_nothing(self):
        """The only node with the code cannot start it: for the others it has the code still."""
        self.config_of("ordo.toml", ["./missing"], "shards = 2\nmax_retries = 0\n")
        self.config_of("other.toml", ["true"], "shards = 2\nmax_retries = 0\n")
        text = (self.folder / "other.toml").read_text()
        self.write("other.toml", text.replace('command = ["true"]', "") + '[queue.orders.kind.else]\ncommand = ["true"]\n')
        self.start()
        self.start("--config", "other.toml")
        self.until("both have a shard", lambda: [node["shards"] for node in self.json("nodes")] == [1, 1])
        self.push_lines([{"id": str(i)} for i in range(20)])
        self.until("it says so", lambda: IS_MISSING in self.log())
        self.write("missing", "#!/bin/sh\nexec python3 -B worker.py\n")
        os.chmod(self.folder / "missing", 0o755)
        self.processed(20)
        self.nothing_failed()

    def test_nonsense_is_not_started_without_a_pause_and_stands_in_no_log(self):
        self.write("nonsense", "#!/bin/sh\necho >>starts; read line; echo \"{\\\"ok\\\":$line\"\n")
        os.chmod(self.folder / "nonsense", 0o755)
        self.config_of("ordo.toml", ["./nonsense"], "retry = { strategy = \"fixed\", delay = \"0s\" }\nmax_retries = 0\n", "threads = 4")
        self.start()
        self.push_lines([{"id": str(i), "payload": "a secret"} for i in range(400)])
        starts = lambda: len((self.folder / "starts").read_text()) if (self.folder / "starts").exists() else 0
        self.until("pauses are made", lambda: CANNOT_START in self.log())
        first = starts()
        self.assertLess(first, 200)  # with pauses of 10 s in the end that takes more than half an hour
        self.until("it is tried again", lambda: starts() > first)
        self.assertNotIn("secret", self.log())


class Descriptors(Limits):
    def test_the_pool_shrinks_to_what_can_run(self):
        self.config_of("ordo.toml", ["python3", "-B", "worker.py"], "shards = 8\nmax_retries = 0\n", "threads = 40")
        self.answer("time.sleep(0.02)\nreturn {'ok': True}")
        ids = [str(i) for i in range(800)]
        self.push_lines([{"id": i} for i in ids])
        self.start(within=("prlimit", "--nofile=128:128"))
        self.processed(800)
        self.nothing_failed()
        self.ran_once(ids)
        self.assertEqual(len(self.errors()), 1, self.errors())
        self.assertIn("Too many open files (the limit of open files is reached: ulimit -n)", self.errors()[0])
        self.assertRegex(self.log(), r"warning .*40 worker processes need \d+ open files, and the limit is 128")

    def test_a_soft_limit_is_raised(self):
        self.config_of("ordo.toml", ["python3", "-B", "worker.py"], "", "threads = 40")
        self.push("1")
        self.start(within=("prlimit", "--nofile=128:4096"))
        self.processed(1)
        self.assertNotIn("open files", self.log())


class Processes(Limits):
    """As a user who runs nothing else: root has no such limit."""

    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest("needs root to become another user")
        self.user = random.SystemRandom().randrange(200_000, 2_000_000_000)
        self.ordo_copy = shutil.copy(ORDO, self.folder)  # the build may lie where others cannot look

    def limited(self, processes):
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, self.user, self.user)
        return ("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "prlimit", f"--nproc={processes}:{processes}")

    def test_threads_that_cannot_be_started_are_one_error(self):
        for threads, processes in ((50, 20), (5, 8), (5, 6), (5, 4)):
            with self.subTest(threads=threads, processes=processes):
                self.config_of("ordo.toml", ["python3", "-B", "worker.py"], "", f"threads = {threads}")
                (self.folder / "node.log").unlink(missing_ok=True)
                node = self.start(within=self.limited(processes))
                self.assertEqual(self.end_of(node), 1, self.log())
                told = [line for line in self.log().splitlines() if line.startswith("ordo: ")]
                self.assertEqual(len(told), 1, self.log())
                self.assertIn("cannot start a thread: Resource temporarily unavailable; raise the limit of processes", told[0])
                self.assertEqual(self.json("nodes"), [], "it is not registered any more")

    def test_jobs_wait_for_processes(self):
        self.config_of("ordo.toml", ["python3", "-B", "worker.py"], "max_retries = 0\n", "threads = 8")
        self.answer("time.sleep(0.02)\nreturn {'ok': True}")
        self.push_lines([{"id": str(i)} for i in range(100)])
        self.start(within=self.limited(24))  # about 16 threads, and each worker is two processes
        self.processed(100)
        self.nothing_failed()
        self.assertLessEqual(len(self.errors()), 1, self.errors())


class Memory(Limits):
    def test_too_little_is_an_error_and_never_a_fault(self):
        self.config_of("ordo.toml", ["python3", "-B", "worker.py"], "", "threads = 5")
        self.push_lines([{"id": str(i), "payload": "x" * 10_000} for i in range(3000)])
        ended = {}
        for mebibytes in (20, 40, 60, 80, 100, 120, 150, 180, 220, 260, 280, 290, 300, 320):
            (self.folder / "node.log").unlink(missing_ok=True)
            node = self.start(within=("prlimit", f"--as={mebibytes << 20}"))
            # With just enough for itself it goes on, and its programs may never start: it says so, and others get the jobs.
            self.until(f"{mebibytes} MiB are enough or not: {ended}",
                       lambda node=node: node.poll() is not None or self.errors() or self.stats()["processed"] == 3000)
            node.terminate()
            code = ended[mebibytes] = self.end_of(node)
            self.assertIn(code, (0, 1, 127), f"{mebibytes} MiB: {self.log()}")
            if code == 1:
                self.assertTrue(any(line.startswith("ordo: ") for line in self.log().splitlines()), f"{mebibytes} MiB: {self.log()}")
            if self.stats()["processed"] == 3000:
                break
        self.assertIn(1, ended.values(), ended)
        self.drain()
        self.nothing_failed()


class Stopped(Limits):
    def test_a_stopped_worker_is_timed_out(self):
        # On a busy machine others may be timed out, too: a shell starts soon, and is tried again.
        rules = "max_retries = 1000\ntimeout = '2s'\nretry = { strategy = \"fixed\", delay = \"0s\" }\n"
        self.config_of("ordo.toml", ["sh", "worker.sh"], rules, "threads = 1")
        self.write("worker.sh", """while read -r line; do
  [ -e stopped ] || { touch stopped; kill -STOP $$; echo "it went on" >&2; }
  echo '{"ok":true}'
done
""")
        self.push("1")
        self.start()
        self.processed(1)
        self.assertTrue((self.folder / "stopped").exists())
        self.assertGreaterEqual(self.stats()["failed"], 1)
        self.assertNotIn("it went on", self.log())

    def test_a_stopped_guard_does_not_keep_its_node(self):
        self.config(queue="timeout = '1s'\nmax_retries = 0\n", node="threads = 1")
        self.answer("os.kill(os.getppid(), signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGSTOP)")
        self.push("1")
        node = self.start()
        self.until("it is timed out", lambda: self.stats()["dead"] == 1)
        node.terminate()
        self.assertEqual(self.end_of(node), 0)


if __name__ == "__main__":
    unittest.main()
