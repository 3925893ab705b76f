"""What the HTTP side costs and does, beside the commands, on SQLite.

    ./dev bench web [--seconds 5] [--waiting 1000000] [--clients 5000] [--only bulk,single,looks,idle,load]

Prints a line for each figure, with its goal and what the command does of the same. wrk makes the requests, on the same
machine: its work is part of each figure. A figure that misses its goal is marked; the end is 1 then. Measure on a machine that
does nothing else: the load before the run is printed first.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ORDO = os.path.abspath(os.environ.get("ORDO_BIN", "build/release/ordo"))  # the folder of each measurement is another
API = "/api/v1"
PATIENCE_S = 240
PAYLOAD = "x" * 100

# What wrk says at its end, as one line of JSON.
DONE = """
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('{"requests":%d,"seconds":%f,"refused":%d,"lost":%d,"p50_ms":%f,"p99_ms":%f}\\n', summary.requests, summary.duration / 1e6,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""
WORKER = """
import json, sys
for line in sys.stdin:
    print('{"ok":true}', flush=True)
"""


class Site:
    """A folder with a config and a store, and a process that serves them."""

    def __init__(self, command, queues="[queue.orders]\n", node=""):
        self.held = tempfile.TemporaryDirectory(prefix="ordo-web-")
        self.folder = pathlib.Path(self.held.name)
        (self.folder / "worker.py").write_text(WORKER)
        (self.folder / "ordo.toml").write_text(f'store = "sqlite:ordo.db"\n[node]\n{node}\n{queues}')
        self.command = command

    def __enter__(self):
        self.ordo("push", "orders", "--ndjson", "-")  # makes the store
        return self

    def __exit__(self, *_):
        if hasattr(self, "process"):
            self.process.terminate()
            self.process.wait(PATIENCE_S)
        self.held.cleanup()

    def serve(self):
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([ORDO, *self.command], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log)
        self.port = int(self.until("it listens", lambda: re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.log()))[1])
        return self

    def log(self):
        return (self.folder / "log").read_text()

    def until(self, what, holds):
        end = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            if time.monotonic() > end:
                raise SystemExit(f"not within {PATIENCE_S} s: {what}\n{self.log()[-2000:]}")
            time.sleep(0.02)
        return found

    def ordo(self, *arguments, stdin=b""):
        return subprocess.run([ORDO, *arguments], cwd=self.folder, input=stdin, capture_output=True, check=True, timeout=PATIENCE_S).stdout

    def stats(self, queue="orders"):
        return json.loads(self.ordo("stats", "--json"))["by_queue"][queue]

    def push_lines(self, count, more=""):
        """By the command; how many a second."""
        line = f'{{"payload":"{PAYLOAD}"{more}}}\n'.encode()
        before = time.monotonic()
        self.ordo("push", "orders", "--ndjson", "-", stdin=line * count)
        return count / (time.monotonic() - before)

    def wrk(self, path, connections, seconds, body=None):
        script = DONE
        if body is not None:
            script += f"wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\n"
        (self.folder / "wrk.lua").write_text(script)
        done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", self.folder / "wrk.lua",
                               f"http://127.0.0.1:{self.port}{path}"], capture_output=True, check=True, text=True, timeout=PATIENCE_S)
        found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
        if found["refused"] or found["lost"] or not found["requests"]:
            raise SystemExit(f"{path}: {found}\n{self.log()[-2000:]}")
        return found

    def pushes(self, connections, seconds, jobs):
        """Jobs a second, `jobs` in each request."""
        body = json.dumps([{"payload": PAYLOAD}] * jobs if jobs > 1 else {"payload": PAYLOAD}, separators=(",", ":"))
        found = self.wrk(f"{API}/queues/orders/jobs", connections, seconds, body)
        return jobs * found["requests"] / found["seconds"]

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


class Report:
    def __init__(self):
        self.missed = 0
        print(f"{'NAME':<22} {'VALUE':>10} {'UNIT':<9} {'GOAL':<10} {'':<7} WHAT", flush=True)

    def add(self, name, value, unit, goal, what):
        """`goal`: ('>', 50_000), ('<', 20), or nothing."""
        mark = ""
        if goal:
            is_met = value >= goal[1] if goal[0] == ">" else value <= goal[1]
            self.missed += not is_met
            mark = "" if is_met else "MISSED"
        text = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        print(f"{name:<22} {text:>10} {unit:<9} {f'{goal[0]} {goal[1]:,}' if goal else '':<10} {mark:<7} {what}", flush=True)


def measure_bulk(report, options):
    with Site(["web", "--listen", "auto"]) as site:
        by_command = site.push_lines(500_000)
    with Site(["web", "--listen", "auto"]) as site:
        rate = site.serve().pushes(8, options.seconds, 100)
    report.add("push --ndjson", by_command, "jobs/s", None, "the command, 500,000 lines")
    report.add("bulk", rate, "jobs/s", (">", 50_000), f"requests of 100 jobs, 8 connections: {rate / by_command:.2f} of the command")


