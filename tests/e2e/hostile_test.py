"""Hostile values at every entrance: each is taken and comes back the same, or refused in one clear line; nothing is lost."""
import base64
import json
import os
import subprocess
import unittest

from project import ORDO, PATIENCE_S, Project

LONG = "x" * 100_000
MIB = "y" * (1 << 20)

# Names of jobs: a program's arguments and JSON can hold all of them.
NAMES = {"plain": "42", "newline": "a\nb", "escape": "\x1b[31m\x07", "quotes": "'\"\\`$(", "255 bytes": "n" * 255, "letters": "ы" * 127,
         "looks like JSON": '{"$base64":"AA=="}', "spaces": "  ", "a dash in front": "-x", "override": "\u202e\u009b"}
BAD_NAMES = {"256 bytes": "n" * 256, "1 MiB": MIB}
BAD_TIMES = ["", "x", "nan", "inf", "1e300", "-1e300", "253402300800", "10000-01-01T00:00:00Z", "2025-02-30T00:00:00Z",
             "99999999999999999999", "+", "+1", "+-1s", "+99999999999999d", "2025-01-01", LONG]
BAD_SPANS = ["", "0s", "-1s", "1", "s", "1e9s", "99999999999999999999d", "nans", LONG]
BAD_NUMBERS = ["", "x", "nan", "inf", "-inf", "1e999", LONG]
BAD_WHOLES = ["", "x", "1.5", "2147483648", "-2147483649", "1e3", LONG]
BAD_JSON = ["", "{", "[1,]", "nan", "'a'", '"\x01"', "[" * 100_000, '{"a":1}x', '"\udcff"', '{"$base64":"?"}']
GOOD_JSON = ["null", "0", '""', '"\\u0000"', "[" * 100 + "]" * 100, "1e308", '{"' + "k" * 10_000 + '":1}', '"\\ud83d\\ude00"']
# What no job may ask for, as JSON, by the name that it has in NDJSON and in the options of SQL.
BAD_NAME_VALUES = ["null", "7", "true", "[]", "{}", '{"$base64":"?"}', '{"$base64":7}', '{"$base64":"AA==","x":1}', json.dumps("n" * 256),
                   json.dumps(MIB)]
BAD_WINDOWS = ["null", "{}", "7", '"x"', "[7]", "[null]", "[[]]", "[{}]", '[{"start":"05:00"}]', '[{"start":5,"end":6}]',
               '[{"start":"25:00","end":"26:00"}]', '[{"start":"05:00","end":"05:00"}]', '[{"start":"5:00","end":"07:00"}]',
               '[{"start":"24:00","end":"07:00"}]', '[{"start":"05:00","end":"07:00","tz":"No/Zone x"}]',
               '[{"start":"05:00","end":"07:00","tz":"../../etc/passwd"}]', '[{"start":"05:00","end":"07:00","tz":""}]',
               '[{"start":"05:00","end":"07:00","days":[]}]', '[{"start":"05:00","end":"07:00","days":["x"]}]',
               '[{"start":"05:00","end":"07:00","days":["mon-"]}]', '[{"start":"05:00","end":"07:00","days":7}]',
               '[{"start":"05:00","end":"07:00","colour":1}]', "[" + ",".join(['{"start":"05:00","end":"07:00"}'] * 9) + "]",
               json.dumps([{"start": LONG, "end": LONG}]), json.dumps([{"start": "05:00", "end": "07:00", "tz": LONG}]),
               json.dumps([{"start": "05:00", "end": "07:00", "days": [LONG]}]), json.dumps([{LONG: 1}])]
BAD_RULES = {
    "expires": ["null", "true", "{}", "[]", '""', '"x"', '"nan"', '"+"', "1e300", "-1e300", "253402300800", '"2025-02-30T00:00:00Z"',
                json.dumps(LONG)],
    "windows": BAD_WINDOWS,
    "weight": ["null", "true", "{}", "[]", '""', '"x"', "0", "-1", "1e9", "1.0000001", "1000000001", "9" * 400, '"NaN"', '"0x1"',
               json.dumps("9" * 100_000)],
    "partition": BAD_NAME_VALUES,
    "critical": ["null", "0", '"true"', "[]", "{}"],
    "lock": [*BAD_NAME_VALUES, '""'],
}


def name_of(shown):
    """What a name is shown as, as it was given; one that is no text stays as it is shown."""
    if isinstance(shown, str):
        return shown
    try:
        return base64.b64decode(shown["$base64"]).decode()
    except UnicodeDecodeError:
        return json.dumps(shown)


