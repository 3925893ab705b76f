"""Another payload for a waiting job, or for a dead one (docs/jobs.md, docs/retry.md)."""
import json
import unittest

from http_test import Http
from project import Project

LATER = ["--at", "2035-01-01T00:00:00Z"]


class Edit(Project):
    def setUp(self):
        super().setUp()
        self.config("max_retries = 1\nretry = { strategy = 'fixed', delay = '1h' }")
        self.make_store()

    def edit(self, job_id, payload, *more, code=0):
        return self.ordo("job", "orders", job_id, "edit", "--payload", json.dumps(payload), *more, code=code)

    def payloads(self, job_id):
        return [(job["payloads"], job["scores"]) for job in self.json("job", "orders", job_id)]


class Waiting(Edit):
    def test_without_a_node_it_is_stored_and_with_one_it_runs_so(self):
        self.push("42", {"total": 7}, "--score", "3", *LATER)
        told = self.edit("42", {"total": 8}).stdout
        self.assertEqual(told, "requested: '42' gets the new payload; stored, and carried out when a node runs\n")
        self.assertEqual(self.payloads("42"), [([{"total": 8}], [3])])
        self.assertEqual(self.stats()["length"], 1)
        self.ordo("job", "orders", "42", "run-now")
        self.drain()
        self.assertEqual(self.runs(), [("42", [{"total": 8}], -1)])
        self.assertEqual(self.stats()["length"], 0)

    def test_a_living_node_carries_it_out(self):
        self.push("42", 7, *LATER)
        self.start()
        self.until("a node has it", lambda: any(node["shards"] for node in self.json("nodes")))
        self.assertEqual(self.json("job", "orders", "42", "edit", "--payload", "8"), {"requested": 1})
        self.until("the owner tells it", lambda: self.payloads("42")[0][0] == [8])
        self.edit("42", 9)
        self.until("the owner tells it", lambda: self.payloads("42")[0][0] == [9])
        self.ordo("job", "orders", "42", "run-now")
        self.until_stats(processed=1)
        self.assertEqual(self.runs(), [("42", [9], -1)])

    def test_one_that_waits_for_its_retry_keeps_time_and_count(self):
        self.answer("return {'ok': request['jobs'][0]['payloads'] == ['good'], 'error': 'bad payload'}")
        self.push("42", "bad")
        node = self.start()
        self.until_stats(retrying=1)
        before = self.json("job", "orders", "42")[0]
        self.edit("42", "good")
        self.until("the owner tells it", lambda: self.payloads("42")[0][0] == ["good"])
        after = self.json("job", "orders", "42")[0]
        for name in ("run_at", "retry_count", "error", "scores"):
            self.assertEqual(after[name], before[name], name)
        node.kill()
        self.end_of(node)
        self.ordo("job", "orders", "42", "run-now")
        self.start()
        self.until_stats(processed=1)
        self.assertEqual(self.runs()[-1], ("42", ["good"], 0))

    def test_the_score_says_which_of_several(self):
        for payload, score in [("a", "1"), ("b", "2"), ("c", "2.5")]:
            self.push("42", payload, "--score", score, *LATER)
        told = self.edit("42", "new", code=1).stderr
        self.assertEqual(told, "ordo: edit: job '42' has 3 payloads; their scores are 1, 2, 2.5: say which one is meant; nothing was done\n")
        self.assertIn("no payload with the score 4", self.edit("42", "new", "--score", "4", code=1).stderr)
        self.edit("42", "new", "--score", "2.5")
        self.assertEqual(self.payloads("42"), [(["a", "b", "new"], [1, 2, 2.5])])
        self.edit("42", "a", "--score", "2")
        self.assertEqual(self.payloads("42"), [(["a", "new"], [1, 2.5])])

    def test_a_file_is_taken_as_it_is(self):
        self.push("42", 1, *LATER)
        (self.folder / "order.bin").write_bytes(b"\xff\x00 {")
        self.ordo("job", "orders", "42", "edit", "--payload-file", "order.bin")
        self.assertEqual(self.payloads("42")[0][0], [{"$base64": "/wAgew=="}])
        self.ordo("job", "orders", "42", "edit", "--payload-file", "-", stdin=b"[ 1 ]")
        self.assertEqual(self.payloads("42")[0][0], [[1]])

    def test_what_runs_is_left_alone(self):
        self.answer("while not os.path.exists('go'):\n    time.sleep(0.02)\nreturn {'ok': True}")
        self.push("42", "runs")
        self.start()
        self.until_stats(running=1)
        self.assertEqual(self.edit("42", "new", code=1).stderr, "ordo: edit: job '42' runs already; nothing was done\n")
        self.push("42", "waits")
        self.until("it waits beside it", lambda: len(self.payloads("42")) == 2)
        self.edit("42", "new")
        self.until("the owner tells it", lambda: (["new"],) in [(payloads,) for payloads, _ in self.payloads("42")])
        self.write("go", "")
        self.until_stats(processed=2)
        self.assertEqual([payloads for _, payloads, _ in self.runs()], [["runs"], ["new"]])

    def test_what_is_missing_or_too_much_is_refused(self):
        self.push("42", 1, *LATER)
        self.assertIn("edit needs the new payload", self.ordo("job", "orders", "42", "edit", code=2).stderr)
        self.ordo("job", "orders", "42", "edit", "--payload", "1", "--payload-file", "x", code=2)
        self.ordo("job", "orders", "42", "edit", "--payload", "{", code=2)
        self.assertIn("are for edit", self.ordo("job", "orders", "42", "cancel", "--payload", "1", code=2).stderr)
        self.assertIn("no job 'none'", self.edit("none", 1, code=1).stderr)
        (self.folder / "large").write_bytes(b"x" * (1024 * 1024 + 1))
        self.assertIn("at most 1048576 fit", self.ordo("job", "orders", "42", "edit", "--payload-file", "large", code=1).stderr)
        self.assertEqual(self.payloads("42")[0][0], [1])

    def test_its_partition_follows(self):
        self.config('partition = "/region"\npartition_limit = 1')
        self.answer("while not os.path.exists('go'):\n    time.sleep(0.02)\nreturn {'ok': True}")
        self.push("first", {"region": "east"})
        self.start()
        self.until_stats(running=1)
        self.push("second", {"region": "east"})
        self.until_stats(blocked_by_limit=1)
        self.edit("second", {"region": "west"})
        self.until_stats(running=2)
        self.write("go", "")
        self.until_stats(processed=2)


