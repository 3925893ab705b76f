"""What another program writes into a log, and bytes that are damaged: they stop neither nodes nor tools (docs/versions.md)."""
import json
import sqlite3
import unittest

from project import Project


class RedisLogs(Project):
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
        self.assertEqual({job["error_kind"] for job in dead}, {"unreadable"})
        self.assertEqual(len(dead), 5)
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


class SqliteRows(Project):
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

    def drain(self, *arguments):
        self.drained = super().drain(*arguments)
        return self.drained

    def last_drain_log(self):
        return self.drained.stderr


if __name__ == "__main__":
    unittest.main()
