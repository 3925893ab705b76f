"""`ordo import lowkiq` moves the jobs of a stopped Lowkiq, as its published keys have them."""
import json
import subprocess
import unittest

from project import ORDO, Project, server_of

QUEUE = "lowkiq:A:v1:OrderSync"


class LowkiqImport(Project):
    def setUp(self):
        super().setUp()
        self.redis = server_of("redis:")
        if self.store != "redis:":
            self.redis.empty()
        self.config(queue="shards = 2\npayloads = 'all'\nmax_retries = 5")
        self.asked = ["import", "lowkiq", self.redis.direct, "--worker", "OrderSync", "--queue", "orders"]

    def enqueue(self, id, *payloads, at=1.5, retries=-1, shard=0):
        """As a push of Lowkiq stores it; payloads are pairs with their scores."""
        self.redis.ask("ZADD", f"{QUEUE}:all_ids_lex", 0, id)
        self.redis.ask("ZADD", f"{QUEUE}:all_ids_scored_by_perfrom_in", at, id)
        self.redis.ask("ZADD", f"{QUEUE}:all_ids_scored_by_retry_count", retries, id)
        self.redis.ask("ZADD", f"{QUEUE}:ids_scored_by_perform_in:{shard}", at, id)
        for payload, score in payloads:
            self.redis.ask("ZADD", f"{QUEUE}:payloads:{id}", score, payload)

    def bury(self, id, *payloads):
        self.redis.ask("ZADD", f"{QUEUE}:morgue:all_ids_lex", 0, id)
        self.redis.ask("ZADD", f"{QUEUE}:morgue:all_ids_scored_by_updated_at", 1.5, id)
        self.redis.ask("HSET", f"{QUEUE}:morgue:errors", id, "boom")
        for payload, score in payloads:
            self.redis.ask("ZADD", f"{QUEUE}:morgue:payloads:{id}", score, payload)

    def start_one(self, id, payload, shard=1):
        """As a worker that was killed leaves it."""
        self.redis.ask("HSET", f"{QUEUE}:processing:ids_with_perform_in:{shard}", id, 1.5)
        self.redis.ask("HSET", f"{QUEUE}:processing:ids_with_retry_count:{shard}", id, -1)
        self.redis.ask("ZADD", f"{QUEUE}:processing:payloads:{id}", 7, payload)

    def ran(self):
        return {job["id"]: job["payloads"] for request in self.requests() for job in request["jobs"]}

    def test_everything_comes_with_its_scores(self):
        self.enqueue("42", ('{"v":2}', 20), ('{"v":1}', 10), ('{"v":3}', 30.5))
        self.enqueue("many", *((str(n), n) for n in range(25)))
        self.enqueue("later", ("7", 1), at=4000000000)
        self.enqueue("failed", ("8", 1), at=4000000000, retries=3, shard=1)
        self.start_one("ran", '"half"')
        self.bury("42", ('"dead"', 5), ('"dead too"', 6))
        self.make_store()
        self.assertEqual(self.json(*self.asked, "--dry-run"), {"waiting": 4, "scheduled": 0, "retrying": 1, "dead": 1})
        everything = {"imported": 3 + 25 + 1 + 1 + 1 + 2, "refused": {}}
        self.assertEqual(self.json(*self.asked), everything)
        self.assertEqual(self.redis.ask("KEYS", "lowkiq:*"), [])
        self.assertEqual(self.json(*self.asked), everything)  # nothing more comes
        self.start()
        self.until_stats(processed=3, dead=2, scheduled=2, length=2)
        self.assertEqual(self.ran(), {"42": [{"v": 1}, {"v": 2}, {"v": 3}], "many": list(range(25)), "ran": ["half"]})
        self.assertEqual([(dead["id"], dead["payloads"], dead["scores"]) for dead in self.json("dead", "orders", "list")],
                         [("42", ["dead", "dead too"], [5, 6])])
        waiting = map(json.loads, self.ordo("jobs", "orders", "export").stdout.splitlines())
        later = {job["id"]: (job["run_at"], job.get("max_retries")) for job in waiting}
        self.assertEqual(later, {"later": ("2096-10-02T07:06:40Z", None), "failed": ("2096-10-02T07:06:40Z", 1)})
        self.ordo("dead", "orders", "retry", "--all")
        self.until_stats(processed=4, dead=0)
        self.assertEqual(self.ran()["42"], ["dead", "dead too"])

    def test_bytes_are_kept_as_they_are(self):
        marshal = "\x04\b{\x06:\x06vi\x07"
        self.make_store()
        self.enqueue("m", (marshal, 1))
        self.ordo(*self.asked)
        [job] = self.json("jobs", "orders")
        self.assertEqual(job["payloads"], [{"$base64": "BAh7BjoGdmkH"}])

    def test_whoever_is_not_there_is_named(self):
        self.make_store()
        self.enqueue("1", ("1", 1))
        for worker in ("--worker", "Other"), ():
            told = self.ordo("import", "lowkiq", self.redis.direct, *worker, "--queue", "orders", code=1).stderr
            self.assertRegex(told, "has no jobs of worker '(Other)?'; it has those of 'OrderSync'")
        self.ordo("import", "lowkiq", self.redis.direct, "--worker", "OrderSync", code=2)
        self.ordo("import", "sidekiq", self.redis.direct, "--worker", "OrderSync", "--queue", "orders", code=2)

    def test_a_name_is_no_pattern(self):
        self.make_store()
        self.start_one("ran", "1")
        for name in ("*", "Order?ync", "Order[S]ync"):
            self.ordo("import", "lowkiq", self.redis.direct, "--worker", name, "--queue", "orders", code=1)
        self.assertEqual(self.json(*self.asked), {"imported": 1, "refused": {}})

    def test_no_node_serves_the_queue_meanwhile(self):
        self.enqueue("1", ("1", 1))
        self.start()
        self.until("the node is known", lambda: self.json("nodes"))
        self.assertIn("stop the nodes", self.ordo(*self.asked, code=1).stderr)
        self.assertEqual(self.redis.ask("ZCARD", f"{QUEUE}:all_ids_lex"), 1)

    def test_a_killed_import_goes_on(self):
        for n in range(3000):
            self.enqueue(f"{n:04}", (str(n), n))
        self.make_store()
        kills = 0
        while self.redis.ask("ZCARD", f"{QUEUE}:all_ids_lex") > 0 and kills < 20:
            before = self.redis.ask("ZCARD", f"{QUEUE}:all_ids_lex")
            running = subprocess.Popen([ORDO, *self.asked], cwd=self.folder, env=self.environment(), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.until("some are taken", lambda: self.redis.ask("ZCARD", f"{QUEUE}:all_ids_lex") < before or running.poll() is not None)
            running.kill()
            running.wait()
            kills += 1
        self.assertGreater(kills, 1)
        self.assertEqual(self.json(*self.asked), {"imported": 3000, "refused": {}})
        self.start()
        self.until_stats(processed=3000, length=0)
        runs = [job["id"] for request in self.requests() for job in request["jobs"]]
        self.assertEqual(sorted(runs), [f"{n:04}" for n in range(3000)])


if __name__ == "__main__":
    unittest.main()
