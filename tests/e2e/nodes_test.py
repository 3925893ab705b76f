"""Several nodes on one store: runs lent to idle ones, shards that move with their running jobs, placement groups."""
import collections
import json
import os
import pathlib
import signal
import time
import unittest
import zlib

from project import Project

# Tells which node (the parent of the worker's guard) starts the job, and waits for the test to let it end.
GATED = """
node = int(open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[1])
with open("starts", "a") as starts:
    starts.write(json.dumps([node, request["jobs"][0]["id"]]) + "\\n")
end = time.monotonic() + 600
while not pathlib.Path("open").exists() and time.monotonic() < end:
    time.sleep(0.02)
with open("ends", "a") as ends:
    ends.write(request["jobs"][0]["id"] + "\\n")
return {"ok": True}
"""

# Notes who runs each job, and whether an earlier run of it still goes on.
WATCHFUL = """
node = int(open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[1])
job = request["jobs"][0]["id"]
if pathlib.Path("starts").exists():
    for line in pathlib.Path("starts").read_text().splitlines():
        _, other, pid = json.loads(line)
        stat = pathlib.Path(f"/proc/{pid}/stat")
        if other == job and pid != os.getpid() and stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            with open("overlaps", "a") as overlaps:
                overlaps.write(line + "\\n")
with open("starts", "a") as starts:
    starts.write(json.dumps([node, job, os.getpid()]) + "\\n")
end = time.monotonic() + 600
while not pathlib.Path("open").exists() and time.monotonic() < end:
    time.sleep(0.02)
return {"ok": True}
"""


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Nodes(Project):
    def setUp(self):
        super().setUp()
        self.answer(GATED.strip())

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def starts(self):
        return [tuple(json.loads(line)) for line in self.lines("starts")]

    def started(self, count):
        """The first `count` starts, once there are as many."""
        self.until(f"{count} jobs started", lambda: len(self.starts()) >= count)
        return self.starts()

    def start_nodes(self, count):
        nodes = [self.start() for _ in range(count)]
        self.until("all nodes are there", lambda: len(self.json("nodes")) == count)
        return nodes

    def open_gate(self, processed):
        self.write("open", "")
        self.until("all jobs have ended", lambda: self.stats()["processed"] == processed)

    def shards(self):
        return {node["pid"]: node["shards"] for node in self.json("nodes")}

    @staticmethod
    def id_in_shard(shard, shards, nth=0):
        found = [i for i in map(str, range(1000)) if zlib.crc32(i.encode()) % shards == shard]
        return found[nth]

    def test_no_node_is_idle_while_jobs_wait(self):
        self.config(queue="shards = 1\n", node="threads = 2\n")
        nodes = self.start_nodes(3)
        self.push_lines([{"id": str(i)} for i in range(8)])
        starts = self.started(6)
        self.assertEqual(collections.Counter(node for node, _ in starts), {node.pid: 2 for node in nodes},
                         "every thread of every node has a job, although one node owns the only shard")
        self.until("the counts say so", lambda: self.stats()["running"] == 6)
        self.open_gate(8)
        self.assertEqual(sorted(job for _, job in self.starts()), [str(i) for i in range(8)], "each job ran once")

    def test_a_shard_moves_with_its_running_job(self):
        self.config(queue="shards = 2\n")
        first = self.start_nodes(1)[0]
        running = [self.id_in_shard(0, 2), self.id_in_shard(1, 2)]
        self.push_lines([{"id": job} for job in running])
        self.started(2)
        second = self.start()
        self.until("the shards are shared", lambda: self.shards() == {first.pid: 1, second.pid: 1})
        # The key of a running job stays taken, wherever its shard is; other keys go on.
        self.push_lines([{"id": f"next-{job}", "key": job} for job in running])
        others = [self.id_in_shard(0, 2, 1), self.id_in_shard(1, 2, 1)]
        self.push_lines([{"id": job} for job in others])
        self.assertEqual(sorted(job for _, job in self.started(4)), sorted(running + others))
        self.until("the counts say so", lambda: self.stats()["running"] == 4)
        self.assertEqual(self.lines("ends"), [])
        self.open_gate(6)
        ends = self.lines("ends")
        self.assertEqual(len(ends), 6, "each job ran once")
        for job in running:
            self.assertLess(ends.index(job), ends.index(f"next-{job}"))

    def test_a_clean_stop_hands_over_at_once_and_lets_runs_end(self):
        self.config(queue="shards = 1\n", node='shutdown_timeout = "10m"\n')
        first = self.start_nodes(1)[0]
        self.push("1")
        self.started(1)
        second = self.start()
        self.until("it is there", lambda: len(self.json("nodes")) == 2)
        first.terminate()
        self.until("the shard is handed over", lambda: self.shards().get(second.pid) == 1)
        self.push("2")
        self.assertEqual(self.started(2)[1], (second.pid, "2"))
        self.assertIsNone(first.poll(), "it waits for its job")
        self.open_gate(2)
        self.assertEqual(self.end_of(first), 0)
        self.assertEqual(sorted(job for _, job in self.starts()), ["1", "2"])

    def test_the_jobs_of_a_killed_borrower_run_again(self):
        self.config(queue="shards = 1\n", node="threads = 1\n")
        owner = self.start("-o", "node.lease=1h")
        self.until("it owns the shard", lambda: self.shards() == {owner.pid: 1})
        borrower = self.start("-o", "node.lease=5s")  # only of this one the end of a lease is waited for
        self.until("both are there", lambda: self.shards() == {owner.pid: 1, borrower.pid: 0})
        self.push_lines([{"id": "1"}, {"id": "2"}])
        [lost] = [job for node, job in self.started(2) if node == borrower.pid]
        borrower.kill()
        self.open_gate(2)
        self.assertEqual(self.starts()[2:], [(owner.pid, lost)])

    def test_a_quiet_node_lends_what_it_does_not_take(self):
        self.config(queue="shards = 1\n")
        self.start_nodes(2)
        owner = self.owner()
        self.ordo("nodes", "quiet", owner["id"])
        self.until("it knows", lambda: "asked to take no more jobs" in self.log())
        self.push("1")
        self.assertNotEqual(self.started(1)[0][0], owner["pid"])
        self.open_gate(1)

    def test_a_cancel_reaches_a_lent_job(self):
        self.config(queue="shards = 1\n", node="threads = 1\n")
        self.start_nodes(2)
        self.push_lines([{"id": "1"}, {"id": "2"}])
        owner = self.owner()["pid"]
        lent = next(job for node, job in self.started(2) if node != owner)
        self.ordo("job", "orders", lent, "cancel")
        self.until("it is gone", lambda: [job["id"] for job in self.json("jobs", "orders")] == [str(3 - int(lent))])
        self.open_gate(1)

    def test_queues_of_a_group_are_on_one_node_and_their_jobs_on_all(self):
        group = 'group = "shop"\n'
        self.config(queue="shards = 2\n" + group, node="threads = 1\n",
                    more='[queue.mail]\nshards = 3\n' + group + 'command = ["python3", "-B", "worker.py"]\n')
        nodes = self.start_nodes(2)
        self.until("one node has all", lambda: sorted(self.shards().values()) == [0, 5])
        self.push("1")
        self.push("2", queue="mail")
        self.assertEqual({node for node, _ in self.started(2)}, {node.pid for node in nodes})
        self.until("the nodes say so", lambda: sorted(node["groups"] for node in self.json("nodes")) == [[], [["mail", "orders"]]])
        self.assertIn("mail, orders", self.ordo("nodes").stdout)
        self.open_gate(1)

    @unittest.skipUnless(os.environ.get("ORDO_E2E_STORE") in ("redis:", "postgres:"), "there is no server to lose")
    def test_who_cannot_renew_stops_its_runs_in_time_and_goes_on_later(self):
        self.config(node='lease = "3s"\n')
        [node] = self.start_nodes(1)
        self.push("1")
        self.started(1)
        self.server.kill()
        self.until("the run is put back", lambda: "1 running batch is stopped and put back" in self.log())
        self.server.start()
        self.started(2)
        self.open_gate(1)
        self.assertIsNone(node.poll(), "it had no reason to leave")
        self.assertEqual(self.lines("ends"), ["1"], "the first run was stopped")

    def test_nodes_that_were_frozen_for_longer_than_their_lease_go_on(self):
        for frozen in ("nodes", "everything"):
            with self.subTest(frozen):
                self.frozen(everything=frozen == "everything")
                self.end_nodes()
                self.nodes.clear()

    def frozen(self, everything):
        self.answer(WATCHFUL.strip())
        for name in ("open", "starts", "overlaps"):
            (self.folder / name).unlink(missing_ok=True)
        self.config(queue="shards = 4\n", node='threads = 2\nlease = "1s"\n')
        nodes = self.start_nodes(2)
        before = self.stats()["processed"] if "orders" in self.json("stats")["by_queue"] else 0
        self.push_lines([{"id": str(i)} for i in range(8)])
        # A lease that ends on a busy machine lets runs begin anew.
        at_work = lambda: {json.loads(line)[0] for line in self.lines("starts")}
        self.until("both have runs under way", lambda: len(self.lines("starts")) >= 4 and len(at_work()) == 2)
        # A stopped node's guards end its workers; what is frozen whole is ended when it wakes up.
        stopped = [pid for node in nodes for pid in ([*self.children(node.pid)] if everything else []) + [node.pid]]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        if everything:
            time.sleep(2.5)  # that the lease is over cannot be seen from outside
        else:
            workers = [json.loads(line)[2] for line in self.lines("starts")]
            self.until("the guards end the workers", lambda: not any(map(is_alive, workers)))
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        self.write("open", "")
        self.until("all jobs have ended", lambda: self.stats()["processed"] == before + 8)
        self.assertEqual([node.poll() for node in nodes], [None, None], "none had a reason to leave")
        self.assertEqual(self.lines("overlaps"), [])

    def children(self, pid):
        """All processes below it, deepest first."""
        for task in (pathlib.Path("/proc") / str(pid) / "task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield from self.children(child)
                yield child


if __name__ == "__main__":
    unittest.main()