def measure_single(report, options):
    with Site(["web", "--listen", "auto"]) as site:
        before = time.monotonic()
        for _ in range(50):
            site.ordo("push", "orders", "--payload", '"x"', "--id", "1")
        by_command = 50 / (time.monotonic() - before)
        rate = site.serve().pushes(32, options.seconds, 1)
    report.add("push", by_command, "jobs/s", None, "the command, one process after the other")
    report.add("single", rate, "jobs/s", (">", 5_000), f"one job a request, 32 connections: {rate / by_command:.0f} times the command")


def measure_looks(report, options):
    queues = "".join(f"[queue.q{n}]\n" for n in range(199)) + "[queue.orders]\n" + 'command = ["python3", "worker.py"]\n'
    with Site(["work"], queues, 'listen = "auto"') as site:
        site.push_lines(options.waiting, ',"run_at":"2035-01-01T00:00:00Z"')
        site.serve()
        site.push_lines(100)  # behind the others, in each shard
        site.until("the node has read all", lambda: site.stats()["processed"] == 100)
        for name, path, command in (("stats", "/stats", ["stats", "--json"]), ("page", "/queues/orders/jobs?limit=100", ["jobs", "orders", "--limit", "100", "--json"])):
            before = time.monotonic()
            site.ordo(*command)
            by_command = 1000 * (time.monotonic() - before)
            found = site.wrk(API + path, 1, options.seconds)
            what = "with 200 queues" if name == "stats" else f"100 jobs of {options.waiting:,} waiting"
            report.add(f"{name} p50", found["p50_ms"], "ms", None, f"GET {path.split('?')[0]} {what}; the command once: {by_command:.0f} ms")
            report.add(f"{name} p99", found["p99_ms"], "ms", ("<", 20), f"the same, {found['requests'] / found['seconds']:.0f} requests a second")


@contextlib.contextmanager
def idle_clients(site, count):
    """Clients of /events that wait for what does not happen; what comes is read."""
    request = f"GET {API}/events?event=node_down HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode()
    clients = []
    poll = select.epoll()
    ends = threading.Event()

    def read():
        while not ends.is_set():
            for number, _ in poll.poll(0.5):
                with contextlib.suppress(BlockingIOError):
                    os.read(number, 65536)

    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", site.port))
        client.sendall(request)
        if not client.recv(15).startswith(b"HTTP/1.1 200"):
            raise SystemExit("a client of /events was refused")
        client.setblocking(False)
        poll.register(client, select.EPOLLIN)
        clients.append(client)
    reader = threading.Thread(target=read)
    reader.start()
    yield
    ends.set()
    reader.join()
    for client in clients:
        client.close()


def measure_idle(report, options):
    with Site(["web", "--listen", "auto"]) as site:
        site.serve().pushes(8, options.seconds, 100)
        alone, beside, cost = [], [], 0
        for _ in range(3):  # by turns, as the store grows
            alone.append(site.pushes(8, options.seconds, 100))
            before = site.memory_mb()
            with idle_clients(site, options.clients):
                cost = max(cost, site.memory_mb() - before)
                beside.append(site.pushes(8, options.seconds, 100))
    report.add("idle memory", cost, "MB", ("<", 100), f"{options.clients:,} idle clients of /events")
    ratio = sorted(beside)[1] / sorted(alone)[1]
    report.add("idle pushes", ratio, "ratio", (">", 0.95), f"pushes in bulk beside them: {sorted(beside)[1]:,.0f} of {sorted(alone)[1]:,.0f} jobs/s")


def measure_load(report, options):
    """Jobs a second of a node, alone and while 256 connections ask it all the time."""
    queues = '[queue.orders]\ncommand = ["python3", "worker.py"]\nbatch_size = 10\n'
    with Site(["work"], queues, 'listen = "auto"\nlog = "json"') as site:
        site.push_lines(300_000 * options.seconds)
        site.serve()

        def rate(work):
            begin, before = time.monotonic(), site.stats()["processed"]
            work()
            return (site.stats()["processed"] - before) / (time.monotonic() - begin)

        site.until("it works", lambda: site.stats()["processed"] > 10_000)
        alone = rate(lambda: time.sleep(options.seconds))
        asked = {}
        loaded = rate(lambda: asked.update(site.wrk(f"{API}/stats", 256, options.seconds)))
        if site.stats()["length"] == 0:
            raise SystemExit("the jobs did not last: the rate is not one of a busy node")
        lost = len(re.findall(r"lease[^\"]*(?:lost|lapsed|taken)", site.log()))
    report.add("node", alone, "jobs/s", None, "a node with a command in Python, batches of 10")
    report.add("loaded node", loaded / alone, "ratio", (">", 0.4),
               f"its job rate while 256 connections get {asked['requests'] / asked['seconds']:,.0f} answers of /stats a second")
    report.add("lost leases", lost, "leases", ("<", 0), "meanwhile")


MEASURES = {"bulk": measure_bulk, "single": measure_single, "looks": measure_looks, "idle": measure_idle, "load": measure_load}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement")
    parser.add_argument("--waiting", type=int, default=1_000_000, help="jobs that wait while pages of them are got")
    parser.add_argument("--clients", type=int, default=5_000, help="of /events")
    parser.add_argument("--only", default=",".join(MEASURES))
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    report = Report()
    for name in options.only.split(","):
        MEASURES[name](report, options)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
