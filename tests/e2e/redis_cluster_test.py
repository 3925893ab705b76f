"""Nodes and producers on a Redis Cluster whose slots move, whose masters die, and one of which is silent."""
import collections
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

from project import ORDO, Project, server_of
import servers  # (project knows where it is)

SHARDS = 6
KEYS = 24


class Cluster(Project):
    store = "none of the suite's"

    def setUp(self):
        super().setUp()
        self.stop = threading.Event()
        self.pushed = collections.defaultdict(list)   # key: ids that were acknowledged, in order
        self.tried = collections.defaultdict(list)
        self.acknowledged = 0
        self.errors = []

    def cluster(self, lease="60s", **more):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-cluster-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.server = servers.RedisCluster(folder / "server", **more)
        self.addCleanup(self.server.close)
        self.server.start()
        self.config(queue=f"shards = {SHARDS}\n", node=f"threads = 2\nlease = '{lease}'\n")

    def produce(self):
        """Pushes one after the other until it is told to stop; what fails is not pushed again."""
        number = 0
        while not self.stop.is_set():
            jobs = [{"id": f"{n}", "key": f"k{n % KEYS}"} for n in range(number, number + 10)]
            number += 10
            for job in jobs:
                self.tried[job["key"]].append(job["id"])
            done = subprocess.run([ORDO, "push", "orders", "--ndjson", "-"], cwd=self.folder, capture_output=True,
                                  input="\n".join(map(json.dumps, jobs)).encode(), env=self.environment(), check=False)
            if done.returncode == 0:
                for job in jobs:
                    self.pushed[job["key"]].append(job["id"])
                self.acknowledged += 10
            else:
                self.errors.append(done.stderr.decode())

    def begin(self, nodes=2):
        nodes = [self.start() for _ in range(nodes)]
        self.until("all nodes are there", lambda: len(self.json("nodes")) == len(nodes))
        self.producer = threading.Thread(target=self.produce)
        self.producer.start()
        self.addCleanup(self.producer.join)
        self.addCleanup(self.stop.set)
        self.reach(50)
        return nodes

    def reach(self, more):
        """Waits until so many more are acknowledged and as many more have run."""
        wanted, ran = self.acknowledged + more, len(self.runs()) + more
        self.until(f"{more} more are pushed", lambda: self.acknowledged >= wanted)
        self.until(f"{more} more have run", lambda: len(self.runs()) >= ran)

    def end(self, nodes):
        """What was acknowledged has run, once and in the order of its key, on nodes that nobody started again."""
        self.stop.set()
        self.producer.join()
        self.until("all is done", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        ran = collections.defaultdict(list)
        for request in self.requests():
            for job in request["jobs"]:
                ran[job["key"]].append(job["id"])
        for key, ids in self.tried.items():
            kept = set(ran[key]) | set(self.pushed[key])
            self.assertEqual(ran[key], [i for i in ids if i in kept], key)
        for node in nodes:
            self.assertIsNone(node.poll(), "the nodes go on")

    def places(self):
        """Of the slots: the registry's and those of the shards."""
        registry = self.server.master_of(self.server.slot_of("ordo"))
        [queue] = registry.ask("HVALS", "ordo:{ordo}:queues")
        return ["ordo", *(f"{queue.split(':')[0]}:{shard}" for shard in range(SHARDS))]

    def test_slots_move_while_nodes_work(self):
        self.cluster()
        nodes = self.begin()
        for place in self.places() * 2:
            slot = self.server.slot_of(place)
            masters = self.server.masters()
            at = masters.index(self.server.master_of(slot))
            move = self.server.begin_move(slot, masters[(at + 1) % len(masters)])
            self.server.move_keys(move, 2)
            if place != "ordo":  # which `ordo push` asks for the queue, in steps of several keys
                before = self.acknowledged
                self.until("pushes go on while it moves", lambda before=before: self.acknowledged > before)
            self.server.end_move(move)
            self.assertIs(self.server.master_of(slot), move[2])
        self.reach(100)
        self.end(nodes)
        self.assertEqual(self.errors, [])

    def test_commands_of_the_operator(self):
        self.cluster()
        nodes = self.begin()
        said = self.ordo("doctor").stdout
        self.assertIn("3 masters", said)
        for shards in (11, SHARDS):
            result = self.json("reshard", "orders", str(shards))
            self.assertEqual(result["to"], shards)
            self.reach(50)
        self.until("all shards have a node", lambda: sum(node["shards"] for node in self.json("nodes")) == SHARDS)
        self.end(nodes)
        for node in nodes:
            node.terminate()
            self.assertEqual(self.end_of(node), 0)
        self.push_lines([{"id": str(n), "key": f"k{n % KEYS}", "run_at": "+1h"} for n in range(500)])
        self.ordo("copy", self.server.direct, "sqlite:copy.db")
        self.server.empty()
        self.ordo("copy", "sqlite:copy.db", self.server.direct)
        self.assertEqual(self.stats()["scheduled"], 500)

    def test_a_source_takes_nothing_that_it_cannot_store(self):
        self.cluster()
        origin = server_of("redis:")
        origin.empty()
        origin.ask("LPUSH", "queue:default", '{"class":"A","args":[]}')
        self.config(more=f'[source.rails]\ntype = "sidekiq"\nurl = "{origin.direct}"\nqueues = ["default"]\nqueue = "orders"\n')
        self.start()
        self.until("it says so", lambda: "source 'rails' takes nothing: unique keys and sources need all of a queue in one slot" in self.log())
        self.assertEqual(origin.ask("LLEN", "queue:default"), 1)
        self.push("a", 1)
        self.until_stats(processed=1)

    def test_over_tls(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-tls-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ordo",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key", "-out", folder / "cert"],
                       check=True, capture_output=True)
        self.cluster(tls=folder)
        nodes = self.begin()
        slot = self.server.slot_of(self.places()[1])
        masters = self.server.masters()
        self.server.move(slot, masters[(masters.index(self.server.master_of(slot)) + 1) % len(masters)])
        self.reach(50)
        self.end(nodes)

    def test_a_replica_takes_over(self):
        """With ?wait=1. Whoever the leases lie with dies first, then whoever has a shard."""
        self.cluster(fails_over=True)
        nodes = self.begin()
        for place in self.places()[:2]:
            slot = self.server.slot_of(place)
            old = self.server.master_of(slot)
            old.kill()
            self.until("its replica has taken over", lambda: self.server.master_of(slot) is not None)
            old.launch()  # to be the replica that confirms
            self.until("all have replicas again", self.server.ready)
            self.reach(50)
        self.end(nodes)

    def test_a_master_is_silent_for_longer_than_a_lease(self):
        """What is on other masters goes on; what it has waits, and loses nothing."""
        self.cluster(lease="24s", settings=["--cluster-require-full-coverage", "no"])
        nodes = self.begin()
        registry, *shards = [self.server.master_of(self.server.slot_of(place)) for place in self.places()]
        silent = next(master for master in shards if master is not registry)
        elsewhere = next(shard for shard, master in enumerate(shards) if master is not silent)
        key = next(f"e{n}" for n in range(1000) if zlib.crc32(f"e{n}".encode()) % SHARDS == elsewhere)
        self.stop.set()
        self.producer.join()
        silent.process.send_signal(signal.SIGSTOP)
        for n in range(6):
            self.ordo("push", "orders", "--id", f"{key}-{n}", "--key", key)
            self.until("it runs", lambda n=n: (f"{key}-{n}", [""], -1) in self.runs())
            end = time.monotonic() + 5
            self.until("five of these are longer than a lease", lambda end=end: time.monotonic() > end)
        silent.process.send_signal(signal.SIGCONT)
        self.end(nodes)


if __name__ == "__main__":
    unittest.main()
