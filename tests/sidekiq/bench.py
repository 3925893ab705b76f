"""Jobs of Sidekiq's own client, run by Sidekiq and by Ordo behind a source, on one Redis.

    ./dev bench sidekiq [--jobs 100000]

Prints the rates of both, their ratio and its goal, and what a source adds between the push and the start of a job. Sidekiq is Debian's 6.4.1
with 5 threads and hiredis, and its job does nothing; Ordo runs a command in Python in 5 threads, in order per order id, its store in the same
Redis and in a file. The end is 1 when a goal is missed. Measure on a machine that does nothing else.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))
import servers  # noqa: E402

ORDO = os.path.abspath(os.environ.get("ORDO_BIN", "build/release/ordo"))
SCRIPT = TESTS / "sidekiq" / "bench.rb"
PATIENCE_S = 600
THREADS = 5
SINGLE = 200
RUNS = """
import json, sys
for line in sys.stdin:
    print('{"ok":true}', flush=True)
"""
STARTS = """
import json, sys, time
for line in sys.stdin:
    now = time.time()
    for job in json.loads(line)["jobs"]:
        print(now - job["payloads"][0]["enqueued_at"], file=open("delays", "a"))
    print('{"ok":true}', flush=True)
"""


class Redis(servers.Redis):
    """As Sidekiq's users run it: a second may be lost with the machine."""

    def command(self):
        return [word if word != "always" else "everysec" for word in super().command()]


class Bench:
    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.redis = Redis(folder / "redis")
        self.redis.start()

    def environment(self, **more):
        return {**os.environ, "SOCKET": str(self.redis.path), "JOBS": str(self.jobs), "LANG": "C.UTF-8", **more}

    def push(self, how, count):
        subprocess.run(["ruby", SCRIPT], check=True, timeout=PATIENCE_S, cwd=self.folder, env=self.environment(PUSH=how, JOBS=str(count)))

    def until(self, what, holds):
        end = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            if time.monotonic() > end:
                raise SystemExit(f"not within {PATIENCE_S} s: {what}")
            time.sleep(0.02)
        return found

    def by_sidekiq(self):
        """Jobs a second."""
        self.redis.empty()
        self.push("bulk", self.jobs)
        with open(self.folder / "sidekiq.log", "wb") as log:
            process = subprocess.Popen(["sidekiq", "-r", SCRIPT, "-c", str(THREADS)], cwd=self.folder, stdout=log, stderr=log, env=self.environment())
        try:
            self.until("Sidekiq has run all", (self.folder / "last").exists)
            first, last = (float(self.until(name, (self.folder / name).read_text)) for name in ("first", "last"))
        finally:
            process.kill()
            process.wait()
        return self.jobs / (last - first)

    def node(self, store, worker):
        for name in ("ordo.db", "ordo.db-wal", "ordo.db-shm", "ordo.db-wake", "delays"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "worker.py").write_text(worker)
        (self.folder / "ordo.toml").write_text(f"""
store = "{store}"
[node]
threads = {THREADS}
listen = "auto"
[queue.orders]
batch_size = 10
command = ["python3", "worker.py"]
[source.rails]
type = "sidekiq"
url = "{self.redis.direct}"
queues = ["default"]
queue = "orders"
map = [{{ class = "Note", key = "/0", id = "/1" }}]
""")
        with open(self.folder / "ordo.log", "wb") as log:
            process = subprocess.Popen([ORDO, "work"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log)
        address = self.until("it listens", lambda: re.search(r"listening on (http://\S+?)/?\s", (self.folder / "ordo.log").read_text()))[1]
        return process, address

    def processed(self, address):
        with urllib.request.urlopen(f"{address}/api/v1/stats", timeout=PATIENCE_S) as answer:
            return json.load(answer)["by_queue"]["orders"]["processed"]

    def by_ordo(self, store):
        self.redis.empty()
        self.push("bulk", self.jobs)
        process, address = self.node(store, RUNS)
        try:
            begun = self.until("the first job has run", lambda: self.processed(address))
            first = time.monotonic()
            self.until("Ordo has run all", lambda: self.processed(address) >= self.jobs)
            return (self.jobs - begun) / (time.monotonic() - first)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)

    def delays(self, push):
        """Milliseconds from the push to the start, the median of single jobs that meet an idle node."""
        self.redis.empty()
        process, address = self.node("sqlite:ordo.db", STARTS)
        try:
            push(address)
            self.until("all have run", lambda: self.processed(address) >= SINGLE)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
        return 1000 * statistics.median(float(line) for line in (self.folder / "delays").read_text().split())


def push_over_http(address):
    for number in range(SINGLE):
        body = json.dumps({"id": str(number), "payload": {"enqueued_at": time.time()}}).encode()
        request = urllib.request.Request(f"{address}/api/v1/queues/orders/jobs", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=PATIENCE_S).close()
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    options = parser.parse_args()
    if options.jobs < 1000:
        parser.error("with fewer than 1000 jobs there is no rate")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="ordo-sidekiq-") as folder:
        bench = Bench(pathlib.Path(folder), options.jobs)
        try:
            theirs = bench.by_sidekiq()
            print(f"sidekiq                {theirs:>10,.0f} jobs/s                {THREADS} threads, hiredis", flush=True)
            for what, store in (("in the same Redis", bench.redis.direct), ("in a file", "sqlite:ordo.db")):
                ours = bench.by_ordo(store)
                missed += ours < 5 * theirs
                mark = "MISSED" if ours < 5 * theirs else ""
                print(f"ordo                   {ours:>10,.0f} jobs/s                store {what}", flush=True)
                print(f"ratio                  {ours / theirs:>10.1f}        > 5   {mark:<8}", flush=True)
            direct = bench.delays(push_over_http)
            behind = bench.delays(lambda _: bench.push("single", SINGLE))
            missed += behind - direct > 2
            mark = "MISSED" if behind - direct > 2 else ""
            print(f"push to start          {direct:>10.2f} ms                    pushed to Ordo over HTTP")
            print(f"a source adds          {behind - direct:>10.2f} ms     < 2   {mark:<8} pushed by Sidekiq's client to Redis: {behind:.2f} ms in all")
        finally:
            bench.redis.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
