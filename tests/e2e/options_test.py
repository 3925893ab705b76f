"""Every option of a job by every entrance: the jobs are the same (docs/options.md).

A new option needs a value here and in tests/support/push_options.cpp: without one a test fails.
"""
import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import unittest

from http_test import Http
from project import PATIENCE_S

PAGE = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs/options.md"
PUSH_OPTIONS = pathlib.Path(os.environ.get("ORDO_BINARY_DIR", "build/release")).resolve() / "tests/push_options"

Option = collections.namedtuple("Option", "name flag field sql")
OPTIONS = {}
for line in PAGE.read_text().splitlines():
    if re.match(r"\| `\w+` \| ", line):
        cells = [cell.strip() for cell in line.split(" | ")]
        name, flag, field = (re.match(r"(?:\| )?`([^` ]+)", cells[place]) for place in (0, 2, 3))
        OPTIONS[name[1]] = Option(name[1], flag[1], field and field[1], cells[4].split()[0])

WINDOWS = [{"start": "05:00", "end": "07:00"},
           {"start": "22:00", "end": "02:00:30", "days": ["mon", "tue", "thu-fri"], "tz": "Europe/Moscow"}]
WINDOW_TEXTS = ["05:00-07:00", "22:00-02:00:30 Europe/Moscow mon,tue,thu,fri"]
# What a push has beside its id, by the test's name for it.
PUSHES = {
    "id": {},
    "key": {"key": "k"},
    "kind": {"kind": "mail"},
    "payload": {"payload": {"v": 1}},
    "score": {"score": 7.5},
    "run_at": {"run_at": "2035-03-09T07:05:00Z"},
    "replace_time": {"run_at": "2035-03-09T07:05:00Z", "replace_time": True},
    "priority": {"priority": -3},
    "timeout": {"timeout": "90s"},
    "max_retries": {"max_retries": 7},
    "expires": {"expires": "2035-01-02T03:04:05.678901Z"},
    "expires +1h": {"expires": "+1h"},
    "expires never": {"expires": "never"},
    "windows": {"windows": WINDOWS},
    "weight": {"weight": 0.25},
    "partition": {"partition": "east"},
    "critical": {"critical": True},
    "lock": {"lock": "l"},
    "unique": {"unique": ""},
}
UNSEEN = {"id", "replace_time", "unique", "expires never"}  # a job does not show them; the tests look at what they do


def texts_of(name, value):
    """As a flag or a field has it."""
    if name == "windows":
        return WINDOW_TEXTS
    if name == "payload" or not isinstance(value, str):
        return [json.dumps(value, separators=(",", ":"))]
    return [value]