class Hostile(Project):
    def setUp(self):
        super().setUp()
        self.config("shards = 1")
        self.make_store()

    def refused(self, *arguments, codes=(2,), stdin=None):
        """In one line that quotes little."""
        done = subprocess.run([ORDO, *arguments], cwd=self.folder, input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE_S, env=self.environment(), check=False)
        error = done.stderr.decode()
        self.assertIn(done.returncode, codes, f"{str(arguments)[:200]}: {error[:500]}")
        self.assertRegex(error, r"\Aordo: [^\n]+\n\Z")
        self.assertLess(len(error), 1000, str(arguments)[:200])
        return error

    def shown(self):
        return {name_of(job["id"]): job for job in self.json("jobs", "orders")}


class OnTheCommandLine(Hostile):
    def test_names_come_back(self):
        for name in NAMES.values():
            self.ordo("push", "orders", f"--id={name}", f"--key=k{name[:100]}", f"--kind=k{name[:100]}", "--payload", json.dumps(name))
        jobs = self.shown()
        self.assertEqual(set(jobs), set(NAMES.values()))
        for name, job in jobs.items():
            self.assertEqual((job["key"], job["kind"], job["payloads"]), ("k" + name[:100], "k" + name[:100], [name]))

    def test_bad_values_are_refused(self):
        for option, values in {"--id": [*BAD_NAMES.values(), ""], "--key": BAD_NAMES.values(), "--kind": BAD_NAMES.values(),
                               "--at": BAD_TIMES, "--timeout": BAD_SPANS, "--score": BAD_NUMBERS, "--priority": BAD_WHOLES,
                               "--payload": BAD_JSON}.items():
            for value in values:
                if len(value) <= 1 << 16:  # the system takes no longer arguments
                    self.refused("push", "orders", f"{option}={value}")
        for command in ["push", "jobs", "pause", "resume", "dead", "remove"]:
            for queue in ["Bad Name", "a\nb", "", "q" * 65, "orders>", "заказ", LONG]:
                self.refused(command, queue)
        for name in ["Bad Name", "a\nb", "q" * 65, "orders>", LONG]:
            for command in [["stats", name], ["stats", "orders", name + "*"], ["locks", name], ["waits", name], ["periodic", "run", name],
                            ["periodic", "pause", name], ["limits", "set", name, "limit=5"], ["limits", "unset", name],
                            ["respond", name, "k", "--body", "1"]]:
                self.assertNotIn("x" * 201, self.refused(*command))
        for limit in ["", "x", "nan", "-1", "1e3", "0.1.2", LONG]:
            self.refused("limits", "set", "orders", f"limit={limit}")
            self.refused("limits", "set", "orders", f"rate={limit}")
        for option in ["--key=" + "k" * 256, "--message-id=" + LONG, "--body-file=/dev/zero"]:
            key = [option[6:]] if option.startswith("--key=") else ["k", option]
            body = [] if "--body-file" in option else ["--body", "1"]
            self.refused("respond", "orders", *key, *body)
        self.refused("respond", "orders", "", "--body", "1")
        self.refused("respond", "--token", "T" * 10_000, "--body", "1", codes=(1,))
        for text in BAD_JSON:
            self.refused("respond", "orders", "k", f"--body={text}")
        for option, values in {"--expires": BAD_TIMES, "--window": ["", "x", "05:00", "25:00-26:00", "05:00-07:00 No/Zone x", LONG],
                               "--weight": BAD_NUMBERS + ["0", "-1"], "--lock": BAD_NAMES.values(), "--partition": BAD_NAMES.values(),
                               "--unique": [*BAD_NAMES.values(), ""], "--max-retries": [*BAD_WHOLES, "-1"]}.items():
            for value in values:
                if len(value) <= 1 << 16:
                    self.refused("push", "orders", f"{option}={value}")
        for option, values in {"--since": BAD_TIMES, "--until": BAD_TIMES, "--retry-count": BAD_WHOLES, "--error-kind": ["", "x", LONG],
                               "--sort": ["", "x", LONG]}.items():
            for value in values:
                self.refused("jobs", "orders", f"{option}={value}")
                self.refused("dead", "orders", "list", f"{option}={value}")
        for value in BAD_TIMES:
            self.refused("job", "orders", "42", "reschedule", f"--at={value}")
        for value in ["", "x", "1.5", "-1", "0", "9" * 30, LONG]:
            self.refused("push", "orders", "--ndjson", "-", f"--from-line={value}", stdin=b"{}\n")
        for queue in ["Bad Name", LONG]:
            self.refused("job", queue, "42")
            self.refused("reshard", queue, "3")
        for value in BAD_WHOLES + ["-1", "99999999999999999999999"]:
            if value not in ("2147483648", "1e3"):  # a limit may be that large
                self.refused("jobs", "orders", f"--limit={value}")
        for arguments in [["nodes", "quiet", LONG], ["dead", "orders", "retry", LONG], ["job", "orders", LONG], ["--store", LONG, "stats"],
                          ["--config", LONG, "stats"], ["push", "orders", "--ndjson", LONG], ["push", "orders", "--payload-file", LONG],
                          ["-o", LONG, "stats"], ["stats", LONG], ["completion", LONG], [LONG], ["--store", "sqlite:/" + LONG, "stats"]]:
            error = self.refused(*arguments, codes=(1, 2)) if arguments[0] != "dead" else None
            self.assertNotIn("x" * 201, error or "")
        self.assertEqual(self.stats()["length"], 0)

    def test_a_delay_without_end_is_far_ahead(self):
        self.ordo("push", "orders", "--id", "far", "--at", "+106751991d")
        job = self.shown()["far"]
        self.assertTrue(job["run_at"].startswith("9999-12-31"), job)

    def test_files_are_read_within_bounds(self):
        with open(self.folder / "huge", "wb") as huge:
            huge.truncate(6 << 30)
        self.assertIn("more than 8388608 bytes", self.refused("push", "orders", "--payload-file", "huge"))
        self.refused("push", "orders", "--payload-file", "/dev/zero")
        self.assertIn("more than 4 MiB", self.refused("--config", "/dev/zero", "stats"))
        os.mkfifo(self.folder / "pipe")
        self.assertIn("it is a pipe", self.refused("--config", "pipe", "stats"))
        written = (self.folder / "ordo.toml").read_bytes()
        self.assertIn('"orders"', self.ordo("--config", "/dev/stdin", "queues", "--json", stdin=written).stdout)
        self.refused("--config", "huge", "stats")
        self.assertIn("longer than 32 MiB", self.refused("push", "orders", "--ndjson", "/dev/zero", codes=(1,)))
        self.write("deep.toml", "a" + ".a" * 20_000 + " = 1\n")
        self.refused("--config", "deep.toml", "stats")
        self.write("many.toml", "".join(f"[queue.queue-of-many-{number}]\nshards = 1\n" for number in range(60_000)))
        self.ordo("--config", "many.toml", "queues", "--json")
        self.write("kinds.toml", "[queue.orders]\n" + "".join(f"[queue.orders.kind.k{n}]\nmax_retries = 1\n" for n in range(20_000)))
        self.assertIn("at most 1000 fit", self.refused("--config", "kinds.toml", "stats"))

    def test_what_is_quoted_is_short(self):
        long = "x" * 100_000
        for store in ("sqlite:", "redis://127.0.0.1:1/", "redis://", "postgres://", ""):
            self.refused("--store", store + long, "stats", codes=(1, 2))
        self.refused("--config", long, "stats")
        for lines in (f"store = 'redis://{long}'", f"[queue.orders]\nlimit = 1\npartition = '/p'\nshares = {{ {long} = 'y' }}",
                      f"[queue.orders]\nlimit = 1\npartition = '/p'\nshares = {{ {long} = 101 }}", f"[queue.{long}]", f"[limit.{long}]\nlimit = 1",
                      f"[queue.orders.kind.{long}]\nmax_retries = 'x'", f"[periodic.{long}]\nqueue = 'orders'", f"[queue.orders]\n{long} = 1",
                      f"[queue.orders]\nlimits = ['{long}']", f"[queue.orders]\nretry = {{ {long} = 1 }}"):
            self.write("long.toml", lines + "\n")
            self.refused("--config", "long.toml", "stats", codes=(1, 2))
        self.write("ordo.toml", f"[queue.orders]\nshards = 1\ncommand = ['./{long}']\n")
        done = self.ordo("work", "--drain")
        self.assertNotIn("x" * 201, done.stderr)
        self.assertIn("cannot run the command", done.stderr)
        self.assertEqual(self.stats()["length"], 0)


