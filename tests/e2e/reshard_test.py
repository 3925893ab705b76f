"""ordo reshard: another number of shards while producers push and nodes run (docs/reshard.md)."""
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

from project import ORDO, PATIENCE_S, Project

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
import servers  # noqa: E402  (a real server a test)
from proxy import Proxy  # noqa: E402

KEYS = 12
LATE = 20_000

# A job whose id begins with `long` ends when the test lets it; `fails` fails the first time.
GATED = """
with open("starts", "a") as starts:
    starts.write(json.dumps([os.getppid(), [job["id"] for job in request["jobs"]]]) + "\\n")
end = time.monotonic() + 300
while any(job["id"].startswith("long") for job in request["jobs"]) and time.monotonic() < end:
    if pathlib.Path("open").exists():
        break
    time.sleep(0.02)
with open("ends", "a") as ends:
    ends.write("".join(job["id"] + "\\n" for job in request["jobs"]))
return {"results": {job["id"]: {"error": "told to"} if job["id"].startswith("fails") and job["retry_count"] < 0 else {"ok": True}
                    for job in request["jobs"]}}
"""


def id_in_shard(prefix, shard, shards):
    ids = (f"{prefix}{n}" for n in range(1000))
    return next(found for found in ids if zlib.crc32(found.encode()) % shards == shard)


class OnServers(Project):
    def on_server(self, kind, check):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-server-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        server = kind(folder / "server")
        server.start()
        self.addCleanup(server.kill)
        self.real_server = server
        check(server.direct)


