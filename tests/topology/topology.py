"""What the tests of this folder share: real servers as they are deployed, nodes on hosts of a network, and one judge.

A test here takes seconds; the whole suite, less than four minutes on two processors. See CONTRIBUTING.md.
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from project import ORDO, PATIENCE_S, Project  # noqa: E402
import network  # noqa: E402 (project knows where it is)

KEYS = 12


class Topology(Project):
    """Servers, proxies and networks are made by each test; all of them end with it."""
    store = "none of the suite's"

    def setUp(self):
        super().setUp()
        self.answer_with_overlaps(0.002)

    def folder_of_its_own(self):
        """For a server: short, as the path of a unix socket must be."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-topology-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def started(self, server):
        """The server, which ends with the test."""
        self.addCleanup(server.close)
        server.start()
        return server

    def network(self, **how):
        made = network.Network(**how)
        self.addCleanup(made.close)
        return made

    def real_network(self):
        """One that has machines: where it cannot be made, the test is skipped."""
        made = self.network()
        if not made.is_real:
            self.skipTest("network namespaces cannot be made")
        return made

    def start_on(self, host, url):
        """A node on a host of a network, or here if that is None."""
        return self.start("--store", url, within=host.prefix if host else ())

    def until(self, what, condition, seconds=PATIENCE_S):
        """The judge asks over the same networks: a question that gets no answer is asked again."""
        last = "none"

        def is_so():
            nonlocal last
            try:
                return condition()
            except (AssertionError, subprocess.TimeoutExpired) as error:
                last = error
                return None
        try:
            return super().until(what, is_so, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; the last question without an answer: {last}") from None

    def wait_for_nodes(self, count):
        # Or who looks may be too early.
        self.until("the store is there", lambda: self.make_store() or True)
        self.until(f"{count} nodes are there", lambda: len(self.json("nodes")) == count)

    # The judge ----------------------------------------------------------------------------------------------

    def produce(self, pause_s=0.0, within=None, **more):
        """Pushes until finish(), from where the judge is unless it is told; what fails is not pushed again."""
        self.producer = Producer(self, pause_s, self.within if within is None else within, more)
        self.addCleanup(self.producer.stop)
        return self.producer

    def reach(self, more):
        """Waits until so many more are acknowledged and as many more have run."""
        wanted, ran = self.producer.acknowledged + more, len(self.requests()) + more
        self.until(f"{more} more are pushed; {self.producer.errors[-3:]}", lambda: self.producer.acknowledged >= wanted)
        self.until(f"{more} more have run", lambda: len(self.requests()) >= ran)

    def finish(self, nodes=(), repeats=False, loses=False):
        """What was acknowledged has run in the order of its key, once unless a run may have been repeated. Nodes go
        on."""
        self.producer.stop()
        self.until("all is done", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        self.ran_in_order(((job["key"], job["id"]) for request in self.requests() for job in request["jobs"]),
                          self.producer.tried, self.producer.pushed, repeats, loses)
        self.assertFalse(self.overlaps.exists(), "two runs of one key at once")
        for node in nodes:
            self.assertIsNone(node.poll(), f"a node has ended: {self.log()[-2000:]}")

    def ran_in_order(self, runs, tried, pushed, repeats=False, loses=False):
        """`runs`: (key, id) of each, as they began; `tried` and `pushed`: the ids of each key, in their order."""
        ran = collections.defaultdict(dict if repeats else list)
        for key, job in runs:
            if repeats:
                ran[key].setdefault(job)
            else:
                ran[key].append(job)
        for key, ids in tried.items():
            kept = set(ran[key]) | (set() if loses else set(pushed[key]))
            self.assertEqual(list(ran[key]), [i for i in ids if i in kept], key)


class Producer:
    """`ordo push` again and again, ten jobs each, with other keys and ids each time."""

    def __init__(self, test, pause_s, within, settings):
        self.test, self.pause_s, self.within, self.settings = test, pause_s, within, settings
        self.pushed, self.tried = collections.defaultdict(list), collections.defaultdict(list)
        self.acknowledged, self.errors = 0, []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while not self.is_over.wait(self.pause_s):
            jobs = [{"id": f"{n}", "key": f"k{n % KEYS}"} for n in range(number, number + 10)]
            number += 10
            for job in jobs:
                self.tried[job["key"]].append(job["id"])
            done = subprocess.run([*self.within, ORDO, "push", "orders", "--ndjson", "-"], cwd=self.test.folder, capture_output=True,
                                  input="\n".join(map(json.dumps, jobs)).encode(), check=False, timeout=PATIENCE_S,
                                  env={**self.test.environment(), **self.settings})
            if done.returncode == 0:
                for job in jobs:
                    self.pushed[job["key"]].append(job["id"])
                self.acknowledged += 10
            else:
                self.errors.append(done.stderr.decode())

    def stop(self):
        self.is_over.set()
        self.thread.join()