class InLines(Hostile):
    def push_raw(self, line, code=0):
        return self.ordo("push", "orders", "--ndjson", "-", stdin=line if isinstance(line, bytes) else line.encode(), code=code)

    def test_names_and_payloads_come_back(self):
        for name in NAMES.values():
            self.push_raw(json.dumps({"id": name, "key": "k" + name[:100], "payload": name}))
        self.assertEqual({name: job["payloads"] for name, job in self.shown().items()}, {name: [name] for name in NAMES.values()})
        odd = {"$base64": "AP8K"}  # NUL, no UTF-8, a newline
        self.push_raw(json.dumps({"id": odd, "key": odd, "kind": odd, "payload": odd}))
        job = self.shown()[json.dumps(odd)]
        self.assertEqual((job["key"], job["kind"], job["payloads"]), (odd, odd, [odd]))
        for number, text in enumerate(GOOD_JSON):
            self.push_raw(f'{{"id":"good-{number}","payload":{text}}}')
            self.assertEqual(self.shown()[f"good-{number}"]["payloads"], [json.loads(text)], text[:50])

    def test_bad_lines_are_refused_and_those_before_are_kept(self):
        lines = [json.dumps({"id": name}) for name in BAD_NAMES.values()] + ['{"id":""}', '{"id":7}', '{"id":null}', '{"id":"a","id":"b"}']
        lines += [json.dumps({"payload": MIB + "y"}), json.dumps({LONG: 1}), "[]", "7", '"x"']
        lines += [f'{{"payload":{text}}}' for text in BAD_JSON if "\udcff" not in text]
        lines += [json.dumps({"run_at": text}) for text in BAD_TIMES] + [json.dumps({"timeout": text}) for text in BAD_SPANS]
        lines += [f'{{"score":{text}}}' for text in ["1e999", "-1e999", '"1"', "null", "NaN"]]
        lines += [f'{{"priority":{text}}}' for text in ["1.5", "2147483648", "1e99", '"1"', "null"]]
        lines += [f'{{"run_at":{text}}}' for text in ["1e300", "-1e300", "253402300800", "null", "true", "{}"]]
        for number, line in enumerate(lines):
            error = self.push_raw(f'{{"id":"before-{number}"}}\n{line}\n{{"id":"never"}}', code=1).stderr
            self.assertIn("pushed 1; line 2: ", error, line[:100])
            self.assertLess(len(error), 1000, line[:100])
        self.push_raw(b'{"id":"\xff"}', code=1)
        self.push_raw(b'{"id":"a\x00b"}', code=1)
        self.assertEqual(set(self.shown()), {f"before-{number}" for number in range(len(lines))})


    def test_bad_options_are_refused_and_what_is_before_and_behind_them_runs(self):
        lines = [f'{{"{key}":{value}}}' for key, values in BAD_RULES.items() for value in values]
        lines += [f'{{"unique":{value}}}' for value in [*BAD_NAME_VALUES, '""']]
        lines += [f'{{"max_retries":{value}}}' for value in ["null", "-1", "1.5", "2147483648", "1e99", '"1"', "[]"]]
        lines += [f'{{"replace_time":{value}}}' for value in ["null", "1", '"true"', "{}"]]
        lines += [f'{{"timeout":{value}}}' for value in ["null", "0", "7", "-1", "[]"]]
        lines += ['{"weight":1,"weight":1}', '{"Lock":"x"}', '{"lock\\u0000":"x"}', '{"":1}']
        self.config('shards = 1\nlock = "id"\nunique = { by = "id" }')
        for number, line in enumerate(lines):
            error = self.push_raw(f'{{"id":"before-{number}"}}\n{line}\n{{"id":"never"}}', code=1).stderr
            self.assertIn("pushed 1; line 2: ", error, line[:100])
            self.assertLess(len(error), 1000, line[:100])
        error = self.ordo("push", "orders", "--ndjson", "-", "--skip-bad", "bad", code=1,
                          stdin="\n".join([*lines, '{"id":"behind"}']).encode()).stderr
        self.assertIn(f"pushed 1; set aside {len(lines)} in bad", error)
        self.drain()
        self.assertEqual({run[0] for run in self.runs()}, {"behind", *(f"before-{number}" for number in range(len(lines)))})

    def test_options_come_back(self):
        self.config('shards = 1\nlock = "id"\nunique = { by = "id" }')
        far = "9998-01-01T00:00:00Z"
        for number, name in enumerate(NAMES.values()):
            self.push_raw(json.dumps({"id": f"job-{number}", "lock": name, "partition": name, "unique": name, "run_at": far,
                                      "expires": "9999-12-31T23:59:59Z", "weight": "0.000001", "max_retries": 2147483647,
                                      "windows": [{"start": "00:00", "end": "24:00", "tz": "Asia/Tokyo", "days": ["fri-mon"]}] * 8,
                                      "critical": True, "replace_time": True, "timeout": "999999d"}))
        odd = {"$base64": "AP8K"}
        self.push_raw(json.dumps({"id": "odd", "lock": odd, "partition": odd, "unique": odd, "run_at": far}))
        self.push_raw(json.dumps({"id": "again", "unique": odd}), code=1)
        self.push_raw(json.dumps({"id": "empty", "partition": "", "unique": "another key than the id", "run_at": far}))
        jobs = {job_id: self.json("job", "orders", job_id)[0] for job_id in self.shown()}
        for number, name in enumerate(NAMES.values()):
            job = jobs[f"job-{number}"]
            self.assertEqual((name_of(job["lock"]), name_of(job["partition"])), (name, name))
            self.assertEqual((job["max_retries"], len(job["windows"])), (2147483647, 8))
        self.assertEqual((jobs["odd"]["lock"], jobs["odd"]["partition"], jobs["empty"]["partition"]), (odd, odd, ""))
        exported = self.ordo("jobs", "orders", "export").stdout
        self.ordo("jobs", "orders", "cancel", "--state", "scheduled", "--yes")
        self.ordo("push", "orders", "--ndjson", "-", stdin=exported.encode())
        self.assertEqual(self.ordo("jobs", "orders", "export").stdout, exported)