class Reshard(OnServers):
    def open(self, store, shards=5):
        self.write("ordo.toml", f"""store = "{store}"
[node]
threads = 2
lease = "60s"
[queue.orders]
command = ["python3", "-B", "worker.py"]
{f"shards = {shards}" if shards else ""}
""")

    def shards(self):
        [queue] = self.json("queues")
        self.assertEqual(queue["name"] if "name" in queue else queue["queue"], "orders")
        return queue["shards"]

    def test_interrupted_it_says_how_to_go_on(self):
        self.open("sqlite:ordo.db")
        node = self.start("-o", "node.lease=1h")
        self.until("it owns the shards", lambda: sum(each["shards"] for each in self.json("nodes")) == 5)
        self.freeze(node)  # it lives, and gives nothing back
        with subprocess.Popen([ORDO, "reshard", "orders", "8"], cwd=self.folder, env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.until("it waits", lambda: 8 in [each["shards"] for each in self.json("nodes")])
            self.assertIn("queue 'orders' is being resharded", [each["what"] for each in self.json("doctor")])
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.end_of(process), 130)
            self.assertIn(b"run `ordo reshard orders 8` again", process.stderr.read())
        node.send_signal(signal.SIGCONT)
        self.assertEqual(self.json("reshard", "orders", "8")["to"], 8)
        node.terminate()
        self.assertEqual(self.end_of(node), 0)

    def test_one_that_has_closed_the_queue_finishes_first(self):
        self.open("sqlite:ordo.db", shards=None)
        self.push("1")
        database = sqlite3.connect(f"file:{self.folder}/ordo.db?mode=ro", uri=True)
        self.addCleanup(database.close)

        def is_closed():
            return database.execute("SELECT closed FROM queue WHERE name='orders'").fetchone()[0] == 1

        for attempt in range(200):
            shards = 6 + attempt % 2
            with subprocess.Popen([ORDO, "reshard", "orders", str(shards)], cwd=self.folder, env=self.environment(),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                while process.poll() is None and not is_closed():
                    pass
                process.send_signal(signal.SIGSTOP)
                is_caught = process.poll() is None and is_closed()
                if is_caught:
                    process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGCONT)
                told = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 0, told)
            if is_caught:
                break
        self.assertTrue(is_caught, "none was met while its queue was closed: nothing is tested")
        self.assertEqual(self.shards(), shards)
        self.push("2")

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
        """Starts it over and over until one is not killed. The next one waits for the lease of one that was."""
        rng = random.Random(seed)
        command = [ORDO, "reshard", "orders", str(shards), "-o", "node.lease=2s"]
        for kills in range(3):
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment(),
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
            self.until("jobs run", lambda: self.stats()["processed"] > 50)
            kills = self.reshard_killed(8, seed)
            result = self.json("reshard", "orders", "8")
            self.assertEqual(result["to"], 8)
            self.assertEqual(self.shards(), 8)
            before = self.stats()["processed"]
            self.until("they run on", lambda: self.stats()["processed"] > before + 50)
            result = self.json("reshard", "orders", "3")
            self.assertEqual((result["from"], result["to"]), (8, 3))
            self.assertGreaterEqual(result["entries"], LATE)
        finally:
            stop.set()
            producer.join()
        total = sum(map(len, pushed.values()))
        print(f"{kills} kills, {total} jobs", flush=True)
        self.until_stats(processed=total, scheduled=LATE, length=LATE)
        self.assertEqual(self.stats()["failed"], 0)
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
        self.open(store, shards=None)
        self.drain()

    def test_on_sqlite(self):
        self.check("sqlite:ordo.db")

    def test_on_redis(self):
        self.on_server(servers.Redis, self.check)

    def test_on_postgres(self):
        self.on_server(servers.Postgres, self.check)

    def check_other_configs(self, store):
        """Whatever a producer's config says, its jobs go to the shards that the queue has."""
        self.open(store, shards=3)
        ids = [f"{n}" for n in range(40)]
        self.push_lines([{"id": i, "key": f"k{int(i) % KEYS}"} for i in ids])
        for shards, more in ((7, range(40, 60)), (1, range(60, 80)), (None, range(80, 100))):
            self.open(store, shards=shards)
            self.push_lines([{"id": f"{n}", "key": f"k{n % KEYS}"} for n in more][:-1])
            self.push(f"{more[-1]}", None, "--key", f"k{more[-1] % KEYS}")
            self.ordo("job", "orders", f"{more[0]}", "--key", f"k{more[0] % KEYS}", "cancel")
            ids += [f"{n}" for n in more[1:]]
            self.assertEqual(self.shards(), 3)
            if shards:
                self.assertIn("3 shards in the store", self.ordo("work", "--drain", code=2).stderr)
        self.drain()
        ran = collections.defaultdict(list)
        for run in self.requests():
            ran[run["jobs"][0]["key"]].append(int(run["jobs"][0]["id"]))
        for key, order in ran.items():
            self.assertEqual(order, [int(i) for i in ids if f"k{int(i) % KEYS}" == key])

    def test_pushes_with_another_number_in_the_config_go_to_the_right_shards(self):
        for name, kind in (("sqlite", None), ("redis", servers.Redis), ("postgres", servers.Postgres)):
            with self.subTest(name):
                (self.folder / "requests.ndjson").unlink(missing_ok=True)
                if kind is None:
                    self.check_other_configs("sqlite:ordo.db")
                else:
                    self.on_server(kind, self.check_other_configs)

    def check_half_removed(self, store):
        self.open(store)
        self.push("1")
        for shards, kept in ((2, []), (3, [1])):
            number = self.real_server.ask("HINCRBY", "ordo:{ordo}:registry", "queue", 1)
            for shard in kept:
                source, target = f"ordo:{{1:{shard}}}:", f"ordo:{{{number}:{shard}}}:"
                for part in ("log", "meta"):
                    self.real_server.ask("COPY", source + part, target + part)
            self.real_server.ask("HSET", "ordo:{ordo}:queues", "orders>", f"{number}:4:0")
            self.assertEqual(self.json("reshard", "orders", str(shards))["to"], shards)
        self.open(store, shards=3)
        self.drain()
        self.assertEqual([run[0] for run in self.runs()], ["1"])

    def check_cut_before_the_old_shards_went(self, store):
        """The queue has its new shards by then, and nobody knows the name of the old ones."""
        self.open(store, shards=2)
        self.push_lines([{"id": f"{n}"} for n in range(20)])
        proxy = Proxy(self.real_server.path)
        self.addCleanup(proxy.close)
        proxy.cut_at(b"UNLINK", reaches_server=False)
        self.ordo("reshard", "orders", "3", "--store", self.real_server.through(proxy.port), code=1)
        self.assertEqual((proxy.tripped, self.shards()), (1, 3))
        old = lambda: self.real_server.cli("KEYS ordo:{1:*\n").split()
        self.assertNotEqual(old(), [])
        self.open(store, shards=3)
        self.drain()
        self.assertEqual(old(), [])
        self.assertEqual(sorted(int(run[0]) for run in self.runs()), list(range(20)))

    def test_one_that_was_cut_off_before_the_old_shards_went(self):
        self.on_server(servers.Redis, self.check_cut_before_the_old_shards_went)

    def test_one_that_was_cut_off_while_it_threw_away_the_half_of_another(self):
        self.on_server(servers.Redis, self.check_half_removed)

    def test_says_what_is_wrong(self):
        self.open("sqlite:ordo.db")
        self.make_store()
        self.assertIn("orders", self.ordo("reshard", "order", "3", code=1).stderr)
        self.ordo("reshard", "orders", "0", code=2)
        self.ordo("reshard", "orders", code=2)
        self.push("1")
        self.assertEqual(self.json("reshard", "orders", "5"),
                         {"queue": "orders", "from": 5, "to": 5, "entries": 0, "states": 0, "dead": 0})
        told = self.ordo("reshard", "orders", "2")
        self.assertIn("orders has 2 shards (before: 5); moved 1 entries", told.stdout)
        self.assertIn("the config says shards = 5 for orders", told.stderr)