class Dead(Edit):
    def setUp(self):
        super().setUp()
        self.config("max_retries = 0")
        self.answer("return {'ok': request['jobs'][0]['payloads'][0] == 'good', 'error': 'bad payload'}")

    def test_it_is_fixed_and_comes_back_in_one_step(self):
        self.push("42", "bad")
        self.drain()
        self.assertIn("`ordo dead orders edit 42` changes it and brings it back", self.edit("42", "good", code=1).stderr)
        told = self.ordo("dead", "orders", "edit", "42", "--payload", '"good"').stdout
        self.assertEqual(told, "1 payload brought back with its new content\n")
        self.assertEqual(self.json("dead", "orders"), [])
        self.drain()
        self.assertEqual(self.runs()[-1], ("42", ["good"], -1))
        self.assertEqual((self.stats()["dead"], self.stats()["processed"]), (0, 1))

    def test_the_score_says_which_of_several(self):
        self.push("42", "x", "--score", "1", *LATER)
        self.push("42", "y", "--score", "2")
        self.ordo("job", "orders", "42", "kill")
        self.drain()
        self.assertEqual(self.json("dead", "orders")[0]["scores"], [1, 2])
        self.assertIn("their scores are 1, 2", self.ordo("dead", "orders", "edit", "42", "--payload", "1", code=1).stderr)
        self.assertEqual(self.json("dead", "orders", "edit", "42", "--payload", '"good"', "--score", "2"), {"edited": 1})
        self.drain()
        self.assertEqual(self.runs()[-1][1], ["good"])
        self.assertEqual(self.json("dead", "orders")[0]["scores"], [1])

    def test_what_says_too_little_or_too_much_is_refused(self):
        self.push("42", "bad")
        self.drain()
        for wrong in (["--all"], [], ["42", "43"], ["42", "--error", "bad"]):
            self.ordo("dead", "orders", "edit", *wrong, "--payload", "1", code=2)
        self.ordo("dead", "orders", "edit", "42", code=2)
        self.ordo("dead", "orders", "retry", "42", "--payload", "1", code=2)
        self.assertIn("no dead job in orders has the id 'none'", self.ordo("dead", "orders", "edit", "none", "--payload", "1", code=1).stderr)
        self.assertEqual(len(self.json("dead", "orders")), 1)


class OverHttp(Http):
    def test_payloads_are_put(self):
        self.config("max_retries = 0", node=self.node_config)
        self.answer("return {'ok': request['jobs'][0]['payloads'][0] == 'good', 'error': 'bad payload'}")
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": "a/b", "payload": 1, "score": 5, "run_at": "2035-01-01T00:00:00Z"}, {"id": "dies"}], status=201)
        self.until_stats(dead=1, scheduled=1)
        one = "/queues/orders/jobs/a%2Fb"
        self.assertEqual(self.call("PUT", one + "/payload", {"v": 2}, status=202), {"requested": 1})
        self.until("the owner tells it", lambda: self.items(one)[0]["payloads"] == [{"v": 2}])
        self.call("PUT", one + "/payload?score=5", b'{"$base64":"/w=="}', status=202)
        self.until("the owner tells it", lambda: self.items(one)[0]["payloads"] == [{"$base64": "/w=="}])
        self.assertIn("its scores are 5", self.call("PUT", one + "/payload?score=6", 1, status=409)["detail"])
        for body, query, status in [(b"", "", 400), (b"{", "", 400), (b"1", "?score=x", 400), (b"1", "?nonsense=1", 400)]:
            self.call("PUT", one + "/payload" + query, body, status=status)
        self.call("PUT", "/queues/orders/jobs/none/payload", 1, status=404)
        self.call("PUT", "/queues/orders/dead/none/payload", 1, status=404)
        self.assertEqual(self.call("PUT", "/queues/orders/dead/dies/payload", "good"), {"changed": 1, "skipped": [], "missing": []})
        self.until_stats(processed=1, dead=0)
        changes = [(change["action"], change["filter"], change["result"]) for change in self.json("audit")][::-1]
        self.assertEqual(changes[:2], [("edit", {"id": "a/b"}, "done")] * 2)
        self.assertEqual(changes[-1], ("edit_dead", {"id": "dies"}, "done"))


if __name__ == "__main__":
    unittest.main()