# What a worker may answer, by what becomes of the job; ID is the job's.
ANSWERS = {
    "dead": ['{"ok":1}', '{"ok":"true"}', '{"ok":null}', '{"ok":false,"error":' + json.dumps("e" * 100_000) + "}", '{"ok":false,"error":{}}',
             '{"results":[]}', '{"results":null}', '{"results":{}}', '{"results":{"ID":null}}', '{"results":{"ID":[]}}', '{"results":{"ID":{}}}',
             '{"results":{"ID":{"ok":"yes"}}}', '{"results":{"ID":{"snooze":-1}}}', '{"results":{"ID":{"snooze":1e300}}}',
             '{"results":{"ID":{"snooze":"NaN"}}}', '{"results":{"ID":{"snooze":null}}}', '{"results":{"other":{"ok":true}}}',
             '{"ok":false,"error":"\\u001b[31m\\n\\u0000"}', '{"ok":false,"error":"\\ud800"}',
             '{"ok":false,"error":"' + "\\u0000" * 20_000 + '"}', '{"ok":true,"penalty":-1}', '{"ok":true,"penalty":"x"}',
             '{"ok":true,"penalty":1e300}', '{"ok":true,"penalty":{}}', '{"results":{"ID":{"ok":true,"penalty":-1}}}',
             '{"results":{"ID":{"error":"x","penalty":1e999}}}', '{"results":{"ID":{"wait":7}}}', '{"results":{"ID":{"wait":null}}}',
             '{"results":{"ID":{"wait":{}}}}', '{"results":{"ID":{"wait":""}}}', '{"results":{"ID":{"wait":' + json.dumps("k" * 256) + "}}}",
             '{"results":{"ID":{"wait":' + json.dumps(MIB) + "}}}", '{"results":{"ID":{"wait":"k","timeout":0}}}',
             '{"results":{"ID":{"wait":"k","timeout":-1}}}', '{"results":{"ID":{"wait":"k","timeout":1e300}}}',
             '{"results":{"ID":{"wait":"k","timeout":"60"}}}', '{"results":{"ID":{"wait":"k","timeout":null}}}',
             '{"wait":"k"}', '{"snooze":1}', '{"discard":"no"}', '{"ok":false,"error":"' + "e" * (17 << 20) + '"}', '{"ok":true',
             '{"results":{"ID":{"colour":"' + "ы" * 1000 + '"}}}',
             '{"ok":false,"error":"\udcff"}', '{"results":{"\udcff":{"ok":true}}}', '{"expect"', "{'ok':true}",
             '{"ok":true}{"ok":true}', '{"results":{"ID":{"ok":true}}'],
    "gone": ['{"ok":true,"error":"x"}', '{"ok":true,"penalty":0}', '{"ok":true,"penalty":null}', '{"ok":true,"colour":' + json.dumps(LONG) + "}",
             '{"results":{"ID":{"discard":{"a":[1]}}}}', '{"results":{"ID":{"discard":null}}}',
             '{"results":{"ID":{"discard":' + json.dumps(MIB) + "}}}", '{"results":{"ID":{"ok":true}},"ok":false}'],
    "length": ['{"results":{"ID":{"snooze":3153600000}}}', '{"results":{"ID":{"snooze":1000000.0000001}}}'],
    "awaiting": ['{"results":{"ID":{"wait":"' + key + '"}}}' for key in ["plain", "\\u0000", "\\u001b[31m\\n", "k" * 255, "ы" * 127]]
                + ['{"results":{"ID":{"wait":"timeout","timeout":3153600000}}}'],
}
# What it may say that it expects. It is told whether that is so, and goes on.
EXPECTS = {
    False: ['{"expect":[]}', '{"expect":null}', '{"expect":"k"}', '{"expect":{}}', '{"expect":[7]}', '{"expect":[null]}', '{"expect":[""]}',
            '{"expect":["' + "k" * 256 + '"]}', '{"expect":["' + MIB + '"]}', '{"expect":["k"],"id":"other"}', '{"expect":["k"],"id":{}}',
            '{"expect":["k",7]}', '{"expect":[["k"]]}'],
    True: ['{"expect":["a","b"]}', '{"expect":["\\u0000"]}', '{"expect":["' + "k" * 255 + '"]}', '{"expect":["k"],"id":"ID","colour":1}'],
}


