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
                               "--unique": [*BAD_NAMES.values(), ""]}.items():
            for value in values:
                if len(value) <= 1 << 16:
                    self.refused("push", "orders", f"{option}={value}")
        for option, values in {"--since": BAD_TIMES, "--until": BAD_TIMES, "--retry-count": BAD_WHOLES, "--error-kind": ["", "x", LONG],
                               "--sort": ["", "x", LONG]}.items():
            for value in values:
                self.refused("jobs", "orders", f"{option}={value}")
                self.refused("dead", "orders", "list", f"{option}={value}")
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


class InAnswers(Hostile):
    def test_a_job_ends_whatever_its_worker_answers(self):
        self.config("shards = 1\nmax_retries = 0")
        noise = ["", "nonsense", "[]", "[" * 10_000, "\x1b[31m"]  # what is no object is the worker's log
        answers = ["{}", '{"ok":1}', '{"ok":"true"}', '{"ok":false,"error":' + json.dumps("e" * 100_000) + "}",
                   '{"results":[]}', '{"results":{}}', '{"results":{"ID":{"snooze":-1}}}', '{"results":{"ID":{"snooze":1e300}}}',
                   '{"results":{"ID":{"snooze":"NaN"}}}', '{"results":{"ID":{"discard":{"a":[1]}}}}', '{"results":{"other":{"ok":true}}}',
                   '{"a":' * 10_000, '{"ok":false,"error":"\\u001b[31m\\n\\u0000"}', '{"ok":false,"error":"\\ud800"}']
        self.write("answers.json", json.dumps([noise, answers]))
        self.write("worker.py", """
import json, sys
noise, answers = json.load(open("answers.json"))
for line in sys.stdin:
    job = json.loads(line)["jobs"][0]
    print("\\n".join(noise))
    print(answers[int(job["id"])].replace("ID", job["id"]), flush=True)
""")
        for number in range(len(answers)):
            self.push(str(number), number)
        self.drain()
        stats = self.stats()
        discarded = 1
        self.assertEqual((stats["length"], stats["running"], stats["dead"]), (0, 0, len(answers) - discarded))
        for job in self.json("dead", "orders"):
            self.assertNotEqual(job["error"], None)
            self.assertEqual(job["payloads"], [int(job["id"])])


class OnRedis(Hostile):
    store = "redis:"

    def test_what_does_not_fit_dies_as_it_was_pushed(self):
        self.drain()  # the node makes the queue
        bad = [["id", "n" * 256], ["id", ""], ["payload", MIB + "y"], ["score", "nan"], ["run_at", "253402300800"], ["run_at", "x"],
               ["timeout", "0"], ["timeout", "-1"], ["priority", "1.5"], ["colour", "red"]]
        good = [["id", name] for name in NAMES.values()] + [["id", "limit", "payload", MIB], ["id", "far", "run_at", "253402300799"]]
        for fields in bad + good:
            self.server.ask("XADD", "ordo:{1:0}:log", "NOMKSTREAM", "*", *fields)
        self.answer("return {'ok': True}")
        self.drain()
        self.assertEqual({name_of(run[0]) for run in self.runs()}, {*NAMES.values(), "limit"})
        stats = self.stats()
        self.assertEqual((stats["dead"], stats["unreadable"], stats["length"]), (len(bad), len(bad), 1))
        for job in self.json("dead", "orders"):
            self.assertEqual(job["error_kind"], "unreadable")
            self.assertLess(len(job["error"]), 1000)


class OnPostgres(Hostile):
    store = "postgres:"

    def test_sql_refuses_or_keeps(self):
        self.stats()
        self.server.psql("SELECT ordo_define('orders', 1)")
        for call in ["'{}', id => repeat('n', 256)", "'{}', key => repeat('n', 256)", "'{}', kind => repeat('n', 256)",
                     "repeat('y', 1048577)", "'{}', score => 'NaN'", "'{}', score => 'Infinity'", "'{}', timeout => '0'", "'{}', timeout => '-1 s'",
                     "'{}', run_at => 'infinity'", "'{}', run_at => '-infinity'", "'{}', delay => '400000 years'", "NULL",
                     "'{}', run_at => now(), delay => '1 s'"]:
            with self.assertRaises(subprocess.CalledProcessError, msg=call) as refused:
                self.server.psql(f"SELECT ordo_push('orders', {call})")
            self.assertRegex(refused.exception.stderr, "ERROR:", call)
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


if __name__ == "__main__":
    unittest.main()
