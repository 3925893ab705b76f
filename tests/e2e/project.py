"""A folder with a config, a store and a worker in Python, and the ordo binary that works on them.

ORDO_E2E_STORE: the store of the tests, sqlite: (a file), redis: or postgres: (a server of their own).
"""
import atexit
import functools
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import servers  # noqa: E402

ORDO = os.environ.get("ORDO_BIN", "build/release/ordo")
PATIENCE_S = 240  # until a test gives up, on however busy a machine; nothing takes so long

# Notes each request in requests.ndjson, then answers what answer.py says.
WORKER = """
import json, pathlib, sys
sys.path.insert(0, ".")
import answer
for line in sys.stdin:
    request = json.loads(line)
    with open("requests.ndjson", "a") as notes:
        notes.write(line)
    print(json.dumps(answer.of(request)), flush=True)
"""


@functools.cache
def server_of(store):
    """One for all tests of this program."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-server-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = servers.STORES[store](folder / "server")
    atexit.register(server.kill)
    server.start()
    return server


def read_terminal(terminal):
    """All that comes until its other end is closed; closes it."""
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:
        pass  # the other end is closed
    os.close(terminal)
    return text


class Project(unittest.TestCase):
    within = ()  # a command that starts what judges where it can reach the store
    store = os.environ.get("ORDO_E2E_STORE", "sqlite:")

    def setUp(self):
        self.server = None
        if self.store in servers.STORES:
            self.server = server_of(self.store)
            self.server.empty()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.nodes = []
        self.addCleanup(self.end_nodes)
        self.write("worker.py", WORKER)
        self.answer("return {'ok': True}")

    def end_nodes(self):
        for node in self.nodes:
            if node.poll() is None:
                node.kill()
            node.communicate()
        told = self._outcome.result
        if any(test is self for test, _ in told.failures + told.errors) and (self.folder / "node.log").exists():
            print(f"the nodes of {self.id()} said last:\n{self.log()[-4000:]}", file=sys.stderr)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def answer(self, body):
        """What the worker answers: the body of a function of `request`."""
        lines = "\n".join("    " + line for line in body.splitlines())
        self.write("answer.py", "import json, os, pathlib, signal, sys, time\n\ndef of(request):\n" + lines + "\n")

    def answer_with_overlaps(self, seconds):
        """A run takes so long. One that starts while another of its key goes on is noted in `overlaps`."""
        self.overlaps = self.folder / "overlaps"
        self.answer(f"""
import fcntl
job = request["jobs"][0]
with open("lock-" + job["key"], "w") as lock:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        open({str(self.overlaps)!r}, "a").write(json.dumps(job) + "\\n")
    time.sleep({seconds})
return {{"ok": True}}""".strip())

    def config(self, queue="", node="", more=""):
        url = self.server.direct if self.server else "sqlite:ordo.db"
        self.write("ordo.toml", f"""store = "{url}"
[node]
{node}
[queue.orders]
command = ["python3", "-B", "worker.py"]
{queue}
{more}
""")

    def make_store(self):
        """Only a push or a node makes it: what looks at it refuses a file that is not there."""
        self.ordo("push", "orders", "--ndjson", "-")

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ORDO_")}
        return {**kept, "TMPDIR": str(self.folder), "TZ": "UTC"}

    def ordo(self, *arguments, code=0, stdin=b"", env=None, cwd=None):
        """Runs a command to its end; the result has stdout and stderr as text."""
        done = subprocess.run([*self.within, ORDO, *arguments], cwd=cwd or self.folder, input=stdin, capture_output=True, timeout=PATIENCE_S,
                              env={**self.environment(), **(env or {})}, check=False)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, f"ordo {arguments}:\n{done.stdout}\n{done.stderr}")
        if code != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ordo: ")]
            self.assertEqual(len(errors), 1, f"not one line of error for {arguments}: {done.stderr}")
        return done

    def on_terminal(self, *arguments, **env):
        """What a command writes to a terminal, both streams, as bytes."""
        terminal, end = pty.openpty()
        env = {**self.environment(), "TERM": "xterm", **env}
        with subprocess.Popen([ORDO, *arguments], cwd=self.folder, stdout=end, stderr=end, env=env):
            os.close(end)
            return read_terminal(terminal)

    def json(self, *arguments, code=0):
        return json.loads(self.ordo(*arguments, "--json", code=code).stdout)

    def push(self, job_id, payload=None, *arguments, queue="orders"):
        payloads = [] if payload is None else ["--payload", json.dumps(payload)]
        return self.ordo("push", queue, "--id", job_id, *payloads, *arguments)

    def push_lines(self, jobs, queue="orders"):
        return self.ordo("push", queue, "--ndjson", "-", stdin="\n".join(map(json.dumps, jobs)).encode())

    def drain(self, *arguments):
        return self.ordo("work", "--drain", *arguments)

    def requests(self):
        notes = self.folder / "requests.ndjson"
        return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []

    def runs(self):
        """What ran, in order: (id, payloads, retry_count) of every job of every request."""
        return [(job["id"], job["payloads"], job["retry_count"]) for request in self.requests() for job in request["jobs"]]

    def stats(self, queue="orders"):
        return self.json("stats")["by_queue"][queue]

    def until_stats(self, queue="orders", **wanted):
        """All of it at one look: counts that belong together need not come together in two."""
        self.until(f"the nodes tell {wanted} of {queue}", lambda: wanted.items() <= self.stats(queue).items())

    def start(self, *arguments, within=()):
        """A node that goes on; its log is in node.log. `within`: a command that starts it somewhere else."""
        if '"postgres' in (self.folder / "ordo.toml").read_text():  # who only looks makes no tables, and may be too early
            subprocess.run([ORDO, "push", "orders", "--ndjson", "-"], cwd=self.folder, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=PATIENCE_S, env=self.environment(), check=False)
        with open(self.folder / "node.log", "ab") as log:
            node = subprocess.Popen([*within, ORDO, "work", *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=log,
                                    env=self.environment())
        self.nodes.append(node)
        if "sqlite:ordo.db" in (self.folder / "ordo.toml").read_text():
            self.until("it has made its store", lambda: servers.has_content(self.folder / "ordo.db") or node.poll() is not None)
        return node

    def freeze(self, node):
        """Stops it while it has no lock of a file: one that stands still in there is killed by whoever comes next."""
        while True:
            node.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, node.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            process = pathlib.Path(f"/proc/{node.pid}")
            files = [fd.name for fd in (process / "fd").iterdir() if os.readlink(fd).endswith(".db-lock")]
            if not any("OFDLCK" in (process / "fdinfo" / fd).read_text() for fd in files):
                break
            node.send_signal(signal.SIGCONT)
            time.sleep(0.01)

    def owner(self):
        """Who owns the only shard, by the nodes' own rows: they are written after its jobs may have started."""
        def known():
            owners = [node for node in self.json("nodes") if node["shards"] == 1]
            return owners if len(owners) == 1 else None

        return self.until("one node owns the shard", known)[0]

    def log(self):
        return (self.folder / "node.log").read_text()

    def end_of(self, process):
        """Its exit code, once it has ended."""
        return process.wait(PATIENCE_S)

    def until(self, what, condition, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        self.fail(f"not within {seconds} s: {what}")
        return None
