"""Large stores beside what a look at them may cost: millions of jobs and of bytes, with bounds on memory and time.

    ./dev volumes [--scale 0.1] [--store redis://…]

Each step prints its seconds and the peak of its memory beside their bounds; the exit code is 1 if one is broken. Memory has
half again of what was measured; time has about ten times of that, for slower and busier machines: it finds what has
become quadratic.
"""
import argparse
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

ORDO = os.environ.get("ORDO_BIN", "build/release/ordo")
JOBS, DEAD, LARGE = 3_000_000, 500_000, 3_000
LARGE_BYTES = 1_000_000
PATIENCE_S = 1800
BASE_S = 60

WORKER = """
import sys
for line in sys.stdin:
    if '"queue":"dead"' in line:
        print('{"ok":false,"error":"the bank does not answer"}', flush=True)
    else:
        open("started", "w").close()
        print('{"ok":true}', flush=True)
"""

CONFIG = """
store = "STORE"
[node]
log_level = "off"
payload_cache = "256MiB"
[queue.many]
command = ["python3", "worker.py"]
[queue.large]
command = ["python3", "worker.py"]
[queue.dead]
command = ["python3", "worker.py"]
batch_size = 1000
max_retries = 0
max_dead = 1000000
"""


def peak_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


class Volumes:
    def __init__(self, folder, scale):
        self.folder, self.scale, self.broken = folder, scale, 0

    def tell(self, what, seconds, megabytes, bound):
        """The bound is (MB at any size, MB more at full size, s more at full size)."""
        most_mb, most_s = bound[0] + bound[1] * self.scale, BASE_S + bound[2] * self.scale
        is_broken = megabytes > most_mb or seconds > most_s
        self.broken += is_broken
        print(f"{what:<36} {seconds:7.1f} s of {most_s:4.0f} s {megabytes:6.0f} MB of {most_mb:4.0f} MB{'   BROKEN' if is_broken else ''}",
              flush=True)

    def run(self, *arguments, stdin=None):
        """Seconds, peak in MB and what was printed."""
        began = time.monotonic()
        with open(self.folder / "out", "wb") as out:
            process = subprocess.Popen([ORDO, *arguments], cwd=self.folder, stdout=out, stdin=stdin)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(arguments)} ended with {process.returncode}")
        return time.monotonic() - began, usage.ru_maxrss / 1024, self.folder / "out"

    def look(self, what, bound, *arguments):
        seconds, megabytes, out = self.run(*arguments)
        self.tell(what, seconds, megabytes, bound)
        return out

    def push(self, queue, count, payload, run_at, bound):
        began = time.monotonic()
        pushing = subprocess.Popen([ORDO, "push", queue, "--ndjson", "-"], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        for number in range(count):
            pushing.stdin.write(f'{{"id":"job-{number}","payload":{payload(number)}{run_at}}}\n')
        pushing.stdin.close()
        _, status, usage = os.wait4(pushing.pid, 0)
        pushing.returncode = os.waitstatus_to_exitcode(status)
        if pushing.returncode != 0:
            sys.exit(f"the push to {queue} failed")
        self.tell(f"push {count} to {queue}", time.monotonic() - began, usage.ru_maxrss / 1024, bound)

    def take_over(self, queue, bound):
        """Until a job that is pushed meanwhile has started: all that waits was read before."""
        started = self.folder / "started"
        started.unlink(missing_ok=True)
        self.run("push", queue, "--id", "probe", "--payload", "1")
        began = time.monotonic()
        node = subprocess.Popen([ORDO, "work", "--queue", queue], cwd=self.folder)
        while not started.exists():
            if node.poll() is not None or time.monotonic() - began > PATIENCE_S:
                sys.exit(f"the node of {queue} started nothing")
            time.sleep(0.02)
        seconds, megabytes = time.monotonic() - began, peak_mb(node.pid)
        node.send_signal(signal.SIGTERM)
        node.wait()
        self.tell(f"take over {queue}", seconds, megabytes, bound)

    def all(self):
        # Times ahead: what waits is to wait.
        ahead = ',"run_at":"9999-01-01T00:00:00Z"'
        self.push("many", int(JOBS * self.scale), lambda number: f'{{"v":{number}}}', ahead, (110, 60, 220))
        out = self.look("jobs many --limit 20", (110, 160, 180), "jobs", "many", "--limit", "20", "--json")
        assert len(json.loads(out.read_text())) == 20
        out = self.look("jobs many --id job-7", (60, 0, 20), "jobs", "many", "--id", "job-7", "--json")
        assert json.loads(out.read_text())[0]["payloads"] == [{"v": 7}]
        self.look("job many job-7 show", (60, 0, 20), "job", "many", "job-7")
        self.look("stats", (60, 0, 20), "stats")
        self.take_over("many", (100, 700, 80))
        self.look("stats after it", (170, 0, 90), "stats")

        payload = LARGE_BYTES // 10
        self.push("large", int(LARGE * self.scale), lambda number: '"' + f"{number:010}" * payload + '"', ahead, (190, 0, 800))
        self.look("jobs large --limit 20", (100, 0, 160), "jobs", "large", "--limit", "20")
        self.look("jobs large --json", (110, 0, 160), "jobs", "large", "--json", "--limit", "200")
        self.look("job large job-7 show", (90, 0, 140), "job", "large", "job-7")
        self.take_over("large", (300, 0, 140))

        dead = int(DEAD * self.scale)
        self.push("dead", dead, lambda number: f'{{"v":{number}}}', "", (60, 40, 40))
        seconds, megabytes, _ = self.run("work", "--drain", "--queue", "dead")
        self.tell(f"let {dead} die", seconds, megabytes, (150, 650, 600))
        out = self.look("dead list", (80, 400, 90), "dead", "dead", "list")
        assert out.read_bytes().count(b"\n") == dead + 1
        self.look("dead list --json", (60, 150, 50), "dead", "dead", "list", "--json")
        self.look("jobs dead --state dead --limit 20", (60, 150, 20), "jobs", "dead", "--state", "dead", "--limit", "20")
        self.look("doctor", (200, 0, 400), "doctor")
        return 1 if self.broken else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="of 3,000,000 waiting, 500,000 dead and 3,000 of 1 MB")
    parser.add_argument("--store", default="sqlite:ordo.db")
    arguments = parser.parse_args()
    global ORDO
    ORDO = str(pathlib.Path(ORDO).resolve())
    with tempfile.TemporaryDirectory(prefix="ordo-volumes-") as name:
        folder = pathlib.Path(name)
        (folder / "worker.py").write_text(WORKER)
        (folder / "ordo.toml").write_text(CONFIG.replace("STORE", arguments.store))
        sys.exit(Volumes(folder, arguments.scale).all())


if __name__ == "__main__":
    main()
