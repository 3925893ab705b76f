"""ordo reshard: another number of shards while producers push and nodes run (docs/reshard.md)."""
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from project import ORDO, Project

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
import servers  # noqa: E402  (a real server a test)

KEYS = 12
LATE = 20_000


class Reshard(Project):
    def open(self, store, shards=5):
        self.write("ordo.toml", f"""store = "{store}"
[node]
threads = 2
lease = "2s"
[queue.orders]
command = ["python3", "-B", "worker.py"]
shards = {shards}
""")

    def shards(self):
        [queue] = self.json("queues")
        self.assertEqual(queue["name"] if "name" in queue else queue["queue"], "orders")
        return queue["shards"]

    def produce(self, stop, pushed):
        number = 0
        while not stop.is_set():
            jobs = []
            for _ in range(25):
                key = f"k{number % KEYS}"
                jobs.append({"id": f"{number}", "key": key, "payload": {"n": number}})
                number += 1
            self.push_lines(jobs)
            for job in jobs:
                pushed[job["key"]].append(job["id"])

    def reshard_killed(self, shards, seed):
        """Starts it over and over until one is not killed."""
        rng = random.Random(seed)
        for kills in range(3):
            process = subprocess.Popen([ORDO, "reshard", "orders", str(shards)], cwd=self.folder, env=self.environment(),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                _, error = process.communicate(timeout=rng.uniform(0.05, 0.6))
                self.assertEqual(process.returncode, 0, error)
                return kills
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        return 3

    def check(self, store):
        self.open(store)
        seed = int(os.environ.get("ORDO_RESHARD_SEED", time.time_ns() % 10_000))
        print(f"{store}: seed {seed}", flush=True)
        self.push_lines([{"id": f"late{n}", "run_at": "2100-01-01T00:00:00Z", "payload": n} for n in range(LATE)])
        nodes = [self.start(), self.start()]
        stop, pushed = threading.Event(), collections.defaultdict(list)
        producer = threading.Thread(target=self.produce, args=(stop, pushed))
        producer.start()
        try:
            self.until("jobs run", lambda: self.stats()["processed"] > 50, seconds=120)
            kills = self.reshard_killed(8, seed)
            result = self.json("reshard", "orders", "8")
            self.assertEqual(result["to"], 8)
            self.assertEqual(self.shards(), 8)
            before = self.stats()["processed"]
            self.until("they run on", lambda: self.stats()["processed"] > before + 50, seconds=120)
            result = self.json("reshard", "orders", "3")
            self.assertEqual((result["from"], result["to"]), (8, 3))
            self.assertGreaterEqual(result["entries"], LATE)
        finally:
            stop.set()
            producer.join()
        total = sum(map(len, pushed.values()))
        print(f"{kills} kills, {total} jobs", flush=True)
        self.until("all have run", lambda: self.stats()["processed"] == total, seconds=120)
        stats = self.stats()
        self.assertEqual((stats["scheduled"], stats["length"], stats["failed"]), (LATE, LATE, 0))
        ran = collections.defaultdict(list)
        for request in self.requests():
            for job in request["jobs"]:
                ran[job["key"]].append(job["id"])
        self.assertEqual(ran, pushed)
        for node in nodes:
            self.assertIsNone(node.poll(), "the nodes went on")
            node.terminate()
            node.wait()
        error = self.ordo("work", "--drain", code=2).stderr
        self.assertRegex(error, r"has 3 shards in the store and 5 in the config; set shards = 3.*`ordo reshard orders 5`")
        self.open(store, shards=3)
        self.drain()

    def on_server(self, kind):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-server-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        server = kind(folder / "server")
        server.start()
        self.addCleanup(server.kill)
        self.check(server.direct)

    def test_on_sqlite(self):
        self.check("sqlite:ordo.db")

    def test_on_redis(self):
        self.on_server(servers.Redis)

    def test_on_postgres(self):
        self.on_server(servers.Postgres)

    def test_says_what_is_wrong(self):
        self.open("sqlite:ordo.db")
        self.assertIn("orders", self.ordo("reshard", "order", "3", code=1).stderr)
        self.ordo("reshard", "orders", "0", code=2)
        self.ordo("reshard", "orders", code=2)
        self.push("1")
        self.assertEqual(self.json("reshard", "orders", "5"),
                         {"queue": "orders", "from": 5, "to": 5, "entries": 0, "states": 0, "dead": 0})
        told = self.ordo("reshard", "orders", "2")
        self.assertIn("orders has 2 shards (before: 5); moved 1 entries", told.stdout)
        self.assertIn("the config says shards = 5 for orders", told.stderr)


if __name__ == "__main__":
    unittest.main()
