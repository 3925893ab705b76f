"""A steady load on one node: does it get slower, larger or fuller with time?

    ./dev bench soak [--seconds 600] [--store sqlite:|redis:|postgres:|URL] [--rate JOBS_PER_SECOND] [--snapshot]

Prints, minute by minute, from push to start the median and what 1 of 100 exceeds, the memory of the node, and the size of
the store; then the last minute beside the first. With --snapshot somebody keeps a snapshot of the store open from the
second minute on: then the store may grow, and nothing else. A store that is not given by its whole URL is made for it.
"""
import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import servers  # noqa: E402

SOAK = os.environ.get("ORDO_SOAK", "build/release/tests/ordo_soak")
RATES = {"postgres": 10_000}
RATE = 20_000
HEAD = f"{'SECOND':>7} {'STARTS':>9} {'P50 ms':>8} {'P99 ms':>9} {'MEMORY MB':>10} {'STORE MB':>9}"


class Sqlite:
    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "soak.db"
        self.url = f"sqlite:{self.path}"

    def size(self):
        return sum(file.stat().st_size for file in self.path.parent.glob("soak.db*"))

    def hold(self):
        self.held = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        self.held.execute("BEGIN")
        self.held.execute("SELECT count(*) FROM sqlite_schema").fetchall()

    def close(self):
        pass


class Redis:
    def __init__(self, folder):
        self.server = servers.Redis(pathlib.Path(folder) / "redis")
        self.server.start()
        self.url = self.server.direct

    def size(self):
        lines = self.server.ask("INFO", "memory").splitlines()
        return int(next(line for line in lines if line.startswith("used_memory:")).split(":")[1])

    def close(self):
        self.server.kill()


class Postgres:
    def __init__(self, folder):
        self.server = servers.Postgres(pathlib.Path(folder) / "postgres")
        self.server.start()
        self.url = self.server.direct

    def size(self):
        return int(self.server.psql("SELECT pg_database_size(current_database())"))

    def hold(self):
        self.held = subprocess.Popen([f"{self.server.programs}/psql", "-Xq", self.server.direct],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.held.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM pg_class;\n")
        self.held.stdin.flush()
        self.held.stdout.readline()

    def close(self):
        self.server.kill()


class Elsewhere:
    """A store of the user's: its size is not known."""

    def __init__(self, url):
        self.url = url

    def size(self):
        return 0

    def close(self):
        pass


def row(window):
    return (f"{window['second']:>7.0f} {window['starts']:>9.0f} {window['p50_us'] / 1e3:>8.2f} "
            f"{window['p99_us'] / 1e3:>9.2f} {window['memory_mb']:>10.1f} {window['store_mb']:>9.1f}")


def soak(values, store):
    window_s = min(60.0, values.seconds / 3)
    rate = values.rate or RATES.get(store.url.split(":")[0], RATE)
    print(f"{rate} jobs/s for {values.seconds:g} s, each line {window_s:g} s", flush=True)
    print(HEAD, flush=True)
    load = subprocess.Popen([SOAK, store.url, str(values.seconds), str(window_s), str(rate)],
                            stdout=subprocess.PIPE, text=True)
    windows = []
    for line in load.stdout:
        window = json.loads(line)
        if window["starts"] == 0:  # the end of the last window
            continue
        window["store_mb"] = store.size() / 2**20
        windows.append(window)
        print(row(window), flush=True)
        if values.snapshot and len(windows) == 1:
            store.hold()
            print("        a snapshot is held open from here on", flush=True)
    if load.wait() != 0 or len(windows) < 2:
        return 1
    first, last = windows[0], windows[-1]
    for name, what in (("p50_us", "median"), ("p99_us", "1 of 100"), ("memory_mb", "memory"), ("store_mb", "store")):
        ratio = f"{last[name] / first[name]:.2f} of the first" if first[name] else "not known"
        print(f"{what:<9} {ratio}")
    print(f"{last['pushed']} pushed, {last['ran']} runs, {last['failed_pushes']} pushes failed")
    return 0


def main():
    parser = argparse.ArgumentParser(description="a steady load on one node")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--store", default="sqlite:")
    parser.add_argument("--rate", type=int, default=None, help="jobs a second")
    parser.add_argument("--snapshot", action="store_true", help="hold one open (SQLite, PostgreSQL)")
    values = parser.parse_args()
    kinds = {"sqlite:": Sqlite, "redis:": Redis, "postgres:": Postgres}
    kind = kinds.get(values.store, Elsewhere)
    if values.snapshot and not hasattr(kind, "hold"):
        parser.error("--snapshot takes --store sqlite: or postgres:")
    with tempfile.TemporaryDirectory(prefix="ordo-soak-") as folder:
        store = kind(values.store if kind is Elsewhere else folder)
        try:
            return soak(values, store)
        finally:
            store.close()


if __name__ == "__main__":
    sys.exit(main())
