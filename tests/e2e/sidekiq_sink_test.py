"""`ordo push-sidekiq` leaves in Redis what the clients of Sidekiq, Resque and Verk leave there, byte for byte."""
import json
import re
import time
import unittest

from project import Project, server_of

FLOAT = r"(\d{10}\.\d{1,6})"


class Sink(Project):
    store = "sqlite:"

    def setUp(self):
        super().setUp()
        self.redis = server_of("redis:")
        self.redis.empty()

    def sink(self, *arguments, **options):
        return self.ordo("push-sidekiq", *arguments, env={"REDIS_URL": self.redis.direct}, **options)

    def only(self, key):
        found = self.redis.ask("LRANGE", key, 0, -1)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def assert_now(self, seconds):
        self.assertLess(abs(float(seconds) - time.time()), 3600)

    def test_of_sidekiq(self):
        self.assertEqual(self.sink("ShipWorker", '[42, {"a": "ü/"}, 1.50]', "--jid", "0eae2c").stdout, "0eae2c\n")
        found = re.fullmatch(
            r'\{"retry":true,"queue":"default","args":\[42,\{"a":"ü/"\},1\.50\],"class":"ShipWorker","jid":"0eae2c",'
            rf'"created_at":{FLOAT},"enqueued_at":{FLOAT}\}}', self.only("queue:default"))
        self.assertTrue(found, self.only("queue:default"))
        self.assertEqual(found[1], found[2])
        self.assert_now(found[1])
        self.assertEqual(self.redis.ask("SMEMBERS", "queues"), ["default"])

    def test_of_sidekiq_with_options(self):
        jid = json.loads(self.sink("A::B", "--queue", "slow", "--retry", "5", "--fields", '{"tags":["x"],"backtrace":3}',
                                   "--json").stdout)["jid"]
        self.assertRegex(jid, r"^[0-9a-f]{24}$")
        self.assertTrue(self.only("queue:slow").startswith(
            f'{{"retry":5,"queue":"slow","tags":["x"],"backtrace":3,"args":[],"class":"A::B","jid":"{jid}","created_at":'))

    def test_of_sidekiq_for_later(self):
        self.sink("ShipWorker", "[42]", "--at", "4000000000", "--jid", "1")
        [text, score] = self.redis.ask("ZRANGE", "schedule", 0, -1, "WITHSCORES")
        self.assertEqual(score, "4000000000")
        self.assertRegex(text, r'^\{"retry":true,"queue":"default","class":"ShipWorker","args":\[42\],"jid":"1",'
                               rf'"created_at":{FLOAT}\}}$')
        self.assertEqual(self.redis.ask("EXISTS", "queues"), 0)

    def test_a_time_that_has_passed_is_now(self):
        self.sink("ShipWorker", "--at", "1000000000")
        self.assertIn('"enqueued_at"', self.only("queue:default"))

    def test_of_resque(self):
        self.assertEqual(self.sink("Archive", "[1]", "--dialect", "resque", "--queue", "files").stdout, "pushed 1\n")
        self.sink("Archive", "[2]", "--dialect", "resque", "--queue", "files")
        self.assertEqual(self.redis.ask("LRANGE", "resque:queue:files", 0, -1),
                         ['{"class":"Archive","args":[1]}', '{"class":"Archive","args":[2]}'])
        self.assertEqual(self.redis.ask("SMEMBERS", "resque:queues"), ["files"])

    def test_of_verk(self):
        jid = self.sink("Shop.Ship", '[42,{"a":"b"}]', "--dialect", "verk").stdout.strip()
        self.assertRegex(jid, r"^\d{2,20}$")
        found = re.fullmatch(
            r'\{"args":"\[42,\{\\"a\\":\\"b\\"\}\]","class":"Shop.Ship","created_at":null,"enqueued_at":(\d{10}),'
            r'"error_backtrace":null,"error_message":null,"failed_at":null,"finished_at":null,'
            rf'"jid":"{jid}","max_retry_count":25,"queue":"default","retried_at":null,"retry_count":0\}}',
            self.only("queue:default"))
        self.assertTrue(found, self.only("queue:default"))
        self.assert_now(found[1])
        self.assertEqual(self.redis.ask("EXISTS", "queues"), 0)

    def test_of_verk_for_later(self):
        self.sink("Shop.Ship", "--dialect", "verk", "--at", "4000000000", "--jid", "7")
        self.assertEqual(self.redis.ask("ZRANGE", "schedule", 0, -1, "WITHSCORES"), [
            '{"args":"[]","class":"Shop.Ship","created_at":null,"enqueued_at":null,"error_backtrace":null,"error_message":null,'
            '"failed_at":null,"finished_at":null,"jid":"7","max_retry_count":null,"queue":"default","retried_at":null,'
            '"retry_count":0}', "4000000000"])

    def test_many_from_a_file(self):
        lines = [{"class": "ShipWorker", "args": [i], "queue": "orders", "tags": ["many"]} for i in range(2500)]
        text = "\n".join(map(json.dumps, lines)).encode()
        self.assertEqual(self.sink("--ndjson", "-", stdin=text).stdout, "pushed 2500\n")
        pushed = [json.loads(text) for text in self.redis.ask("LRANGE", "queue:orders", 0, -1)][::-1]
        self.assertEqual([job["args"] for job in pushed], [[i] for i in range(2500)])
        self.assertEqual(len({job["jid"] for job in pushed}), 2500)
        self.assertEqual(list(pushed[0]), ["retry", "queue", "tags", "class", "args", "jid", "created_at", "enqueued_at"])

    def test_a_bad_line_is_named_and_those_before_it_are_pushed(self):
        said = self.sink("--ndjson", "-", stdin=b'{"class":"A"}\n\n{"class":"B","args":7}\n', code=1).stderr
        self.assertIn("pushed 1; line 3: the field 'args' has the wrong type", said)
        self.assertEqual(json.loads(self.only("queue:default"))["class"], "A")

    def test_what_a_dialect_cannot_say_is_refused(self):
        for arguments in (["A", "{}"], ["A", "--dialect", "resque", "--at", "+10s"], ["A", "--fields", '{"jid":"1"}'],
                          ["A", "--dialect", "verk", "--fields", '{"tags":[]}'], [], ["A", "--retry", '"x"'], ["A", "[1"]):
            self.sink(*arguments, code=2)
        self.assertEqual(self.redis.ask("DBSIZE"), 0)

    def test_a_server_that_is_not_there_is_named(self):
        said = self.ordo("push-sidekiq", "A", "--url", "redis+unix:///nowhere/redis.sock", code=1).stderr
        self.assertIn("/nowhere/redis.sock", said)


if __name__ == "__main__":
    unittest.main()