class InAnswers(Hostile):
    def test_a_job_ends_whatever_its_worker_answers(self):
        self.config("shards = 1\nmax_retries = 0", node="threads = 1")
        # What has no key of an answer is the worker's log.
        noise = ["", "nonsense", "[]", "[" * 10_000, "\x1b[31m", "{}", '{"a":' * 10_000, '{"colour":"' + "ы" * 1000 + '"}', '{"expected":true}', "{\x00}"]
        answers = [answer for of_kind in ANSWERS.values() for answer in of_kind]
        self.write("answers.json", json.dumps([noise, answers]))
        self.write("worker.py", """
import json, sys
sys.stdout.reconfigure(errors="surrogateescape")
noise, answers = json.load(open("answers.json"))
for line in sys.stdin:
    job = json.loads(line)["jobs"][0]
    print("\\n".join(noise))
    number = job["payloads"][0]
    print('{"ok":true}' if number < 0 else answers[number].replace("ID", job["id"]), flush=True)
""")
        # A good one behind each: processes that only end badly are started after pauses.
        self.push_lines([{"id": f"{what}-{number}", "payload": number if what == "bad" else -1}
                         for number in range(len(answers)) for what in ("bad", "good")])
        self.drain()
        stats = self.stats()
        self.assertEqual({what: stats[what] for what in ("dead", "length", "awaiting", "running")},
                         {"running": 0, **{what: len(ANSWERS[what]) for what in ("dead", "length", "awaiting")}})
        dead = self.json("dead", "orders")
        self.assertEqual({job["payloads"][0] for job in dead}, set(range(len(ANSWERS["dead"]))))
        for job in dead:
            self.assertNotEqual(job["error"], None)
            self.assertLessEqual(len(job["error"].encode()), 16 << 10)
        left = {job["id"]: job["state"] for job in self.json("jobs", "orders") if job["state"] != "dead"}
        first = len(answers) - len(left)
        self.assertEqual(set(left), {f"bad-{number}" for number in range(first, len(answers))})

    def test_a_run_goes_on_whatever_its_worker_expects(self):
        self.config("shards = 1\nmax_retries = 0", node="threads = 1")
        lines = [line for of_kind in EXPECTS.values() for line in of_kind]
        self.write("lines.json", json.dumps(lines))
        self.write("worker.py", """
import json, sys
lines = json.load(open("lines.json"))
for line in sys.stdin:
    job = json.loads(line)["jobs"][0]
    if job["payloads"][0] >= 0:
        print(lines[job["payloads"][0]].replace("ID", job["id"]), flush=True)
        open("told.ndjson", "a").write(sys.stdin.readline())
    print('{"ok":true}', flush=True)
""")
        self.push_lines([{"id": f"{what}-{number}", "payload": number if what == "bad" else -1}
                         for number in range(len(lines)) for what in ("bad", "good")])
        self.drain()
        told = [json.loads(line) for line in (self.folder / "told.ndjson").read_text().splitlines()]
        self.assertEqual([line["expected"] for line in told], [False] * len(EXPECTS[False]) + [True] * len(EXPECTS[True]))
        for line in told:
            self.assertLess(len(json.dumps(line)), 1000)
        stats = self.stats()
        self.assertEqual((stats["dead"], stats["length"], stats["awaiting"], stats["processed"]), (0, 0, 0, 2 * len(lines)))


