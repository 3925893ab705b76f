"""What another program writes into a log, and bytes that are damaged: they stop neither nodes nor tools (docs/versions.md)."""
import json
import sqlite3
import subprocess
import time
import unittest

from project import ORDO, Project


class Damaged(Project):
    def doctor(self):
        """What it says, also when something is bad."""
        done = subprocess.run([ORDO, "doctor"], cwd=self.folder, capture_output=True, check=False, env=self.environment())
        return done.stdout.decode()

    def expect_due(self, wanted):
        jobs = self.json("jobs", "orders")
        self.assertEqual({job["id"] for job in jobs}, wanted)
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
        self.assertEqual([job["run_at"] for job in jobs if job["run_at"] > soon], [])
        self.assertEqual((self.stats()["due"], self.stats()["scheduled"]), (len(wanted), 0))


class RedisLogs(Damaged):
    store = "redis:"

    def setUp(self):
        super().setUp()
        self.config(queue="shards = 1\n")
        self.push("1")
        self.log_key = next(key for key in self.keys() if key.endswith(":log"))

    def keys(self):
        return [key.decode() if isinstance(key, bytes) else key for key in self.server.ask("KEYS", "ordo:{*}:log")]

    def xadd(self, entry_id, *words):
        self.server.ask("XADD", self.log_key, "NOMKSTREAM", entry_id, *words)

    def spoil(self):
        """What stopped every node and tool once."""
        self.xadd("*", "e", "x")
        self.xadd("*", "e", "")
        self.xadd("*", "e", "bytes", "m", "many")
        self.xadd("*", "e", "bytes", "m", "99999999999999999999")
        self.xadd("*", "colour", "red")

    def test_tools_go_on(self):
        self.spoil()
        self.xadd("18446744073709551615-0", "id", "2")
        self.push("3")
        self.assertEqual({job["id"] for job in self.json("jobs", "orders")}, {"1", "2", "3"})
        stats = self.stats()
        self.assertEqual((stats["length"], stats["unreadable"], stats["dead"]), (3, 5, 5), stats)
        self.assertIn("could not be read", self.ordo("doctor").stdout)
        self.ordo("remove", "orders", code=1)
        self.ordo("remove", "orders", "--with-jobs")
        self.assertEqual(self.json("queues")[0:0], [])

    def test_nodes_go_on(self):
        self.spoil()
        self.push("2")
        self.drain()
        self.assertEqual(sorted(run[0] for run in self.runs()), ["1", "2"])
        dead = self.json("dead", "orders")
        self.assertEqual(sorted(job["error_kind"] for job in dead), ["invalid-push"] * 3 + ["unreadable"] * 2)
        self.assertEqual(self.stats()["unreadable"], 5)
        # The very bytes come back, and are as unreadable as before.
        self.assertEqual(self.json("dead", "orders", "retry", "--all"), {"retried": 5})
        done = self.drain()
        self.assertIn("cannot be read", done.stderr)
        again = self.json("dead", "orders")
        self.assertEqual(sorted(json.dumps(job["payloads"]) for job in again),
                         sorted(json.dumps(job["payloads"]) for job in dead))

    def test_a_running_node_goes_on(self):
        node = self.start()
        self.until("it works", lambda: self.stats()["processed"] == 1)
        self.spoil()
        for entry_id in ("4398046511104-0", "18446744073709551615-18446744073709551615"):
            self.xadd(entry_id, "id", entry_id)
            self.until("it ran", lambda entry_id=entry_id: entry_id in [run[0] for run in self.runs()])
        self.push("2")
        self.until_stats(processed=4, dead=5)
        self.assertIsNone(node.poll())

    def test_a_pushed_id_of_the_future_does_not_put_later_jobs_off(self):
        self.xadd("4000000000000-0", "id", "2")
        self.push("3")
        self.drain()
        self.assertEqual(sorted(run[0] for run in self.runs()), ["1", "2", "3"])

    def test_a_pushed_id_an_hour_ahead_puts_no_job_off(self):
        self.xadd(f"{int(time.time() * 1000) + 3_600_000}-0", "id", "2")
        self.push("3")
        self.expect_due({"1", "2", "3"})
        self.assertIn("ahead of the store's clock", self.ordo("doctor").stdout)
        self.ordo("reshard", "orders", "3")
        self.config(queue="shards = 3\n")
        self.drain()
        self.assertEqual(sorted(run[0] for run in self.runs()), ["1", "2", "3"])

    def test_what_stands_beside_the_logs(self):
        self.config(queue="shards = 1\n", more='[queue.beside]\nshards = 1\ncommand = ["python3", "-B", "worker.py"]\n')
        self.push("1", queue="beside")
        node = self.start()
        self.until("it works", lambda: len(self.runs()) == 2)
        ask = self.server.ask
        ask("HSET", "ordo:{ordo}:queues", "odd", "1:2000000000:0")
        ask("HSET", "ordo:{ordo}:queues", "odder", "nonsense")
        ask("HSET", "ordo:{ordo}:nodes", "zz", "many", "y\x1b[31m", "5")
        ask("DEL", self.log_key)
        ask("SET", self.log_key, "x")
        parts = ("'odd'", "'odder'", "'zz'", self.log_key)
        self.until("it is told", lambda: all(part in self.log() for part in ("of another kind", *parts)))
        self.push("2", queue="beside")
        self.until_stats("beside", processed=2)
        self.assertEqual(len(self.runs()), 3)
        self.assertIsNone(node.poll())
        self.json("jobs", "beside")
        doctor = self.doctor()
        for part in parts:
            self.assertIn(part, doctor)
            self.assertEqual(self.log().count(part), 1, "once")

    def test_a_reshard_takes_them_along(self):
        self.spoil()
        self.push("2")
        self.ordo("reshard", "orders", "3")
        self.config(queue="shards = 3\n")
        self.drain()
        self.assertEqual(sorted(run[0] for run in self.runs()), ["1", "2"])
        self.assertEqual(self.stats()["unreadable"], 5)
        self.ordo("copy", self.server.direct, "sqlite:copy.db")
        self.assertEqual(len(json.loads(self.ordo("dead", "orders", "--json", "--store", "sqlite:copy.db").stdout)), 5)


