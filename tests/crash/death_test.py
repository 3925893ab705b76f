"""The death of a node: who takes over when, what becomes of its workers, and a job that kills its nodes."""
import itertools
import os
import unittest

from cluster import PLUGIN, Cluster, servers

STORE = os.environ.get("ORDO_CRASH_STORE", "sqlite:")
# In a file a free lock means dead: nobody waits for a lease, so that it may be an hour. Behind a connection
# a dead node is like one that is silent.
AT_ONCE = STORE.startswith("sqlite:")
LEASE_MS = 3_600_000 if AT_ONCE else 1500
QUEUE = 'retry = { strategy = "fixed", delay = "0s" }'


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Death(unittest.TestCase):
    def cluster(self, lease_ms, queue=QUEUE):
        self.passed = False
        cluster = Cluster(STORE, lease_ms, queue, servers.FAILING_OVER if STORE == "redis-cluster:" else None)
        self.addCleanup(lambda: cluster.close(keep=not self.passed))
        return cluster

    def starts(self, cluster, key="long", **more):
        return cluster.seen("start", key=key, **more)

    def wait_for_empty(self, cluster):
        cluster.until("everything is done", lambda: cluster.unfinished() == 0)

    def ends(self, cluster):
        return [end["run"] for end in cluster.seen("end")]

    def stop_in_a_run(self, cluster, is_thread=False, **payload):
        """Two nodes, the first of which was stopped in the middle of a run, and the start of that."""
        nodes = [cluster.start(is_thread), cluster.start(is_thread)]
        cluster.until("both are members", lambda: len(cluster.json("nodes")) == 2)
        for n in itertools.count():
            key = f"long{n}"
            cluster.push("fifo", key, 1, **payload)
            run = cluster.until("it runs", lambda key=key: self.starts(cluster, key))[0]
            stopped, other = sorted(nodes, key=lambda node: node.name != run["node"])
            cluster.send(stopped, "stop")
            if run["run"] not in self.ends(cluster):
                return stopped, other, run
            cluster.send(stopped, "cont")  # the machine was too busy for us: once more

    def processed_once(self, cluster):
        """Each job was counted once, however often it has run."""
        self.wait_for_empty(cluster)
        jobs = {start["key"] for start in cluster.seen("start")}
        self.assertEqual(cluster.json("stats")["total"]["processed"], len(jobs))

    def lapses(self, cluster):
        """How often a node could not renew in time: behind a connection that is taken for a death (docs/retry.md)."""
        logs = [log.read_text(errors="replace") for log in cluster.folder.glob("n*.log")]
        return sum(text.count("the leases could not be renewed") for text in logs)

    def test_the_next_node_takes_over(self):
        cluster = self.cluster(LEASE_MS)
        cluster.push("fifo", "long", 1, ms=600_000)
        first = cluster.start()
        cluster.until("it runs", lambda: self.starts(cluster))
        cluster.kill(first)
        second = cluster.start()
        cluster.until("a new node has taken over", lambda: self.starts(cluster, node=second.name))
        third = cluster.start()
        pids = {second.process.pid, third.process.pid}
        cluster.until("the third is a member, the first forgotten", lambda: {node["pid"] for node in cluster.json("nodes")} == pids)
        cluster.kill(second)
        run = cluster.until("a living node has taken over",
                            lambda: self.starts(cluster, node=third.name))[0]
        fences = [start["fence"] for start in self.starts(cluster)]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(run["retry"], -1)
        self.passed = True

    def test_the_workers_of_a_killed_node_die(self):
        cluster = self.cluster(3_600_000)  # nobody takes over
        for n in range(3):
            cluster.push("fifo", f"long{n}", 1, ms=600_000)
        node = cluster.start()
        cluster.until("all run", lambda: len(cluster.seen("start")) == 3)
        pids = {start["pid"] for start in cluster.seen("start")}
        self.assertEqual([is_alive(pid) for pid in pids], [True] * 3)
        cluster.kill(node)
        cluster.until("their guards have killed them", lambda: not any(map(is_alive, pids)))
        self.passed = True

    def test_the_workers_of_a_stopped_node_die_and_another_node_runs_their_jobs(self):
        cluster = self.cluster(2000)
        stopped, other, run = self.stop_in_a_run(cluster, ms=600_000, gate="open")
        again = cluster.until("it runs on the other node", lambda: self.starts(cluster, run["key"], node=other.name))[0]
        self.assertGreater(again["fence"], run["fence"])
        self.assertEqual(again["retry"], -1)
        cluster.until("its guard has killed the first", lambda: not is_alive(run["pid"]))
        cluster.send(stopped, "cont")
        (cluster.folder / "open").touch()
        self.processed_once(cluster)
        self.assertNotIn(run["run"], self.ends(cluster))
        self.passed = True

    @unittest.skipUnless(PLUGIN.exists(), "the recorder is not built")
    def test_a_stopped_owner_cannot_write_after_its_successor(self):
        """Its run is a thread of its own, so it does end, late: with a lower fence, and for nothing."""
        cluster = self.cluster(2000)
        stopped, other, run = self.stop_in_a_run(cluster, True, ms=3000)
        again = cluster.until("it runs on the other node", lambda: self.starts(cluster, run["key"], node=other.name))[0]
        self.assertGreater(again["fence"], run["fence"])
        cluster.send(stopped, "cont")
        self.processed_once(cluster)
        self.assertTrue(set(self.ends(cluster)) - {run["run"]}, "its successor's run has ended")
        self.passed = True

    def test_a_job_that_kills_its_node_dies_and_its_neighbours_do_not(self):
        """Marks begin after the first unclean take-over: one with the neighbours, then alone."""
        cluster = self.cluster(LEASE_MS, QUEUE + "\nmax_crashes = 3")
        for n in range(20):
            cluster.push("fifo", f"good{n}", 1, ms=300)
        cluster.push("fifo", "poison", 1, poison=1)
        for n in range(20, 40):
            cluster.push("fifo", f"good{n}", 1, ms=300)
        deaths, most = 0, 0
        node = cluster.start()

        def died_or_done():
            return node.process.poll() is not None or cluster.unfinished() == 0

        while True:
            cluster.until("its node dies, or all is done", died_or_done)
            if node.process.poll() is None:
                break
            self.assertEqual(node.process.returncode, -9, node.log_text()[-2000:])
            deaths += 1
            self.assertLessEqual(deaths, 8 + self.lapses(cluster), "the poison goes on killing")
            cluster.nodes.remove(node)
            crashes = {job["id"]: job["crashes"] for job in cluster.json("jobs", "fifo", "--limit", "100")}
            most = max([most, *(count for job, count in crashes.items() if job != "poison")])
            node = cluster.start()
        dead = cluster.json("dead", "fifo", "list")
        self.assertEqual([(job["id"], job["error_kind"], job["crashes"]) for job in dead],
                         [("poison", "crash", 3)])
        lapses = self.lapses(cluster)  # each may have ended a run of the poison before it killed, and excuses one mark
        self.assertLessEqual(deaths, len(self.starts(cluster, "poison")))
        self.assertGreaterEqual(deaths + lapses, len(self.starts(cluster, "poison")))
        self.assertLessEqual(deaths, 5 + lapses)
        self.assertLessEqual(most, 1 + lapses, "a neighbour was taken for the poison")
        good = {run["key"] for run in cluster.seen("start")} - {"poison"}
        self.assertEqual(len(good), 40)
        self.assertEqual(cluster.json("stats")["by_queue"]["fifo"]["processed"], 40)
        self.passed = True


if __name__ == "__main__":
    unittest.main()
