"""What people call when something is wrong answers soon when the store does not: with one line that says so."""
import subprocess
import time
import unittest

from postgres_test import Pooler
from topology import ORDO, Topology
import servers  # (topology knows where it is)
from proxy import Proxy

# For what gives up within seconds, also on a machine that has much else to do. What waits for good, or for minutes, takes longer.
SOON_S = 90
LOOKS = [["stats"], ["jobs", "orders"], ["doctor"], ["queues"], ["nodes"], ["dead", "orders", "list"], ["waits", "orders"],
         ["limits"], ["job", "orders", "1"]]
CHANGES = [["remove", "orders", "--with-jobs"], ["pause", "orders"], ["reshard", "orders", "5"], ["job", "orders", "1", "cancel"],
           ["push", "orders"]]
AT_ONCE = 50


class Call:
    """A command under way, on a store."""

    def __init__(self, test, words, url):
        self.test, self.words, self.start = test, words, time.monotonic()
        self.process = subprocess.Popen([ORDO, *words, "--store", url], cwd=test.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=test.environment(), text=True)
        test.addCleanup(self.process.communicate)
        test.addCleanup(self.process.kill)

    def end(self):
        """Its exit code and what it said."""
        try:
            told = "".join(self.process.communicate(timeout=max(0, self.start + SOON_S - time.monotonic())))
        except subprocess.TimeoutExpired:
            self.test.fail(f"{self.words} still waits after {SOON_S} s")
        return self.process.returncode, told


class Silent(Topology):
    def serve(self, store):
        self.server = self.started(servers.STORES[store](self.folder_of_its_own() / "server"))
        self.config(queue="shards = 2\n")
        self.push("1")

    def proxy(self):
        proxy = Proxy(self.server.path)
        self.addCleanup(proxy.close)
        return proxy

    def all_say(self, url, *whys):
        calls = [Call(self, words, url) for words in LOOKS + CHANGES]
        for call in calls:
            code, told = call.end()
            with self.subTest(call.words):
                self.assertEqual(code, 1, told)
                self.assertTrue(any(why in told for why in whys), told)
        self.assertEqual(self.stats()["length"], 1)

    def behind_silence(self, store, *whys):
        self.serve(store)
        proxy = self.proxy()
        proxy.be_silent_after(0)
        self.all_say(self.server.through(proxy.port), *whys)

    def steps_of(self, words):
        """How often it says something to the store."""
        proxy = self.proxy()
        code, told = Call(self, words, self.server.through(proxy.port)).end()
        self.assertEqual(code, 0, told)
        self.assertGreater(proxy.heard, 1)
        return range(1, proxy.heard)

    def behind_silence_that_begins_later(self, store, *whys):
        """At any step of what looks."""
        self.serve(store)
        self.end_soon([(words, step) for words in LOOKS[:3] for step in self.steps_of(words)], *whys)  # they do most of what others do

    def end_soon(self, steps, *whys):
        """Commands, and with which step of theirs silence begins."""
        failed = 0
        for some in (steps[n:n + AT_ONCE] for n in range(0, len(steps), AT_ONCE)):
            proxies = [self.proxy() for _ in some]
            calls = []
            for proxy, (words, step) in zip(proxies, some):
                proxy.be_silent_after(step)
                calls.append((step, Call(self, words, self.server.through(proxy.port))))
            for step, call in calls:
                code, told = call.end()
                with self.subTest(call.words, step=step):
                    self.assertTrue(code == 0 or any(why in told for why in whys), told)  # 0: it came in fewer pieces
                failed += code != 0
            for proxy in proxies:
                proxy.close()
        self.assertGreater(failed, len(steps) / 2)

    def test_a_redis_that_says_nothing(self):
        self.behind_silence("redis:", "does not answer")

    def test_a_postgres_that_says_nothing(self):
        self.behind_silence("postgres:", "cannot connect to PostgreSQL")

    def test_a_redis_that_says_nothing_more(self):
        self.behind_silence_that_begins_later("redis:", "does not answer")

    def test_a_postgres_that_says_nothing_more(self):
        self.behind_silence_that_begins_later("postgres:", "cannot connect to PostgreSQL", "no answer within")

    def test_a_postgres_that_says_nothing_more_of_a_removal(self):
        self.serve("postgres:")
        remove = ["remove", "orders", "--with-jobs"]
        names = [f"r{step}" for step in self.steps_of(remove)]
        self.config(more="".join(f'[queue.{name}]\ncommand = ["true"]\nshards = 1\n' for name in names))
        for name in names:
            self.push("1", None, queue=name)
        self.end_soon([(["remove", name, "--with-jobs"], step) for step, name in enumerate(names, 1)],
                      "cannot connect to PostgreSQL", "no answer within")

    def test_a_postgres_whose_answer_to_a_removal_is_lost(self):
        """While other connections work: what the server does is known there."""
        self.serve("postgres:")
        proxy = self.proxy()
        holder = subprocess.Popen([f"{self.server.programs}/psql", "-Xq", self.server.direct], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        holder.stdin.write("BEGIN; SELECT name FROM ordo_queue FOR UPDATE;\n")
        holder.stdin.flush()
        holder.stdout.readline()
        words = ["remove", "orders", "--with-jobs"]
        call = Call(self, words, self.server.through(proxy.port))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ordo_remove%';"
        self.until("it waits for the lock", lambda: self.server.psql(waiting).strip() == "1")
        proxy.drop_flows()
        holder.stdin.write("COMMIT;\n")
        holder.stdin.flush()
        code, told = call.end()
        self.assertEqual(code, 1, told)
        self.assertIn("no answer within", told)

    def test_a_pooler_whose_sessions_are_all_taken(self):
        self.serve("postgres:")
        pooler = Pooler(self.server, "session", 1)
        self.addCleanup(pooler.kill)
        self.addCleanup(pooler.take_a_session().communicate)
        self.all_say(pooler.url, "a pooler has no session free")


if __name__ == "__main__":
    unittest.main()