class SqliteRows(Damaged):
    store = "sqlite:"

    def damage(self, table, column):
        with sqlite3.connect(self.folder / "ordo.db") as database:
            changed = database.execute(f"UPDATE {table} SET {column} = x'3f3f'").rowcount
        self.assertGreater(changed, 0)

    def test_every_kind_of_record(self):
        self.config(queue='shards = 1\nmax_retries = 3\nretry = { strategy = "fixed", delay = "1h" }\n')
        self.answer("return {'ok': False, 'error': 'no'} if request['jobs'][0]['id'] == 'fails' else {'ok': True}")
        self.push("fails", "payload")
        node = self.start()
        self.until("it failed", lambda: self.stats()["failed"] == 1)
        node.terminate()
        self.end_of(node)
        self.damage("state", "body")
        self.damage("shard", "counts")
        self.push("works")
        self.json("jobs", "orders")
        self.stats()
        self.ordo("doctor")
        self.drain()
        self.assertIn("start anew", (self.folder / "node.log").read_text() + self.last_drain_log())
        dead = self.json("dead", "orders")
        self.assertEqual([(job["id"], job["payloads"], job["error_kind"]) for job in dead],
                         [("fails", ["payload"], "unreadable")], "it does not start anew as if it had never failed")
        self.assertEqual([run[0] for run in self.runs()], ["fails", "works"])
        self.damage("dead", "body")
        self.assertEqual(len(self.json("dead", "orders")), 1)
        self.assertEqual(self.json("dead", "orders", "retry", "--all"), {"retried": 0})

    def change(self, *statement):
        with sqlite3.connect(self.folder / "ordo.db") as database:
            database.execute(*statement)

    def test_a_node_row_of_somebody_else(self):
        self.config(queue="shards = 1\n")
        self.push("1")
        self.change("INSERT INTO node(id, renewals, facts) VALUES(?, 5, x'3f')", ("zz\x1b[31m",))
        doctor = self.ordo("doctor").stdout
        self.assertIn("zz", doctor)
        self.assertNotIn("\x1b[31m", doctor)
        self.drain()
        self.assertEqual([run[0] for run in self.runs()], ["1"])
        self.assertEqual(self.json("nodes"), [], "it is forgotten")

    def test_a_clock_that_was_ahead_puts_no_job_off(self):
        self.config(queue="shards = 1\n")
        self.push("1")
        self.change("UPDATE counter SET at = at + 3600000000")
        self.push("2")
        self.expect_due({"1", "2"})
        self.assertIn("ahead of the store's clock", self.ordo("doctor").stdout)
        self.drain()
        self.assertEqual(sorted(run[0] for run in self.runs()), ["1", "2"])

    def test_a_definition_and_a_shard_that_cannot_be(self):
        self.config(queue="shards = 1\n", more='[queue.odd]\ncommand = ["python3", "-B", "worker.py"]\n'
                    '[queue.full]\nshards = 1\ncommand = ["python3", "-B", "worker.py"]\n')
        for queue in ("orders", "odd", "full"):
            self.push("1", queue=queue)
        for shards in (2000000000, 0, -1):
            self.change("UPDATE queue SET shards = ? WHERE name = 'odd'", (shards,))
            self.change("UPDATE shard SET batch = 9223372036854775807"
                        " WHERE id = (SELECT number << 16 FROM queue WHERE name = 'full')")
            doctor = self.doctor()
            self.assertIn("definition of queue 'odd'", doctor)
            self.assertIn("9223372036854775807", doctor)
            self.push("again")
            done = self.drain()
            self.assertEqual(done.stderr.count("definition of queue 'odd'"), 1, done.stderr)
            self.ordo("push", "odd", "--id", "2", code=1)
        runs = sorted(run[0] for run in self.runs())  # two keys, on two threads
        self.assertEqual(runs, ["1", "again", "again", "again"])

    def drain(self, *arguments):
        self.drained = super().drain(*arguments)
        return self.drained

    def last_drain_log(self):
        return self.drained.stderr


if __name__ == "__main__":
    unittest.main()