class OnRedis(Hostile):
    store = "redis:"

    def xadd(self, *fields):
        self.server.ask("XADD", "ordo:{1:0}:log", "NOMKSTREAM", "*", *fields)

    def test_what_does_not_fit_dies_as_it_was_pushed(self):
        self.config('shards = 1\nlock = "id"')
        self.drain()  # the node makes the queue
        bad = [["id", "n" * 256], ["key", "n" * 256], ["kind", MIB], ["payload", MIB + "y"],
               ["score", "nan"], ["run_at", "253402300800"], ["run_at", "x"], ["timeout", "0"], ["timeout", "-1"], ["timeout", "1x"], ["run_at", "+1h"],
               ["priority", "1.5"], ["priority", "2147483648"], ["colour", "red"], ["", ""], ["", "5"], [LONG, "x"], ["ID", "42"],
               ["id", "1", "colour\n\x1b[31m", "red\n\x1b[31m"], ["e", "x", "m", "-1"], ["id", "1", "e", "x"]]
        bad += [["expires", text] for text in ["", "x", "nan", "+", "+1", "+1x", "253402300800", "1e300", LONG]]
        bad += [["window", text] for text in ["", "x", "05:00", "05:00-05:00", "25:00-26:00", "05:00-07:00 No/Zone x", "05:00-07:00 ../x", LONG]]
        bad += [["window", "05:00-07:00"] * 9]
        bad += [["weight", text] for text in ["", "x", "0", "-1", "1e9", "1000000001", "1.0000001", "nan", "9" * 400, LONG]]
        bad += [["partition", "n" * 256], ["critical", "1"], ["critical", ""], ["lock", ""], ["lock", "n" * 256], ["lock", MIB],
                ["unique", "7"], ["unique", ""], ["replace_time", "yes"], ["period", "1h"]]
        bad += [["max_retries", text] for text in ["", "-1", "1.5", "2147483648", "x", LONG]]
        good = [["id", name, "lock", name, "partition", name] for name in NAMES.values()]
        good += [["id", "span", "expires", "+1h", "timeout", "1s", "key", "", "kind", ""], ["id", "limit", "payload", MIB], ["id", "far", "run_at", "253402300799"], ["id", "options", "expires", "253402300799",
                 "window", "00:00-24:00", "weight", "0.000001", "partition", "", "critical", "true", "max_retries", "2147483647",
                 "replace_time", "true", "timeout", "1e300", "priority", "-2147483648"]]
        for fields in [part for pair in zip(bad, good * len(bad)) for part in pair][:2 * len(bad)]:
            self.xadd(*fields)
        self.answer("return {'ok': True}")
        self.drain()
        self.assertEqual({name_of(run[0]) for run in self.runs()}, {*NAMES.values(), "limit", "options", "span"})
        stats = self.stats()
        self.assertEqual((stats["dead"], stats["unreadable"], stats["length"]), (len(bad), len(bad), 1))
        dead = self.json("dead", "orders")
        self.assertEqual(sum(len(job["payloads"]) for job in dead), len(bad))
        for job in dead:
            self.assertEqual(job["error_kind"], "invalid-push")
            self.assertLess(len(job["error"]), 1000)
        self.assertEqual([(job["key"], job["error_kind"], len(job["payloads"])) for job in self.json("job", "orders", "1")],
                         [("1", "invalid-push", 2)])
        listed = self.ordo("dead", "orders", "list", "--error-kind", "invalid-push", "--error", "'colour")
        self.assertNotIn("\x1b", listed.stdout)
        exported = self.ordo("dead", "orders", "export").stdout
        self.assertEqual(exported.count("\n"), len(bad))
        self.assertEqual(json.loads(self.ordo("dead", "orders", "retry", "--all", "--yes", "--json").stdout)["retried"], len(bad))
        self.drain()
        self.assertEqual(self.stats()["dead"], len(bad), "nothing is lost by a retry")

    def test_pushes_far_above_the_limit_are_kept_in_part(self):
        self.config("shards = 1", node='lease = "60s"')
        self.drain()
        for number in range(10):
            self.xadd("id", f"large-{number}", "payload", "y" * (9 << 20))
            self.xadd("id", f"small-{number}", "payload", "1")
        done = self.drain()
        self.assertNotIn("lease", done.stderr)
        self.assertEqual({run[0] for run in self.runs()}, {f"small-{number}" for number in range(10)})
        dead = self.json("dead", "orders", "--limit", "2")
        self.assertEqual(self.stats()["dead"], 10)
        for job in dead:
            self.assertRegex(job["id"], r"\Alarge-\d+\Z")
            self.assertEqual(job["error_kind"], "invalid-push")
            self.assertIn("only the first are kept", job["error"])
            kept = base64.b64decode(job["payloads"][0]["$base64"])
            self.assertIn(b"yyyy", kept)
            self.assertLess(len(kept), (2 << 20) + 1000)