class Entrances(Http):
    def setUp(self):
        super().setUp()
        self.config(queue='shards = 1\nlock = "key"\npartition = "/region"\nlimit = 10',
                    more='[queue.once]\ncommand = ["true"]\nshards = 1\nunique = { by = "id" }\nexpires = "100d"')
        for queue in ("orders", "once"):
            self.ordo("push", queue, "--id", "first")
        self.serve("web", "--listen", "auto")
        self.entrances = {"cpp": self.by_cpp, "flag": self.by_flag, "line": self.by_line, "http": self.by_http}
        if self.store == "redis:":
            self.entrances["xadd"] = self.by_xadd
        if self.store == "postgres:":
            self.entrances["sql"] = self.by_sql

    def by_cpp(self, queue, case, job):
        done = subprocess.run([PUSH_OPTIONS, queue, job["id"], case], cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE_S, env=self.environment(), check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def by_flag(self, queue, _, job):
        arguments = []
        for name, value in job.items():
            for text in texts_of(name, value):
                arguments += [OPTIONS[name].flag] if value is True else [f"{OPTIONS[name].flag}={text}"]
        self.ordo("push", queue, *arguments)

    def by_line(self, queue, _, job):
        self.push_lines([job], queue=queue)

    def by_http(self, queue, _, job):
        self.call("POST", f"/queues/{queue}/jobs", job, status=201)

    def by_xadd(self, queue, _, job):
        number, shards, _ = self.server.ask("HGET", "ordo:{ordo}:queues", queue).split(":")
        self.assertEqual(shards, "1")
        fields = [word for name, value in job.items() for text in texts_of(name, value) for word in (OPTIONS[name].field, text)]
        self.server.ask("XADD", f"ordo:{{{number}:0}}:log", "NOMKSTREAM", "*", *fields)

    def by_sql(self, queue, _, job):
        options = {name: value for name, value in job.items() if OPTIONS[name].sql != "argument"}
        if "unique" in options:
            options["unique"] = {"key": options["unique"]}
        arguments = {name: texts_of(name, value)[0] for name, value in job.items() if OPTIONS[name].sql == "argument"}
        if options:
            arguments["options"] = json.dumps(options)
        named = "".join(f", {name} => '{value}'" for name, value in arguments.items())
        self.server.psql(f"SELECT ordo_push('{queue}'{named})")

    def shown(self, queue, job_id, case):
        """All of a job but what no two pushes have in common."""
        job = self.json("job", queue, job_id)[0]
        for what in ("starts_at", "waits_for"):  # as other jobs have the key and the lock
            del job[what]
        if "+" in case:
            begin, end = (datetime.datetime.fromisoformat(job[what].replace("Z", "+00:00")) for what in ("run_at", "expires"))
            job["expires"] = (end - begin).total_seconds()
        if "run_at" not in PUSHES[case]:
            del job["run_at"]
        if case != "score":
            del job["scores"]
        return {what: "its id" if value == job_id else value for what, value in job.items()}


class Options(Entrances):
    def test_there_is_a_push_of_each(self):
        self.assertEqual(set(OPTIONS), {case.split()[0] for case in PUSHES})
        self.assertEqual({name for name, option in OPTIONS.items() if not option.field}, {"unique"})

    def test_each_makes_the_same_job_everywhere(self):
        for case, options in PUSHES.items():
            if case in UNSEEN:
                continue
            jobs = {}
            for entrance, push in self.entrances.items():
                job_id = f"{case.replace(' ', '-')}-{entrance}"
                push("orders", case, {"id": job_id, **options})
                jobs[entrance] = self.shown("orders", job_id, case)
            with self.subTest(case=case):
                for entrance, job in jobs.items():
                    self.assertEqual(job, jobs["cpp"], entrance)
        self.assertEqual(self.stats()["dead"], 0)

    def test_each_is_seen(self):
        self.by_cpp("orders", "id", {"id": "plain"})
        for case, options in PUSHES.items():
            if case in UNSEEN:
                continue
            with self.subTest(case=case):
                job_id = case.replace(" ", "-")
                self.by_cpp("orders", case, {"id": job_id})
                name = {"score": "scores", "payload": "payloads"}.get(case, case.split()[0])
                seen = [self.json("job", "orders", each)[0].get(name) for each in ("plain", job_id)]
                self.assertNotEqual(*seen, f"{options} shows in {name}")

    def test_replace_time_moves_the_job_that_waits(self):
        for entrance, push in self.entrances.items():
            with self.subTest(entrance=entrance):
                self.ordo("push", "orders", "--id", entrance, "--at", "2034-01-01T00:00:00Z")
                push("orders", "run_at", {"id": entrance, **PUSHES["run_at"]})
                self.assertEqual(self.json("job", "orders", entrance)[0]["run_at"], "2034-01-01T00:00:00Z")
                push("orders", "replace_time", {"id": entrance, **PUSHES["replace_time"]})
                self.assertEqual(self.json("job", "orders", entrance)[0]["run_at"], "2035-03-09T07:05:00Z")

    def test_never_overrides_what_the_queue_says(self):
        for entrance, push in self.entrances.items():
            with self.subTest(entrance=entrance):
                push("once", "expires never", {"id": f"never-{entrance}", **PUSHES["expires never"]})
                self.assertNotIn("expires", self.json("job", "once", f"never-{entrance}")[0])
        self.assertIn("expires", self.json("job", "once", "first")[0])

    def test_a_unique_key_is_taken(self):
        for entrance, push in self.entrances.items():
            if entrance == "xadd":  # it takes a script: documented_push_test.py
                continue
            with self.subTest(entrance=entrance):
                push("once", "unique", {"id": entrance, "unique": f"u-{entrance}"})
                told = self.ordo("push", "once", "--id", f"{entrance}-2", "--unique", f"u-{entrance}", "--json", code=1)
                self.assertEqual(json.loads(told.stdout), {"pushed": 0, "existing": entrance})


if __name__ == "__main__":
    unittest.main()
