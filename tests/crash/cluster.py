"""Nodes of one store as processes that can be killed and stopped, in a folder of their own."""
import datetime
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import servers  # noqa: E402

ORDO = os.path.abspath(os.environ.get("ORDO_BIN", "build/release/ordo"))
BUILD = pathlib.Path(os.environ.get("ORDO_BINARY_DIR", os.path.dirname(ORDO)))
PLUGIN = BUILD / "tests" / "libordo_crash_recorder.so"
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL"]  # whatever ends the test, no node stays
WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"

THREADS = 4  # of a node, but for queues that have their own

CONFIG = """store = {store}
[node]
threads = {threads}
lease = "{lease_ms}ms"
shutdown_timeout = "1s"
log_level = "debug"
[queue.fifo]
shards = {fifo}
{worker}
{queue}
[queue.merge]
shards = {merge}
{worker}
{queue}
"""


class Node:
    """One `ordo work`. Its name is new at every start; its log is NAME.log."""

    def __init__(self, name, process, log, is_thread):
        self.name, self.process, self.log, self.is_thread = name, process, log, is_thread
        self.since = time.monotonic()

    def log_text(self):
        return self.log.read_text(errors="replace")


class Cluster:
    """`kinds`: of servers, instead of those that are alone. `limited`: the config of more queues, which has a place for their shards, their worker and their other keys."""

    def __init__(self, store="sqlite:", lease_ms=2000, queue="", kinds=None, limited=None, shards=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-crash-"))
        self.server, self.lease_ms, self.is_redis_cluster = None, lease_ms, store == "redis-cluster:"
        if store == "sqlite:":
            store = f"sqlite:{self.folder}/ordo.db"
        path = store.removeprefix("sqlite:").split("?")[0]
        self.file = self.folder / path if store.startswith("sqlite:") else None
        direct = store
        kinds = {**servers.STORES, **(kinds or {})}
        if store in kinds:
            self.server = kinds[store](self.folder / "server")
            store = self.server.proxied()
            direct = self.server.direct
            self.server.start()
        elif not store.startswith("sqlite:"):
            raise SystemExit(f"the crash suite cannot use {store}: give sqlite: or one of {list(kinds)}")
        self.nodes, self.names = [], itertools.count(1)
        self.events = self.folder / "events.ndjson"
        self.log = os.open(self.events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("ORDO_")}
        self.environment.update(TMPDIR=str(self.folder), TZ="UTC",
                                ORDO_CONFIG=str(self.folder / "command.toml"))
        command = "command = " + json.dumps([sys.executable, "-B", str(WORKER)])
        same = {"threads": THREADS, "lease_ms": lease_ms, "queue": queue, "command": command}
        self.config = CONFIG + (limited or "")
        self.configs = {"command": {"store": json.dumps(store), "worker": command, **same},
                        "thread": {"store": json.dumps(store), "worker": "", **same},
                        "direct": {"store": json.dumps(direct), "worker": "", **same}}
        self.shards = {"fifo": 5, "merge": 5, **(shards or {})}
        self.write_configs()
        if store.startswith("postgres"):  # who only looks makes no tables, and may be too early
            self.ordo("push", "fifo", "--ndjson", "-", stdin="")

    def write_configs(self):
        """Whoever reads one just now reads the old one or the new one."""
        for name, values in self.configs.items():
            (self.folder / "next.toml").write_text(self.config.format(**values, **self.shards))
            (self.folder / "next.toml").replace(self.folder / f"{name}.toml")

    # Nodes --------------------------------------------------------------------------------------------------

    def start(self, is_thread=False, *arguments):
        name = f"n{next(self.names)}"
        kind = ["--config", str(self.folder / ("thread.toml" if is_thread else "command.toml"))]
        if is_thread:
            kind += ["-r", str(PLUGIN)]
        log = self.folder / f"{name}.log"
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [*DIE_WITH_US, ORDO, "work", *kind, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=file, stderr=file,
                env={**self.environment, "ORDO_CRASH_NODE": name, "ORDO_CRASH_LOG": str(self.events)})
        node = Node(name, process, log, is_thread)
        self.nodes.append(node)
        if self.file:  # who only looks at a store that is not there yet is refused
            self.until("it has made its store", lambda: servers.has_content(self.file) or process.poll() is not None)
        return node

    def send(self, node, what):
        """Notes a fault, then does it. When a kill or a stop has come into force, it notes that, too."""
        self.note(what, node=node.name)
        # Not by Popen, which first forgets one that has just ended: it is waited for here.
        os.kill(node.process.pid, {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "cont": signal.SIGCONT,
                                   "term": signal.SIGTERM}[what])
        if what in ("kill", "stop"):
            os.waitid(os.P_PID, node.process.pid, os.WSTOPPED * (what == "stop") | os.WEXITED | os.WNOWAIT)
            self.note("hit", node=node.name)

    def kill(self, node):
        self.send(node, "kill")
        node.process.wait()
        self.nodes.remove(node)

    def close(self, keep):
        """Ends all nodes, and removes the folder unless it is to be kept."""
        for node in self.nodes:
            if node.process.poll() is None:
                node.process.kill()
            node.process.wait()
        if self.server:
            self.server.close()
        os.close(self.log)
        if keep:
            print(f"kept: {self.folder}", file=sys.stderr, flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Commands -----------------------------------------------------------------------------------------------

    def ordo(self, *arguments, stdin=None):
        """Asks the store itself, whatever is done to the connections of others; a cluster as all do."""
        done = subprocess.run([ORDO, *arguments], cwd=self.folder, input=stdin, capture_output=True,
                              timeout=240, text=True, check=False,
                              env={**self.environment, "ORDO_CONFIG": str(self.folder / "direct.toml")})
        if done.returncode != 0:
            what = " ".join(arguments)
            raise AssertionError(f"ordo {what}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.ordo(*arguments, "--json"))

    def push(self, queue, key, n, job_id=None, **payload):
        self.ordo("push", queue, "--id", job_id or key, "--key", key, "--score", str(n),
                  "--payload", json.dumps({"n": n, "ms": 0, "fail": 0, **payload}))

    def unfinished_by_queue(self):
        return {name: queue["length"] + queue["running"] + queue["awaiting"]
                for name, queue in self.json("stats")["by_queue"].items()}

    def unfinished(self):
        return sum(self.unfinished_by_queue().values())

    def reshard(self, queue, shards):
        """Begins it, over the connection of the nodes."""
        self.note("reshard", queue=queue, shards=shards)
        return subprocess.Popen([*DIE_WITH_US, ORDO, "reshard", queue, str(shards)], cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env=self.environment)

    # The log of events --------------------------------------------------------------------------------------

    def note(self, what, **more):
        line = json.dumps({"e": what, **more, "t": time.monotonic_ns()}, separators=(",", ":"))
        os.write(self.log, (line + "\n").encode())

    def note_put_backs(self):
        """What the nodes said of themselves, for who judges."""
        ahead = time.time() - time.monotonic()
        for log in sorted(self.folder.glob("n*.log")):
            text = log.read_text(errors="replace")
            for event, words in {"put back": "the leases could not be renewed", "lost": "the leases? of "}.items():
                for when in re.findall(rf"^(\S+)Z warning {words}", text, re.M):
                    said = datetime.datetime.fromisoformat(when + "+00:00").timestamp()
                    line = {"e": event, "node": log.stem, "t": int((said - ahead) * 1e9)}
                    os.write(self.log, (json.dumps(line) + "\n").encode())

    def seen(self, what, **more):
        """The events of that kind so far."""
        events = [json.loads(line) for line in self.events.read_text().splitlines()]
        return [event for event in events if event["e"] == what and more.items() <= event.items()]

    def until(self, what, condition, seconds=240):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.02)
        logs = "\n".join(f"{node.name}: {node.log_text()[-600:]}" for node in self.nodes)
        raise AssertionError(f"not within {seconds} s: {what}\n{logs}")