class OnPostgres(Hostile):
    store = "postgres:"

    def test_sql_refuses_or_keeps(self):
        self.stats()
        self.server.psql("SELECT ordo_define('orders', 1)")
        for call in ["'{}', id => repeat('n', 256)", "'{}', key => repeat('n', 256)", "'{}', kind => repeat('n', 256)",
                     "repeat('y', 1048577)", "'{}', score => 'NaN'", "'{}', score => 'Infinity'", "'{}', timeout => '0'", "'{}', timeout => '-1 s'",
                     "'{}', run_at => 'infinity'", "'{}', run_at => '-infinity'", "'{}', delay => '400000 years'", "NULL",
                     "'{}', run_at => now(), delay => '1 s'", "'{}', id => repeat('n', 100000)"]:
            with self.assertRaises(subprocess.CalledProcessError, msg=call) as refused:
                self.server.psql(f"SELECT ordo_push('orders', {call})")
            self.assertRegex(refused.exception.stderr, "ERROR:", call)
            self.assertLess(len(refused.exception.stderr), 2000, call[:100])  # with the places in functions
        for call in ["ordo_push(repeat('q', 100000))", "ordo_push(E'a\\nb')", "ordo_push('заказ')", "ordo_define(repeat('q', 100000), 1)",
                     "ordo_define('a b', 1)", "ordo_define('new', 0)", "ordo_define('new', 65537)", "ordo_respond(repeat('q', 100000), 'k', '1')",
                     "ordo_respond('orders', repeat('k', 256), '1')", "ordo_respond('orders', '', '1')",
                     "ordo_respond('orders', 'k', repeat('y', 1048577))", "ordo_respond('orders', 'k', '1', repeat('m', 256))"]:
            with self.assertRaises(subprocess.CalledProcessError, msg=call) as refused:
                self.server.psql(f"SELECT {call}")
            self.assertLess(len(refused.exception.stderr), 2000, call)
        self.assertEqual(self.stats()["length"], 0)
        for name in NAMES.values():
            quoted = "'" + name.replace("'", "''") + "'"
            self.server.psql(f"SELECT ordo_push('orders', '1', id => {quoted})")
        self.server.psql("SELECT ordo_push('orders', '1', id => 'far', delay => '20000 years', timeout => '170000 years')")
        self.server.psql("SELECT ordo_push('orders', '1', id => 'early', run_at => '4000-01-01 BC')")
        jobs = self.shown()
        self.assertEqual(set(jobs), {*NAMES.values(), "far", "early"})
        self.assertTrue(jobs["far"]["run_at"].startswith("9999-12-31"), jobs["far"])
        self.assertTrue(jobs["early"]["run_at"].startswith("0000-01-01"), jobs["early"])
        self.drain()
        self.assertEqual({name_of(run[0]) for run in self.runs()}, {*NAMES.values(), "early"})

    def test_options_are_refused_or_kept(self):
        self.config('shards = 1\nlock = "id"\nunique = { by = "id" }')
        self.stats()
        self.server.psql("SELECT ordo_define('orders', 1)")
        bad = [f'{{"{key}":{value}}}' for key, values in BAD_RULES.items() for value in values if value != "1e9"]  # jsonb writes that out
        bad += ["null", "7", "[]", '"x"', '{"colour":1}', '{"":1}', '{"Lock":"x"}', json.dumps({LONG: 1}), '{"timeout":"1s"}']
        bad += [f'{{"unique":{value}}}' for value in [
            "null", "7", '"7"', "[]", "{}", '{"key":""}', '{"key":7}', '{"key":null}', json.dumps({"key": "n" * 256}), json.dumps({"key": LONG}),
            '{"key":"k","scope":"x"}', '{"key":"k","scope":7}', '{"key":"k","scope":"period","period":"0s"}',
            '{"key":"k","scope":"period","period":"-1h"}', '{"key":"k","scope":"period","period":"1000 years"}',
            '{"key":"k","scope":"period","period":"x"}', json.dumps({"key": "k", "scope": "period", "period": LONG}),
            '{"key":"k","on_conflict":"merge"}', '{"key":"k","on_conflict":"x"}', '{"key":"k","colour":1}', json.dumps({"key": "k", LONG: 1}),
            json.dumps({"key": "k", "scope": LONG}), json.dumps({"key": "k", "on_conflict": LONG})]]
        for options in bad:
            push = "SELECT ordo_push('orders', '1', id => 'before');\nSELECT ordo_push('orders', '1', id => 'never', options => " + \
                   "'" + options.replace("'", "''") + "');"
            with self.assertRaises(subprocess.CalledProcessError, msg=options[:100]) as refused:
                self.server.psql(f"BEGIN;\n{push}\nCOMMIT;")
            error = next(line for line in refused.exception.stderr.splitlines() if "ERROR:" in line)
            self.assertLess(len(error), 1000, options[:100])
        self.assertEqual(self.stats()["length"], 0)
        windows = [{"start": "00:00", "end": "24:00", "tz": "Asia/Tokyo", "days": ["fri-mon"]}] * 8
        pushed = {"odd": {name: {"$base64": "AP8K"} for name in ("lock", "partition")} | {"unique": {"key": {"$base64": "AP8K"}}},
                  "empty": {"partition": ""}, "infinite": {"expires": "infinity"}, "none": {}}
        for number, name in enumerate(NAMES.values()):
            key = f"object {number}" if name.startswith("{") else name  # SQL does not compare JSON objects by their value
            pushed[f"job-{number}"] = {"lock": name, "partition": name, "unique": {"key": key, "scope": "queued_or_running"},
                                       "expires": "9999-12-31T23:59:59Z", "weight": 0.000001, "windows": windows, "critical": True}
        for job_id, options in pushed.items():
            quoted = json.dumps(options).replace("'", "''")
            self.server.psql(f"SELECT ordo_push('orders', '1', id => '{job_id}', delay => '1000 years', options => '{quoted}')")
        self.assertEqual(set(self.shown()), set(pushed))
        for job_id, options in pushed.items():
            job = self.json("job", "orders", job_id)[0]
            for name in ("lock", "partition"):
                given = options.get(name)
                self.assertEqual(job.get(name) if isinstance(given, dict) else job.get(name) and name_of(job[name]), given, job_id)
        self.push("behind")
        self.drain()
        self.assertEqual([run[0] for run in self.runs()], ["behind"])


if __name__ == "__main__":
    unittest.main()
