"""Periodic jobs, as a user sees them (docs/periodic.md)."""
import datetime
import os
import pathlib
import re
import shlex
import signal
import unittest

from project import Project

DOCS = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs"


def time_of(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)


SHORT = "lease = '2s'"  # where a node is killed, and runs may be repeated


class Periodic(Project):
    def schedule(self, settings, more="", node=""):
        self.config(queue="shards = 1\n", node=node, more=f"[periodic.beat]\nqueue = 'orders'\n{settings}\n{more}")

    def ticks(self):
        """When what has run had ticked, in the order of the runs."""
        return [job_id.removeprefix("beat@") for job_id, _, _ in self.runs() if job_id.startswith("beat@")]

    def shown(self, name="beat"):
        return next(schedule for schedule in self.json("periodic") if schedule["name"] == name)

    def until_ticks(self, count):
        self.until(f"{count} ticks have run", lambda: len(self.ticks()) >= count)

    def assert_seconds_in_a_row(self, ticks):
        times = [time_of(tick) for tick in ticks]
        self.assertEqual(times, [times[0] + datetime.timedelta(seconds=at) for at in range(len(times))])

    def test_each_tick_is_a_job(self):
        self.schedule("every = '1s'\npayload = { report = 'daily', pages = [1, 2.5] }\nmissed = 'all'\noverlap = 'queue'")
        self.start()
        self.until_ticks(3)
        self.assert_seconds_in_a_row(self.ticks())
        job_id, payloads, _ = self.runs()[0]
        self.assertEqual(payloads, [{"report": "daily", "pages": [1, 2.5]}])
        self.assertRegex(job_id, r"^beat@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(self.requests()[0]["jobs"][0]["key"], "beat")

    def test_a_list_shows_the_next_five(self):
        self.schedule("cron = '30 5 * * mon-fri'\ntz = 'Europe/Moscow'\npriority = 7",
                      more="[periodic.never]\nqueue = 'orders'\ncron = '0 0 29 2 *'\nmissed = 'skip'\n")
        self.make_store()
        shown = self.shown()
        self.assertEqual(len(shown["next"]), 5)
        for text in shown["next"]:
            at = time_of(text)
            self.assertEqual((at.hour, at.minute), (2, 30))
            self.assertLess(at.weekday(), 5)
        self.assertEqual({key: shown[key] for key in ("queue", "kind", "key", "cron", "every", "tz", "priority", "missed", "stated", "last")},
                         {"queue": "orders", "kind": "orders", "key": "beat", "cron": "30 5 * * mon-fri", "every": None,
                          "tz": "Europe/Moscow", "priority": 7, "missed": "once", "stated": False, "last": None})
        text = self.ordo("periodic").stdout
        self.assertIn("no node states it", text)
        self.assertEqual(len(re.findall(r"\b(?:today|tomorrow|[A-Z][a-z]{2}|\d{4}-\d\d-\d\d) 02:30$|\bin \d+ [sm]$", text, re.MULTILINE)), 5, text)

    def test_run_now_pause_and_resume(self):
        self.schedule("every = '365d'\npayload = '{\"a\": 1}'")
        self.start()
        self.until("a node states it", lambda: self.shown()["stated"])
        job_id = self.ordo("periodic", "run", "beat").stdout.strip()
        self.until("it has run", lambda: self.runs() == [(job_id, [{"a": 1}], -1)])
        self.ordo("periodic", "pause", "beat")
        self.until("it is paused", lambda: self.shown()["paused"])
        self.assertIn("paused", self.ordo("periodic", "list").stdout)
        self.ordo("periodic", "resume", "beat")
        self.until("it goes on", lambda: not self.shown()["paused"])
        refused = self.ordo("periodic", "run", "beet", code=1)
        self.assertIn("did you mean 'beat'?", refused.stderr)
        self.ordo("periodic", "stop", "beat", code=2)
        self.ordo("periodic", "run", code=2)

    def test_a_pause_outlives_its_nodes(self):
        self.schedule("every = '1s'\nmissed = 'all'", node=SHORT)
        node = self.start()
        self.until_ticks(1)
        self.ordo("periodic", "pause", "beat")
        self.until("it is paused", lambda: self.shown()["paused"])
        node.kill()
        self.end_of(node)
        self.start()
        self.until("the next node knows", lambda: self.shown()["stated"] and self.shown()["paused"])
        self.push("other")
        self.until("it works", lambda: any(job_id == "other" for job_id, _, _ in self.runs()))
        pushed = self.shown()["pushed"]
        self.ordo("periodic", "resume", "beat")
        self.until("it goes on", lambda: self.shown()["pushed"] > pushed)
        shown = self.shown()
        self.assertEqual(shown["missed_ticks"], 0)

    def test_owners_are_killed_and_no_tick_is_lost_or_doubled(self):
        self.schedule("every = '1s'\nmissed = 'all'\noverlap = 'queue'", node=SHORT)
        self.start()
        self.start()
        for _ in range(3):
            self.until_ticks(len(self.ticks()) + 2)
            owner = self.owner()["pid"]
            os.kill(owner, signal.SIGKILL)
            self.start()
        self.until_ticks(len(self.ticks()) + 5)
        for node in self.nodes:
            node.terminate()
        for node in self.nodes:
            self.end_of(node)
        # A run whose node was killed comes again: the same tick, under the same id.
        ran = sorted(set(self.ticks()))
        self.assert_seconds_in_a_row(ran)
        shown = self.shown()
        self.assertEqual(shown["missed_ticks"], 0)
        self.assertGreaterEqual(shown["pushed"], len(ran))

    def test_what_was_missed_is_pushed_as_its_policy_says(self):
        names = ("skip", "once", "all")
        more = "".join(f"[periodic.{name}]\nqueue = 'orders'\nevery = '1s'\nmissed = '{name}'\noverlap = 'queue'\n" for name in names)
        self.schedule("every = '365d'", more=more)
        node = self.start()
        self.until("all have ticked", lambda: all(self.shown(name)["pushed"] > 0 for name in names))
        node.terminate()
        self.end_of(node)
        before = {name: self.shown(name) for name in names}
        self.start()
        # Of the last minute everything is pushed, whatever the policy.
        self.until("they go on", lambda: all(self.shown(name)["pushed"] > before[name]["pushed"] + 2 for name in names))
        for name in names:
            self.assertEqual(self.shown(name)["missed_ticks"], 0)

    def test_ticks_are_skipped_while_the_job_of_one_is_there(self):
        self.schedule("every = '1s'")
        self.start()
        self.until_ticks(1)
        self.ordo("pause", "orders")
        self.until("ticks are skipped", lambda: self.shown()["skipped_ticks"] >= 3)
        shown = self.shown()
        self.assertEqual(shown["missed_ticks"], 0)
        self.assertTrue(shown["held_by"].startswith("beat@"), shown)
        self.assertIn("is not over", self.ordo("periodic").stdout)
        self.assertIn("ticks of schedule 'beat' are skipped", self.ordo("doctor").stdout)
        self.ordo("resume", "orders")
        self.until_ticks(len(self.ticks()) + 2)
        self.assertEqual(len(self.ticks()), len(set(self.ticks())))
        self.until("nothing is held back", lambda: self.shown()["held_by"] is None)

    def test_what_another_node_states_is_in_force_for_the_owner(self):
        self.config(queue="shards = 1\n")
        self.start()
        self.push("first")
        self.until("a node works", self.runs)
        self.config(queue="shards = 1\n",
                    more="[queue.other]\ncommand = ['python3', '-B', 'worker.py']\n[periodic.beat]\nqueue = 'orders'\nevery = '1s'\n")
        other = self.start("--queue", "other")
        self.until_ticks(2)
        other.terminate()
        self.end_of(other)
        self.until("nobody states it", lambda: not self.shown()["stated"])

    def test_reshard_keeps_what_was_pushed(self):
        self.config(more="[periodic.beat]\nqueue = 'orders'\nevery = '1s'\nmissed = 'all'\noverlap = 'queue'\n"
                    "[periodic.still]\nqueue = 'orders'\nevery = '365d'\n")
        self.start()
        self.until_ticks(2)
        self.ordo("periodic", "pause", "still")
        self.until("it is paused", lambda: self.shown("still")["paused"])
        pushed = self.shown()["pushed"]
        self.ordo("reshard", "orders", "3")
        self.until("it goes on", lambda: self.shown()["pushed"] > pushed + 1)
        self.assertTrue(self.shown("still")["paused"])
        self.until_ticks(len(self.ticks()) + 2)
        self.assert_seconds_in_a_row(sorted(set(self.ticks())))

    def test_bad_schedules_are_named_with_their_line(self):
        for settings, why in (("every = '1s'\ncron = '@daily'", "both cron and every"),
                              ("", "needs cron"),
                              ("cron = '61 * * * *'", "'61' is nothing that its minutes can be"),
                              ("cron = '0 0 30 2 *'", "never ticks within ten years"),
                              ("cron = '@daily'\ntz = 'Mars'", "time zone 'Mars'"),
                              ("every = '1500ms'", "whole seconds"),
                              ("every = '1h'\ntz = 'Europe/Moscow'", "tz has no effect"),
                              ("every = '1h'\nmissed = 'some'", "missed"),
                              ("every = '1h'\npayloads = '1'", "did you mean 'payload'"),
                              ("every = '1h'\nkind = ''\nkey = '" + "k" * 256 + "'", "key has over 255 bytes")):
            self.schedule(settings)
            error = self.ordo("stats", code=2).stderr
            self.assertIn(why, error)
        self.config(more="[periodic.beat]\nevery = '1h'\n")
        self.assertRegex(self.ordo("stats", code=2).stderr, r"ordo\.toml:\d+: .*needs queue")
        self.config(more="[periodic.Beat]\nqueue = 'orders'\nevery = '1h'\n")
        self.assertIn("cannot name a schedule", self.ordo("stats", code=2).stderr)


class Documented(Project):
    """The examples of docs/periodic.md are taken as they are."""

    def blocks(self, language):
        return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", (DOCS / "periodic.md").read_text())

    def test_its_config(self):
        [settings] = self.blocks("toml")
        self.config(more=settings)
        self.make_store()
        shown = {schedule["name"]: schedule for schedule in self.json("periodic")}
        self.assertEqual(set(shown), set(re.findall(r"(?m)^\[periodic\.(\w+)\]", settings)))
        for schedule in shown.values():
            self.assertEqual(len(schedule["next"]), 5)

    def test_its_commands(self):
        [settings] = self.blocks("toml")
        self.config(more=settings)
        self.make_store()
        [commands] = self.blocks("sh")
        for line in commands.splitlines():
            words = shlex.split(line, comments=True)
            self.assertEqual(words[0], "ordo")
            self.ordo(*words[1:])

    def test_its_table_of_expressions(self):
        rows = re.findall(r"(?m)^\| `([^`]+)` \| ([^|]*) \| `(\d{4}-[^`]+)` \|$", (DOCS / "periodic.md").read_text())
        self.assertGreater(len(rows), 8)
        for cron, _, _ in rows:
            self.config(more=f"[periodic.row]\nqueue = 'orders'\ncron = '{cron}'\n")
            self.make_store()
            self.assertEqual(len(self.json("periodic")[0]["next"]), 5, cron)


if __name__ == "__main__":
    unittest.main()
