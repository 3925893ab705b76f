"""Producers that push in transactions of their own, in SQL: short ones, long ones, and some that are rolled back."""
import random
import subprocess
import threading
import unittest

from topology import PATIENCE_S, Topology
import servers  # (topology knows where it is)


class Shop(threading.Thread):
    """One session, which pushes for keys of its own."""

    def __init__(self, server, number, seed):
        super().__init__(daemon=True)
        self.server, self.number, self.random = server, number, random.Random(seed + number)
        self.kept, self.dropped, self.failure = {}, set(), None

    def run(self):
        try:
            psql = subprocess.Popen([f"{self.server.programs}/psql", "-XqtA", "-v", "ON_ERROR_STOP=1", self.server.direct],
                                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            told = psql.communicate(self.script(), timeout=PATIENCE_S)[1]
            self.failure = told if psql.returncode else None
        except (OSError, subprocess.SubprocessError) as error:
            self.failure = str(error)

    def script(self):
        lines = []
        for transaction in range(40):
            is_kept, pause_s = self.random.random() < 0.7, self.random.choice((0, 0, 0, 0.05, 0.5))
            lines.append("BEGIN;")
            for place in range(self.random.randint(1, 8)):
                job, key = f"{self.number}-{transaction}-{place}", f"s{self.number}-{place % 2}"
                lines.append(f"SELECT ordo_push('orders', 'x', id => '{job}', key => '{key}');")
                if self.random.random() < 0.2:  # a savepoint that is given up takes its job along
                    lines[-1:] = ["SAVEPOINT s;", lines[-1], "ROLLBACK TO s;"]
                    self.dropped.add(job)
                elif is_kept:
                    self.kept.setdefault(key, []).append(job)
                else:
                    self.dropped.add(job)
            lines.append(f"SELECT pg_sleep({pause_s});")
            lines.append("COMMIT;" if is_kept else "ROLLBACK;")
        return "\n".join(lines)


class SqlProducers(Topology):
    def test_what_is_committed_runs_in_its_order_and_nothing_else(self):
        self.server = self.started(servers.Postgres(self.folder_of_its_own() / "server"))
        self.config(queue="shards = 4\n", node="threads = 2\nlease = '2s'\n")
        nodes = [self.start() for _ in range(2)]
        self.wait_for_nodes(2)
        seed = random.SystemRandom().randrange(1_000_000)
        shops = [Shop(self.server, number, seed) for number in range(6)]
        for shop in shops:
            shop.start()
        for _ in range(2):  # nodes come and go meanwhile
            before = len(self.requests())
            self.until("jobs run", lambda: len(self.requests()) > before + 20 or not any(s.is_alive() for s in shops))
            nodes.pop(0).kill()
            nodes.append(self.start())
        for shop in shops:
            shop.join()
            self.assertIsNone(shop.failure, f"seed {seed}")
        self.until("all is done", lambda: self.stats()["length"] + self.stats()["running"] == 0)
        ran = {}
        for request in self.requests():
            for job in request["jobs"]:
                ids = ran.setdefault(job["key"], [])
                if job["id"] not in ids:  # a killed node's run is repeated
                    ids.append(job["id"])
        kept = {key: ids for shop in shops for key, ids in shop.kept.items()}
        self.assertEqual(ran, kept, f"seed {seed}")
        self.assertFalse(self.overlaps.exists())


if __name__ == "__main__":
    unittest.main()