class Running(OnServers):
    """Jobs that run while their queue gets other shards."""

    def setUp(self):
        super().setUp()
        self.answer(GATED.strip())

    def open(self, store, node="threads = 2\n", queue="shards = 3\n"):
        self.write("ordo.toml", f"""store = "{store}"
[node]
lease = "60s"
{node}
[queue.orders]
command = ["python3", "-B", "worker.py"]
{queue}
""")

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def starts(self):
        return [job for line in self.lines("starts") for job in json.loads(line)[1]]

    def started(self, *jobs):
        self.until(f"{jobs} have started", lambda: set(jobs) <= set(self.starts()))

    def reshard(self, shards):
        self.assertEqual(self.json("reshard", "orders", str(shards))["to"], shards)
        self.assertEqual(self.json("queues")[0]["shards"], shards)

    def check_long(self, store):
        self.open(store)
        nodes = [self.start(), self.start()]
        self.until("both are there", lambda: len(self.json("nodes")) == 2)
        self.push("long", None, "--key", "k")
        self.started("long")
        self.reshard(8)
        self.push("next", None, "--key", "k")
        others = [f"o{n}" for n in range(20)]
        self.push_lines([{"id": job} for job in others])
        self.until("other keys go on", lambda: set(others) <= set(self.lines("ends")))
        self.until_stats(running=1, length=1)
        self.reshard(2)
        self.assertEqual(sorted(self.starts()), sorted(["long", *others]), "its key stays taken, and it runs once")
        self.assertNotIn("long", self.lines("ends"))
        self.write("open", "")
        self.until_stats(processed=22, length=0, running=0)
        self.assertEqual(self.lines("ends")[-2:], ["long", "next"])
        self.assertEqual(self.stats()["failed"], 0)
        self.assertEqual(self.json("jobs", "orders"), [])
        self.assertEqual([node.poll() for node in nodes], [None, None])

    def check_batch(self, store):
        self.open(store, "threads = 2\n", "shards = 1\nbatch_size = 3\nretry = { strategy = 'fixed', delay = '1ms' }\n")
        batch = [id_in_shard("long-", 1, 8), id_in_shard("fails-", 4, 8), id_in_shard("third-", 7, 8)]
        self.push_lines([{"id": job} for job in batch])
        self.start()
        self.started(*batch)
        self.assertEqual(len(self.lines("starts")), 1, "they run as one batch")
        self.reshard(8)
        self.push_lines([{"id": f"behind-{job}", "key": job} for job in batch])
        self.reshard(5)
        self.push("free")
        self.until("a free key goes on", lambda: self.lines("ends") == ["free"])
        self.assertEqual(self.starts(), [*batch, "free"])
        self.write("open", "")
        self.until("all have ended", lambda: self.stats()["processed"] == 7)
        self.assertEqual(self.stats()["failed"], 1)
        self.assertEqual(collections.Counter(self.starts()), {
            **{job: 1 for job in batch}, **{f"behind-{job}": 1 for job in batch}, "free": 1, batch[1]: 2})

    def test_a_long_job_goes_on_on_sqlite(self):
        self.check_long("sqlite:ordo.db")

    def test_a_long_job_goes_on_on_redis(self):
        self.on_server(servers.Redis, self.check_long)

    def test_a_long_job_goes_on_on_postgres(self):
        self.on_server(servers.Postgres, self.check_long)

    def test_a_batch_parts_on_sqlite(self):
        self.check_batch("sqlite:ordo.db")

    def test_a_batch_parts_on_redis(self):
        self.on_server(servers.Redis, self.check_batch)

    def test_a_batch_parts_on_postgres(self):
        self.on_server(servers.Postgres, self.check_batch)

    def begin(self, shards):
        return subprocess.Popen([ORDO, "reshard", "orders", str(shards)], cwd=self.folder, env=self.environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self, process):
        _, error = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, error)

    def test_a_borrower_that_dies_meanwhile_loses_no_job(self):
        self.open("sqlite:ordo.db", "threads = 1\n", "shards = 1\n")
        nodes = [self.start(), self.start()]
        self.until("both are there", lambda: len(self.json("nodes")) == 2)
        self.push_lines([{"id": "long1"}, {"id": "long2"}])
        self.started("long1", "long2")
        owner = self.owner()["pid"]
        process = self.begin(4)
        next(node for node in nodes if node.pid != owner).kill()
        self.end(process)
        self.write("open", "")
        self.until("all have ended", lambda: self.stats()["processed"] == 2)
        self.assertEqual(sorted(collections.Counter(self.starts()).values()), [1, 2])

    def test_a_job_goes_on_that_was_there_when_a_node_died(self):
        self.open("sqlite:ordo.db")
        first = self.start()
        self.push("long")
        self.started("long")
        first.kill()
        self.start()
        self.until("it runs again", lambda: len(self.starts()) == 2)
        self.reshard(8)
        self.assertEqual(self.lines("ends"), [])
        self.write("open", "")
        self.until("it has ended", lambda: self.stats()["processed"] == 1)
        self.assertEqual(self.starts(), ["long", "long"])

    def test_a_cancel_meanwhile_reaches_the_running_job(self):
        self.open("sqlite:ordo.db")
        self.start()
        self.push_lines([{"id": "long"}, {"id": "behind", "key": "long"}])
        self.started("long")
        process = self.begin(8)
        self.ordo("job", "orders", "long", "cancel")
        self.end(process)
        self.started("behind")
        self.until("nothing is left", lambda: self.json("jobs", "orders") == [])
        self.assertNotIn("long", self.lines("ends"))
        self.until_stats(processed=1, failed=0, running=0)


if __name__ == "__main__":
    unittest.main()
