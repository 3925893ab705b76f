"""A look costs the index and the rows that are shown, whether an owner lives or not: 100,000 jobs of 2 kB."""
import json
import os
import pathlib
import resource
import subprocess
import unittest

from project import ORDO, Project

JOBS = 100_000
PAYLOAD = "x" * 2000  # 200 MB in all
MOST_MB = 100  # what a look takes; the program alone has about 40
LIMIT = 1 << 30  # of its address space, libraries and stacks included
FAR = "9999-01-01T00:00:00Z"  # what waits is to wait


class LookMemory(Project):
    store = "sqlite:"

    def look(self, *arguments):
        """The file that it printed to; it was not killed, and its peak is within the bound."""
        with open(self.folder / "out", "wb") as out, open(self.folder / "error", "wb") as error:
            process = subprocess.Popen([ORDO, *arguments], cwd=self.folder, stdout=out, stderr=error, env=self.environment(),
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)))
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, f"{arguments}: {(self.folder / 'error').read_text()[:1000]}")
        self.assertLess(usage.ru_maxrss / 1024, MOST_MB, arguments)
        return self.folder / "out"

    def shown(self, *arguments):
        return json.loads(self.look(*arguments, "--json").read_text())

    def looks(self, queue):
        listed = self.shown("jobs", queue, "--limit", "20")
        self.assertEqual([len(job["payloads"][0]["v"]) for job in listed], [len(PAYLOAD)] * 20)
        self.assertEqual(len({job["id"] for job in listed}), 20)
        again = self.shown("jobs", queue, "--limit", "1000", "--sort", "id", "--desc")
        self.assertEqual([job["id"] for job in again], sorted((f"{number:06}" for number in range(JOBS - 1000, JOBS)), reverse=True))
        for arguments in (["jobs", queue, "--id", "000007"], ["job", queue, "000007", "show"]):
            job, = self.shown(*arguments)
            self.assertEqual((job["id"], job["payloads"]), ("000007", [{"v": PAYLOAD, "n": 7}]))
        self.assertEqual(self.shown("jobs", queue, "--error", "no such"), [])
        self.assertEqual(self.shown("stats", queue)["by_queue"][queue]["length"], JOBS)
        self.look("doctor")
        with open(self.look("jobs", queue, "export"), "rb") as exported:
            self.assertEqual(sum(1 for _ in exported), JOBS)

    def peak_mb(self, node):
        status = pathlib.Path(f"/proc/{node.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    def check(self, shards):
        self.config(f"shards = {shards}", node='payload_cache = "16MiB"')
        # Through a file: what this process holds would count as its children's.
        with open(self.folder / "jobs.ndjson", "w", encoding="ascii") as lines:
            for number in range(JOBS):
                lines.write(f'{{"id":"{number:06}","payload":{{"v":"{PAYLOAD}","n":{number}}},"run_at":"{FAR}"}}\n')
        self.ordo("push", "orders", "--ndjson", "jobs.ndjson")
        self.looks("orders")
        node = self.start()
        self.push("runs", 1)
        self.until("all that waits was read", lambda: self.stats()["processed"] == 1)
        self.until("every shard has an owner", lambda: sum(node["shards"] for node in self.json("nodes")) == shards)
        before = self.peak_mb(node)
        self.looks("orders")
        self.assertIsNone(node.poll())
        self.assertLess(self.peak_mb(node) - before, 30, "nor does it cost its owner much")

    def test_a_large_shard_is_rebuilt(self):
        self.check(shards=1)

    def test_owners_of_many_shards_answer(self):
        self.check(shards=16)


if __name__ == "__main__":
    unittest.main()
