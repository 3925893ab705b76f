"""Jobs that are unique at push, as a user sees them (docs/unique.md)."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import threading
import unittest

from project import ORDO, Project

DOCS = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs"

# Runs as long as there is a file `hold`.
HOLDS = """
while pathlib.Path("hold").exists():
    time.sleep(0.02)
return {"ok": True}
"""


class Unique(Project):
    def unique(self, rule, body="return {'ok': True}", queue=""):
        self.config(queue=f"unique = {{ {rule} }}\n" + queue)
        self.answer(body)

    def pushed(self, job_id, payload=None, *arguments, code=0):
        """What a push says: the id that it was stored under, or (the id that is there,)."""
        said = json.loads(self.push_any(job_id, payload, *arguments, "--json", code=code).stdout)
        self.assertEqual(said["pushed"], 0 if "existing" in said else 1)
        return (said["existing"],) if "existing" in said else said["id"]

    def push_any(self, job_id, payload=None, *arguments, code=0):
        payloads = [] if payload is None else ["--payload", json.dumps(payload)]
        return self.ordo("push", "orders", "--id", job_id, *payloads, *arguments, code=code)

    def hold(self):
        (self.folder / "hold").touch()

    def let_go(self):
        (self.folder / "hold").unlink()

    def becomes_free(self, job_id, *arguments):
        """Its key: the end of a job is durable a moment before that is free."""
        def is_pushed():
            command = ["push", "orders", "--id", job_id, *arguments, "--json"]
            done = subprocess.run([ORDO, *command], cwd=self.folder, capture_output=True, env=self.environment(), check=False)
            return done.returncode == 0 and json.loads(done.stdout)["pushed"] == 1

        self.until(f"{job_id} is pushed", is_pushed)

    def test_a_second_one_is_rejected_and_told_of_the_first(self):
        self.unique('by = "/n", scope = "queued_or_running"')
        self.assertEqual(self.pushed("1", {"n": 7}), "1")
        self.assertEqual(self.pushed("2", {"n": 7}, code=1), ("1",))
        self.assertIn("job '1' has the unique key", self.push_any("2", {"n": 7}, code=1).stderr)
        self.assertEqual(self.pushed("1", {"n": 7}, code=1), ("1",), "its own id, too")
        self.assertEqual(self.pushed("3", {"n": 8}), "3")
        self.assertEqual(self.pushed("4", {"x": 7}), "4", "it has no key")
        self.assertEqual(self.pushed("5", {"x": 7}), "5")
        self.assertEqual(self.pushed("6", {"n": 7}, "--kind", "other"), "6", "another kind is another key")
        self.assertEqual(self.stats()["length"], 5)

    def test_it_is_free_once_the_job_is_gone(self):
        self.unique('by = "id", scope = "queued_or_running"', HOLDS)
        self.hold()
        self.assertEqual(self.pushed("1"), "1")
        node = self.start()
        self.until("it runs", lambda: self.stats()["running"] == 1)
        self.assertEqual(self.pushed("1", code=1), ("1",))
        self.let_go()
        self.becomes_free("1")
        self.until("both are done", lambda: self.stats()["processed"] == 2)
        self.becomes_free("1", "--at", "+1h")
        node.terminate()
        self.assertEqual(self.end_of(node), 0)

    def test_a_drain_leaves_no_key_behind(self):
        self.unique('by = "/n", scope = "queued_or_running"')
        for turn in range(3):
            self.assertEqual(self.pushed(f"a{turn}", {"n": 1}), f"a{turn}")
            self.assertEqual(self.pushed(f"b{turn}", {"n": 1}, code=1), (f"a{turn}",))
            self.drain()
        self.assertEqual([job_id for job_id, _, _ in self.runs()], ["a0", "a1", "a2"])

    def test_a_killed_node_leaves_no_key_behind(self):
        self.unique('by = "id", scope = "queued_or_running"', HOLDS)
        self.hold()
        self.pushed("1")
        node = self.start()
        self.until("it runs", lambda: self.requests())
        node.kill()
        node.wait()
        self.assertEqual(self.pushed("1", code=1), ("1",), "it will run again")
        self.let_go()
        self.start()
        self.until("it is done", lambda: self.stats()["processed"] == 1)
        self.becomes_free("1")

    def test_retries_keep_it_and_death_does_not(self):
        self.unique('by = "id", scope = "queued_or_running"', "return {'error': 'no'}",
                    'max_retries = 1\nretry = { strategy = "fixed", delay = "1ms" }\n')
        self.pushed("1", {"n": 1})
        self.drain()
        self.assertEqual(self.stats()["dead"], 1)
        self.assertEqual(self.pushed("1", {"n": 2}, "--at", "+1h"), "1")
        refused = self.ordo("dead", "orders", "retry", "--all", code=1)
        self.assertIn("'1', as '1' is there", refused.stderr)
        self.assertEqual(self.stats()["dead"], 1)
        self.ordo("job", "orders", "1", "cancel")
        self.answer("return {'ok': True}")
        self.drain()
        self.assertEqual(self.json("dead", "orders", "retry", "--all"), {"retried": 1})
        self.assertEqual(self.pushed("1", {"n": 3}, code=1), ("1",), "it has its key again")
        self.drain()
        self.assertEqual(self.stats()["processed"], 1)
        self.assertEqual(self.pushed("1", {"n": 3}), "1")

    def test_a_queued_one_has_it_until_it_starts(self):
        self.unique('by = "/n", scope = "queued", on_conflict = "ignore"', HOLDS)
        self.hold()
        self.assertEqual(self.pushed("1", {"n": 1}), "1")
        self.assertEqual(self.pushed("2", {"n": 1}), ("1",))
        self.assertEqual(self.push_any("2", {"n": 1}).stdout, "1\n")
        self.start()
        self.until("it runs", lambda: self.requests())
        self.assertEqual(self.pushed("3", {"n": 1}), "3", "one runs, one waits")
        self.let_go()
        self.until("both are done", lambda: self.stats()["processed"] == 2)

    def test_a_dead_one_takes_the_key_again_that_was_free_from_its_start_on(self):
        self.unique('by = "/n", scope = "queued"', "return {'error': 'no'}", "max_retries = 0\n")
        for job_id in ("1", "2"):
            self.pushed(job_id, {"n": 1})
            self.drain()
        self.assertEqual(self.stats()["dead"], 2)
        self.assertEqual(self.json("dead", "orders", "retry", "1"), {"retried": 1})
        self.assertEqual(self.pushed("3", {"n": 1}, code=1), ("1",))
        refused = self.ordo("dead", "orders", "retry", "2", code=1)
        self.assertIn("'2', as '1' is there", refused.stderr)
        refused = self.ordo("dead", "orders", "retry", "--error", "no", "--yes", code=1)
        self.assertIn("'2', as '1' is there", refused.stderr)
        self.drain()
        refused = self.ordo("dead", "orders", "retry", "--error", "no", "--yes", code=1)
        self.assertIn("1 payload brought back", refused.stdout)
        self.assertEqual((self.stats()["dead"], self.stats()["length"]), (1, 1))

    def test_a_period_has_nothing_to_do_with_the_job(self):
        self.unique('by = "id", scope = "period", period = "1h"')
        self.assertEqual(self.pushed("1"), "1")
        self.drain()
        self.assertEqual(self.pushed("1", code=1), ("1",))
        self.unique('by = "id", on_conflict = "throttle", period = "1h"')
        self.assertEqual(self.pushed("1"), ("1",))
        self.unique('by = "/n", on_conflict = "throttle", period = "50ms"')
        self.becomes_free("2", "--payload", '{"n":5}')
        self.becomes_free("3", "--payload", '{"n":5}')

    def test_merge_replace_and_debounce_change_the_one_that_waits(self):
        self.unique('by = "/n", on_conflict = "merge"')
        self.assertEqual(self.pushed("1", {"n": 1, "v": 1}, "--score", "1"), "1")
        merged = self.push_any("2", {"n": 1, "v": 2}, "--score", "2", "--json").stdout
        self.assertEqual(json.loads(merged), {"pushed": 1, "id": "1", "merged": True})
        self.unique('by = "/n", on_conflict = "replace"')
        self.assertEqual(self.pushed("3", {"n": 2, "v": 1}), "3")
        self.assertEqual(self.pushed("4", {"n": 2, "v": 2}), "4")
        self.unique('by = "/n", on_conflict = "debounce", period = "1h"')
        self.assertEqual(self.pushed("5", {"n": 3, "v": 1}, "--at", "2040-01-01T00:00:00Z"), "5")
        self.assertEqual(self.pushed("6", {"n": 3, "v": 2}, "--at", "2040-01-01T00:30:00Z"), "6")
        self.assertEqual(self.pushed("7", {"n": 3, "v": 3}, "--at", "2040-01-01T05:00:00Z"), "7")
        self.drain()
        self.assertEqual([(job_id, [payload["v"] for payload in payloads]) for job_id, payloads, _ in sorted(self.runs())],
                         [("1", [1, 2]), ("4", [2])])
        [left] = self.json("jobs", "orders")
        self.assertEqual((left["id"], left["run_at"]), ("7", "2040-01-01T01:00:00Z"))

    def test_many_in_a_file(self):
        self.unique('by = "/n", scope = "queued_or_running"')
        lines = [{"id": str(i), "payload": {"n": i % 10}} for i in range(30)] + [{"id": "own", "unique": "k"}, {"id": "too", "unique": "k"}]
        done = self.ordo("push", "orders", "--ndjson", "-", stdin="\n".join(map(json.dumps, lines)).encode(), code=1)
        self.assertIn("pushed 11; rejected 21", done.stderr)
        self.assertIn("line 11: job '0' is there", done.stderr)
        self.assertEqual(self.stats()["length"], 11)
        self.unique('by = "/n", scope = "queued_or_running", on_conflict = "ignore"')
        self.assertEqual(self.push_lines(lines).stdout, "pushed 0\n")

    def test_of_many_producers_one_wins(self):
        self.unique('by = "/n", scope = "queued_or_running", on_conflict = "ignore"')
        self.make_store()
        lines = [{"payload": {"n": i}} for i in range(100)]
        producers = [threading.Thread(target=self.push_lines, args=(lines,)) for _ in range(4)]
        for producer in producers:
            producer.start()
        for producer in producers:
            producer.join()
        self.assertEqual(self.stats()["length"], 100)

    def test_a_cancelled_job_and_a_removed_queue_leave_none(self):
        self.unique('by = "id", scope = "queued_or_running"')
        self.pushed("1", None, "--at", "+1h")
        self.ordo("job", "orders", "1", "cancel")
        self.drain()
        self.assertEqual(self.pushed("1"), "1")
        self.ordo("remove", "orders", "--with-jobs")
        self.assertEqual(self.pushed("1"), "1")

    def test_a_reshard_keeps_them(self):
        self.unique('by = "id", scope = "queued_or_running"', queue="shards = 2\n")
        self.pushed("1")
        self.ordo("reshard", "orders", "5")
        self.unique('by = "id", scope = "queued_or_running"', queue="shards = 5\n")
        self.assertEqual(self.pushed("1", code=1), ("1",))
        self.drain()
        self.assertEqual(self.pushed("1"), "1")

    def test_a_copy_brings_them(self):
        self.unique('by = "id", scope = "queued_or_running"')
        self.pushed("1")
        self.unique('by = "id", scope = "period"')
        self.pushed("2")
        url = self.server.direct if self.server else "sqlite:ordo.db"
        self.ordo("copy", url, "sqlite:copied.db")
        config = (self.folder / "ordo.toml").read_text().replace(url, "sqlite:copied.db", 1)
        self.write("ordo.toml", config)
        self.assertEqual(self.pushed("1", code=1), ("1",))
        self.drain()
        self.assertEqual(self.pushed("2", code=1), ("2",))
        self.assertEqual(self.pushed("1"), "1")

    def test_bad_rules_and_calls_say_what_is_wrong(self):
        for rule, why in [('by = "nobody"', "JSON pointer"), ('scope = "period", on_conflict = "merge"', "queued"),
                          ('on_conflict = "throttle", scope = "queued"', "period"),
                          ('scope = "period", period = "169h"', "168h"), ('what = 1', "unknown key"), ('scope = "ever"', "ever")]:
            self.unique(rule)
            self.assertIn(why, self.ordo("push", "orders", "--id", "1", code=2).stderr, rule)
        self.config()
        self.assertIn("states no rule", self.ordo("push", "orders", "--id", "1", "--unique", "k", code=1).stderr)
        self.unique('by = "id"')
        self.assertIn("is empty", self.ordo("push", "orders", "--id", "1", "--unique", "", code=2).stderr)


class Documented(Project):
    """docs/unique.md, done as it stands there."""

    def test_the_examples_do_as_they_say(self):
        text = (DOCS / "unique.md").read_text()
        blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", text)
        [config] = [block for language, block in blocks if language == "toml"]
        [shell] = [block for language, block in blocks if not language]
        url = self.server.direct if self.server else "sqlite:ordo.db"
        self.write("ordo.toml", f'store = "{url}"\n' + config)
        self.write("reports.py", (self.folder / "worker.py").read_text())
        for line in shell.strip().splitlines():
            command, _, says = line.partition("  # ")
            words = shlex.split(command)
            self.assertEqual(words[0], "ordo")
            refused = says.startswith("refused")
            done = self.ordo(*words[1:], code=1 if refused else 0)
            if refused:
                self.assertIn("has the unique key already", done.stderr)
            else:
                self.assertEqual(done.stdout.strip(), says.strip())
        self.drain()
        self.assertEqual({job_id for job_id, _, _ in self.runs()}, {"monday", "wednesday"})


if __name__ == "__main__":
    unittest.main()
