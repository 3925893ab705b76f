"""Jobs that wait for a response from outside, as a user sees them (docs/responses.md)."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

from project import ORDO, PATIENCE_S, Project

DOCS = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs"

# Says first what it waits for, as a program does before it sends its request.
WAITS = """
job = request["jobs"][0]
if "response" in job:
    return {"ok": True}
return {"results": {job["id"]: {"wait": "call-" + job["id"], "timeout": TIMEOUT}}}
"""

EXPECTS = """
job = request["jobs"][0]
if "response" in job:
    return {"ok": True}
print(json.dumps({"expect": ["call-" + job["id"]]}), flush=True)
answer = json.loads(sys.stdin.readline())
pathlib.Path("expected.json").write_text(json.dumps(answer))
while pathlib.Path("hold").exists():
    time.sleep(0.02)
return {"results": {job["id"]: {"wait": "call-" + job["id"], "timeout": 600}}}
"""


class Responses(Project):
    def wait(self, timeout=600, queue="", body=WAITS):
        self.config(queue=queue)
        self.answer(body.replace("TIMEOUT", str(timeout)))

    def waiting(self, *ids):
        """A node runs, and these jobs wait."""
        self.push_lines([{"id": job_id, "payload": {"n": 1}} for job_id in ids])
        node = self.start()
        self.until_stats(awaiting=len(ids), running=0)
        return node

    def respond(self, job_id, body, *arguments, code=0):
        return self.ordo("respond", "orders", "call-" + job_id, "--body", body, *arguments, code=code).stdout.strip()

    def responses(self):
        return [job["response"] for request in self.requests() for job in request["jobs"] if "response" in job]

    def unfinished(self):
        stats = self.stats()
        return stats["awaiting"] + stats["running"] + stats["length"]

    def all_done(self):
        self.until("all is done", lambda: self.unfinished() == 0)

    def answer_all(self):
        """Answers who waits and was not answered yet; true: nobody is left."""
        for wait in self.json("waits", "orders"):
            if wait["job"]:
                self.assertEqual(self.respond(wait["job"]["id"], "1", "--message-id", os.urandom(8).hex()), "accepted")
        return self.unfinished() == 0

    def test_an_answer_makes_no_store(self):
        for arguments in [["orders", "k"], ["--token", "A" * 60]]:
            self.assertIn("no store at", self.ordo("respond", *arguments, "--body", "1", "--store", "sqlite:nowhere.db", code=2).stderr)
        self.assertFalse((self.folder / "nowhere.db").exists())

    def test_a_response_ends_the_job(self):
        self.wait()
        self.waiting("1", "2")
        self.assertEqual({job["state"] for job in self.json("jobs", "orders")}, {"awaiting"})
        self.assertEqual({job["id"] for job in self.json("jobs", "orders", "--state", "awaiting")}, {"1", "2"})
        waits = self.json("waits", "orders")
        self.assertEqual([(wait["key"], wait["job"]["id"]) for wait in waits], [("call-1", "1"), ("call-2", "2")])
        self.assertIn("call-1", self.ordo("waits", "orders").stdout)
        self.assertEqual(self.respond("1", '{"ok": true}', "--message-id", "m1"), "accepted")
        self.assertEqual(self.respond("1", '{"ok": true}', "--message-id", "m1"), "duplicate")
        self.assertEqual(self.respond("1", '{"ok": true}', "--message-id", "m2", code=1), "late")
        self.assertEqual(self.respond("2", "[1]"), "accepted")
        self.all_done()
        self.assertEqual(sorted(self.responses(), key=lambda response: response["key"]),
                         [{"key": "call-1", "body": {"ok": True}, "message_id": "m1"},
                          {"key": "call-2", "body": [1], "message_id": ""}])
        self.assertEqual(self.stats()["processed"], 2)
        self.assertEqual(self.json("waits", "orders"), [])

    def test_a_drain_leaves_what_waits(self):
        self.drains_behind("", "k")

    def test_a_drain_leaves_what_waits_for_the_room_of_what_waits(self):
        self.drains_behind("shards = 1\nlimit = 1\n", None)

    def drains_behind(self, queue, key):
        self.wait(queue=queue)
        self.push("1", None, *(["--key", key] if key else []))
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 0 retrying, 1 awaiting, 0 paused, 0 unserved, 0 dead")
        self.push("2", None, *(["--key", key] if key else []))
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 0 retrying, 2 awaiting, 0 paused, 0 unserved, 0 dead")

    def test_many_begin_to_wait_at_once(self):
        self.wait(queue="shards = 5\nthreads = 10\n")
        self.waiting(*map(str, range(200)))
        self.assertEqual(len(self.runs()), 200)

    def test_it_outlives_every_node(self):
        self.wait()
        node = self.waiting("1")
        node.kill()
        node.wait()
        self.assertEqual(self.respond("1", '"while nobody runs"'), "accepted")
        self.start()
        self.all_done()
        self.assertEqual([response["body"] for response in self.responses()], ["while nobody runs"])
        self.assertEqual(len(self.runs()), 2, "perform has not run again")

    def test_without_a_response_the_attempt_has_failed(self):
        self.wait(timeout=0.2, queue='max_retries = 0\n')
        self.push("1")
        self.start()
        self.until("it is dead", lambda: self.stats()["dead"] == 1)
        [dead] = self.json("dead", "orders", "list")
        self.assertIn("no response to 'call-1' came in time", dead["error"])
        self.assertEqual(self.respond("1", "{}", code=1), "late")

    def letters(self):
        letters = self.json("waits", "orders", "--dead-letters")
        return [(letter["why"], letter["key"], letter["body"]) for letter in letters]

    def test_what_no_job_handles_is_a_dead_letter(self):
        self.wait(queue='response_ttl = "200ms"\n')
        self.waiting("1", "2")
        self.assertEqual(self.letters(), [])
        self.assertEqual(self.respond("1", '{"ok": true}'), "accepted")
        for _ in range(2):
            self.assertEqual(self.respond("1", '"again"', "--message-id", "m2", code=1), "late")
        self.assertEqual(self.letters(), [("late", "call-1", "again")])
        [letter] = self.json("waits", "orders", "--dead-letters")
        self.assertEqual(list(letter), ["key", "why", "job", "message_id", "body", "at"])
        self.assertEqual((letter["job"]["id"], letter["message_id"]), ("1", "m2"))
        self.assertEqual(self.respond("nobody", "[7]"), "buffered")
        self.until("nobody has come for it", lambda: len(self.letters()) == 2)
        self.assertEqual(self.letters()[1], ("unknown", "call-nobody", [7]))
        self.assertEqual(self.stats()["dead_letters"], 2)
        self.assertEqual([wait["key"] for wait in self.json("waits", "orders")], ["call-2"])
        self.assertIn("2 dead letters", self.ordo("stats").stdout)
        table = self.ordo("waits", "orders", "--dead-letters").stdout
        self.assertRegex(table, r"call-1 +late +1 +m2 +\d+ [sm] ago")

    def test_what_the_job_has_not_used_is_a_dead_letter(self):
        self.wait()
        node = self.waiting("1")
        self.ordo("pause", "orders")
        self.until("nothing starts", lambda: [queue["state"] for queue in self.json("queues") if queue["name"] == "orders"] == ["paused"])
        self.assertEqual(self.respond("1", '"unused"'), "accepted")
        self.ordo("job", "orders", "1", "cancel")
        self.until("it is kept", lambda: self.letters() == [("unused", "call-1", "unused")])
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.ordo("resume", "orders")
        self.drain()
        self.assertEqual(self.responses(), [])
        self.assertEqual(self.letters(), [("unused", "call-1", "unused")])

    def test_an_early_response_is_kept(self):
        self.wait()
        self.make_store()
        self.assertEqual(self.respond("1", '"early"'), "buffered")
        self.assertEqual([wait["job"] for wait in self.json("waits", "orders")], [None])
        self.push("1")
        self.start()
        self.until("it is done", lambda: self.stats()["processed"] == 1)
        self.assertEqual([response["body"] for response in self.responses()], ["early"])

    def test_without_response_ttl_nothing_is_kept(self):
        self.wait(queue='response_ttl = "0s"\n')
        self.make_store()
        self.assertEqual(self.respond("1", "{}", code=1), "unknown")
        self.assertEqual(self.json("waits", "orders"), [])

    def test_no_more_than_a_bound_is_kept_for_nobody(self):
        self.wait()
        self.make_store()
        (self.folder / "body").write_bytes(b"x" * (1 << 20))
        respond = ("respond", "orders", "--body-file", "body", "--message-id", "m")
        for key in range(64):
            self.assertEqual(self.ordo(*respond, str(key)).stdout, "buffered\n")
        full = self.ordo(*respond, "call-1", code=1)
        self.assertEqual(full.stdout, "full\n")
        self.assertIn("nobody waits for 'call-1' in queue 'orders' yet, and the queue keeps no more", full.stderr)
        self.assertEqual(self.ordo(*respond, "0").stdout, "duplicate\n")
        self.assertEqual(len(self.json("waits", "orders")), 64)
        self.waiting("1")
        self.assertEqual(self.respond("1", "1"), "accepted")
        self.all_done()

    def test_what_is_expected_may_come_during_the_run(self):
        self.wait(body=EXPECTS)
        (self.folder / "hold").touch()
        self.push("1")
        self.start()
        self.until("it is expected", lambda: self.json("waits", "orders"))
        self.assertEqual(self.respond("1", '"quick"'), "accepted")
        (self.folder / "hold").unlink()
        self.until("it is done", lambda: self.stats()["processed"] == 1)
        self.assertIs(self.expected()["expected"], True)
        self.assertEqual([response["body"] for response in self.responses()], ["quick"])

    def expected(self):
        return json.loads((self.folder / "expected.json").read_text())

    def test_a_token_answers_it(self):
        self.wait(body=EXPECTS)
        self.waiting("1")
        token = self.expected()["token"]
        self.assertRegex(token, "^[A-Za-z0-9_-]{44}$")
        forged = token[:-1] + ("A" if token[-1] != "A" else "B")
        for bad in (forged, "x", "A" * 60, "A" * 100000, os.fsdecode(b"\xff"), " ", ""):
            refused = self.ordo("respond", "--token", bad, "--body", "1", code=1)
            self.assertEqual(refused.stdout, "refused\n")
            self.assertEqual(refused.stderr, "ordo: respond: that token is none of this store's, or too old\n")
        self.assertEqual([wait["key"] for wait in self.json("waits", "orders")], ["call-1"])
        self.assertNotIn(token[6:], self.ordo("waits", "orders").stdout + self.ordo("waits", "orders", "--json").stdout)
        respond = ("respond", "--token", token, "--body", '{"ok": true}', "--message-id", "m1")
        self.assertEqual(self.ordo(*respond).stdout, "accepted\n")
        self.assertEqual(self.ordo(*respond, "--json").stdout, '{"response":"duplicate"}\n')
        late = self.ordo("respond", "--token", token, "--body", "2", code=1)
        self.assertEqual((late.stdout, late.stderr), ("late\n", "ordo: respond: the wait is over, or has another response\n"))
        self.all_done()
        self.assertEqual(self.responses(), [{"key": "call-1", "body": {"ok": True}, "message_id": "m1"}])
        self.assertEqual(self.ordo("respond", "--token", token, "--body", "2", code=1).stdout, "late\n")
        self.assertEqual(self.json("waits", "orders"), [], "nothing is kept for a token")

    def test_each_attempt_has_a_token_of_its_own(self):
        once = 'pathlib.Path("again").touch()\nreturn {"ok": False, "error": "no"}\n'
        self.wait(queue='retry = { strategy = "fixed", delay = "1ms" }\n', body=EXPECTS.replace(
            'while pathlib', 'if not pathlib.Path("again").exists():\n' +
            '    pathlib.Path("expected.json").rename("first.json")\n' +
            "".join("    " + line + "\n" for line in once.splitlines()) + "while pathlib"))
        self.waiting("1")
        first, second = json.loads((self.folder / "first.json").read_text())["token"], self.expected()["token"]
        self.assertNotEqual(first, second)
        self.assertEqual(self.ordo("respond", "--token", first, "--body", "1", code=1).stdout, "late\n")
        self.assertEqual(self.ordo("respond", "--token", "-", "--body", "2", stdin=second.encode() + b"\n").stdout, "accepted\n")
        self.all_done()
        self.assertEqual([response["body"] for response in self.responses()], [2])

    def test_a_job_that_waits_has_its_key(self):
        self.wait()
        self.push_lines([{"id": "1", "key": "k"}, {"id": "2", "key": "k"}])
        self.start()
        self.until("it waits", lambda: self.stats()["awaiting"] == 1)
        self.push("1", None, "--key", "k")  # stands beside it
        self.assertEqual(self.stats()["length"], 2)
        self.respond("1", "{}", "--message-id", "a")
        self.until("the next waits", lambda: [wait["job"]["id"] for wait in self.json("waits", "orders")] == ["2"])
        self.respond("2", "{}")
        self.until("the pushed one waits", lambda: [wait["job"]["id"] for wait in self.json("waits", "orders")] == ["1"])
        self.respond("1", "{}", "--message-id", "b")
        self.all_done()

    def test_what_it_keeps_of_limits_and_locks_is_the_queues_choice(self):
        for rules, wait in (("limit = 1", 1), ('limit = 1\nhold = "dispatch"', 3),
                            ('lock = "payload"', 3), ('lock = "payload"\nlock_span = "response"', 1)):
            with self.subTest(rules):
                self.wait(queue=rules + "\n")
                self.push_lines([{"id": job_id, "payload": 1} for job_id in "123"])
                node = self.start()
                self.until("so many wait", lambda: self.stats()["awaiting"] == wait)
                self.until("all is done", self.answer_all)
                node.terminate()
                self.end_of(node)

    def test_a_cancel_ends_it(self):
        self.wait()
        self.waiting("1")
        self.ordo("job", "orders", "1", "cancel")
        self.all_done()
        self.until("its wait is closed", lambda: self.json("waits", "orders") == [])
        self.assertEqual(self.respond("1", "{}", code=1), "late")

    def test_on_response_is_retried(self):
        self.wait(queue='retry = { strategy = "fixed", delay = "1ms" }\n', body=WAITS.replace(
            'return {"ok": True}', 'return {"error": "not yet"} if not pathlib.Path("ready").exists() else {"ok": True}'))
        self.waiting("1")
        self.respond("1", '"again"')
        self.until("it failed twice", lambda: self.stats()["failed"] >= 2)
        (self.folder / "ready").touch()
        self.all_done()
        self.assertGreaterEqual(len(self.responses()), 3)
        self.assertEqual({response["body"] for response in self.responses()}, {"again"})

    def test_two_jobs_cannot_wait_for_one_key(self):
        self.wait(queue="max_retries = 0\n", body=WAITS.replace('"call-" + job["id"]', '"same"'))
        self.push_lines([{"id": "1"}, {"id": "2"}])
        self.start()
        self.until_stats(dead=1, awaiting=1)
        [dead] = self.json("dead", "orders", "list")
        self.assertIn("another job waits for it", dead["error"])

    def test_a_reshard_takes_them_along(self):
        self.wait(queue="shards = 2\n")
        node = self.waiting("1", "2", "3")
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual(self.respond("2", '"before"'), "accepted")
        self.ordo("reshard", "orders", "5")
        self.assertEqual(self.unfinished(), 3)
        self.config(queue="shards = 5\n")
        self.assertEqual(self.respond("1", '"behind"'), "accepted")
        self.assertEqual(self.respond("3", '"behind"'), "accepted")
        self.start()
        self.all_done()
        self.assertEqual(sorted(response["body"] for response in self.responses()), ["before", "behind", "behind"])
        self.assertEqual(len(self.runs()), 6)

    def test_a_copy_takes_them_along(self):
        self.wait()
        node = self.waiting("1", "2")
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertEqual(self.respond("1", '"before"'), "accepted")
        self.assertEqual(self.respond("3", '"early"'), "buffered")
        url = self.server.direct if self.server else "sqlite:ordo.db"
        self.ordo("copy", url, "sqlite:copied.db")
        config = (self.folder / "ordo.toml").read_text().replace(url, "sqlite:copied.db", 1)
        self.write("ordo.toml", config)
        self.assertEqual(self.respond("2", '"behind"'), "accepted")
        self.push("3")
        self.start()
        self.all_done()
        self.assertEqual(sorted(response["body"] for response in self.responses()), ["before", "behind", "early"])

    def test_bad_calls_say_what_is_wrong(self):
        self.wait()
        self.make_store()
        self.assertIn("one of the two", self.ordo("respond", "orders", "k", code=2).stderr)
        for both in (("orders", "k", "--token", "T"), ("orders",), ()):
            self.assertIn("one of the two", self.ordo("respond", *both, "--body", "1", code=2).stderr)
        self.assertIn("JSON", self.ordo("respond", "orders", "k", "--body", "{", code=2).stderr)
        self.assertIn("at most 255", self.ordo("respond", "orders", "k" * 256, "--body", "1", code=2).stderr)
        self.assertIn("no queue", self.ordo("respond", "nobody", "k", "--body", "1", code=1).stderr)


class Documented(Project):
    """docs/responses.md, done as it stands there."""

    def blocks(self, language):
        return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", (DOCS / "responses.md").read_text())

    def test_the_examples_do_as_they_say(self):
        configs, programs = self.blocks("toml"), self.blocks("python")
        shells = [block for block in self.blocks("") if "ordo respond" in block]
        self.assertEqual((len(configs), len(programs), len(shells)), (2, 2, 2))
        url = self.server.direct if self.server else "sqlite:ordo.db"
        self.write("ordo.toml", f'store = "{url}"\n' + "\n".join(configs))
        self.write("calls.py", programs[0])
        self.write("approvals.py", programs[1])
        self.start()
        for queue, shell in zip(("calls", "approvals"), shells):
            push, *answers = shell.strip().splitlines()
            self.assertTrue(push.startswith("ordo push " + queue), push)
            self.shell(push)
            self.until("it waits", lambda queue=queue: self.stats(queue)["awaiting"] == 1)
            for line in answers:
                command, _, says = line.partition("# ")
                self.assertEqual(self.shell(command).splitlines()[0].split()[0], says.split()[0].rstrip(","), line)
            self.until("it is done", lambda queue=queue: self.stats(queue)["processed"] == 1)

    @unittest.skipUnless(Project.store == "sqlite:", "it has a store of its own")
    def test_the_roundtrip_of_webhooks(self):
        run = DOCS.parent / "examples" / "webhook_roundtrip" / "run.py"
        done = subprocess.run([sys.executable, "-B", run, "--ordo", ORDO, "--calls", "30"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = re.search(r"30 of 30 calls were made and answered; open at once: (\d+) at most \(east (\d+), north (\d+), west (\d+)\)",
                         done.stdout)
        self.assertTrue(said, done.stdout)
        for most, limit in zip(map(int, said.groups()), (10, 4, 3, 3)):
            self.assertLessEqual(most, limit)

    def shell(self, command):
        words = shlex.split(command)
        self.assertEqual(words[0], "ordo")
        stdin = (self.folder / words.pop()).read_bytes() if "<" in words else b""
        code = 1 if "AAAA" in words else 0
        return self.ordo(*(word for word in words[1:] if word != "<"), stdin=stdin, code=code).stdout or "\n"


if __name__ == "__main__":
    unittest.main()
