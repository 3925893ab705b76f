"""The commands that look, push and manage: shapes, exit codes, messages (docs/cli.md)."""
import json
import os
import pty
import re
import subprocess
import unittest

from project import ORDO, Project

JOB_KEYS = ["queue", "kind", "key", "id", "state", "payloads", "scores", "run_at", "retry_count", "crashes", "error"]
COUNTS = ["length", "due", "scheduled", "retrying", "running", "awaiting", "dead", "blocked_by_lock", "lag",
          "processed", "failed"]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z"


class CommandLine(Project):
    def test_help_teaches(self):
        text = self.ordo("--help").stdout
        for command in ["work", "push", "stats", "queues", "jobs", "job", "dead", "pause", "resume", "remove", "nodes",
                        "doctor", "copy", "init", "completion", "bench"]:
            self.assertIn(f"\n  {command} ", text)
            self.assertIn(f"  ordo {command}", self.ordo(command, "--help").stdout)
        self.assertRegex(self.ordo("--version").stdout, r"^ordo \d+\.\d+\.\d+\n$")

    def test_a_wrong_command_line_is_refused(self):
        self.config()
        for arguments in [["wrok"], ["push"], ["push", "orders", "--idd", "1"], ["stats", "extra"],
                          ["push", "orders", "--priority", "high"], ["push", "orders", "--score", "nan"],
                          ["push", "orders", "--payload", "{"], ["push", "orders", "--at", "tomorrow"],
                          ["push", "orders", "--at", "+10"], ["push", "orders", "--id", ""],
                          ["push", "orders", "--ndjson", "no-such-file"], ["push", "orders", "--ndjson", "-", "--id", "1"],
                          ["push", "orders", "--payload", "1", "--payload-file", "-"], ["jobs", "orders", "--state", "x"],
                          ["job", "orders", "1", "explode"], ["dead", "orders", "retry"], ["dead", "orders", "explode"],
                          ["completion", "tcsh"], ["work", "--queue", "nope"], ["--config", "nope.toml", "stats"],
                          ["-o", "node.threads=0", "stats"], ["--store", "nope:x", "stats"]]:
            self.ordo(*arguments, code=2)
        self.assertIn("did you mean 'work'", self.ordo("wrok", code=2).stderr)
        self.assertEqual(self.ordo("--store", "sqlite:none.db", "stats").returncode, 0)
        self.assertEqual(subprocess.run([ORDO], capture_output=True, check=False).returncode, 2)

    def test_a_wrong_config_is_refused_with_its_line(self):
        self.write("ordo.toml", "\n[queue.orders]\nshard = 3\n")
        self.assertEqual(self.ordo("stats", code=2).stderr,
                         "ordo: ordo.toml:3: unknown key 'shard' in [queue.orders]; did you mean 'shards'?\n")
        self.write("ordo.toml", "[queue.orders]\nshards = 0\n")
        self.assertIn("ordo.toml:2: ", self.ordo("stats", code=2).stderr)

    def test_options_stand_before_or_after_the_command(self):
        self.config()
        self.ordo("--store", "sqlite:other.db", "push", "orders", "--id", "1")
        self.assertEqual(len(self.json("jobs", "orders", "--store", "sqlite:other.db")), 1)
        self.assertEqual(len(self.json("-o", "store=sqlite:other.db", "jobs", "orders")), 1)
        self.assertEqual(self.stats()["length"], 0)

    def test_settings_come_from_flag_then_environment_then_file(self):
        self.config()
        self.push("file")
        env = {"ORDO_STORE": "sqlite:env.db"}
        self.ordo("push", "orders", "--id", "env", env=env)
        ids = lambda *arguments, **more: [job["id"] for job in json.loads(
            self.ordo("jobs", "orders", "--json", *arguments, **more).stdout)]
        self.assertEqual(ids(), ["file"])
        self.assertEqual(ids(env=env), ["env"])
        self.assertEqual(ids("--store", "sqlite:ordo.db", env=env), ["file"])
        self.assertEqual(ids(env={"ORDO_CONFIG": str(self.folder / "ordo.toml")}, cwd="/"), ["file"])  # relative to the file
        self.ordo("stats", env={"ORDO_NODE_THREADS": "none"}, code=2)

    def test_the_folder_of_the_store_must_be_there(self):
        self.config()
        self.assertIn("no/such/folder", self.ordo("--store", "sqlite:no/such/folder/x.db", "push", "orders", code=2).stderr)


class Push(Project):
    def setUp(self):
        super().setUp()
        self.config()

    def job(self, job_id):
        jobs = self.json("jobs", "orders", "--id", job_id)
        self.assertEqual(len(jobs), 1)
        return jobs[0]

    def test_prints_the_id(self):
        self.assertEqual(self.push("42").stdout, "42\n")
        self.assertRegex(self.ordo("push", "orders").stdout, r"^[0-9A-Z]{26}\n$")
        self.assertEqual(self.ordo("push", "orders", "--id", "a\"b", "--json").stdout, '{"pushed":1,"id":"a\\"b"}\n')

    def test_a_job_has_its_shape(self):
        self.ordo("push", "orders", "--id", "42", "--payload", ' {"v": 1.0, "t": "\\u00e9 x"} ', "--score", "-7.5",
                  "--key", "k", "--kind", "charge", "--at", "2035-03-09T08:05:00.5+01:00", "--priority", "-3")
        job = self.job("42")
        self.assertEqual(list(job), JOB_KEYS)
        self.assertEqual(job, {"queue": "orders", "kind": "charge", "key": "k", "id": "42", "state": "queued",
                               "payloads": [{"v": 1.0, "t": "é x"}], "scores": [-7.5],
                               "run_at": "2035-03-09T07:05:00.5Z", "retry_count": -1, "crashes": 0, "error": None})
        self.assertIn('[{"v":1.0,"t":"\\u00e9 x"}]', self.ordo("jobs", "orders", "--json").stdout)

    def test_defaults(self):
        self.push("42")
        job = self.job("42")
        self.assertEqual((job["kind"], job["key"], job["payloads"]), ("orders", "42", [""]))
        self.assertRegex(job["run_at"], f"^{TIME}$")
        self.assertGreater(job["scores"][0], 1.6e9)

    def test_payloads_that_are_bytes(self):
        self.ordo("push", "orders", "--id", "bytes", "--payload-file", "-", stdin=b"\x00\xff\n")
        self.assertEqual(self.job("bytes")["payloads"], [{"$base64": "AP8K"}])
        self.ordo("push", "orders", "--id", "bytes", "--payload", '{"$base64":"AP8K"}')  # equal bytes merge
        self.assertEqual(len(self.job("bytes")["payloads"]), 1)
        self.ordo("push", "orders", "--id", "empty", "--payload", '""')
        self.assertEqual(self.job("empty")["payloads"], [""])

    def test_times(self):
        self.ordo("push", "orders", "--id", "unix", "--at", "2056485900")
        self.assertEqual(self.job("unix")["run_at"], "2035-03-02T22:05:00Z")
        self.ordo("push", "orders", "--id", "delay", "--at", "+1h")
        self.assertEqual([job["id"] for job in self.json("jobs", "orders", "--state", "scheduled")], ["delay", "unix"])
        self.assertEqual(self.json("jobs", "orders", "--state", "due"), [])
        self.assertEqual(len(self.json("jobs", "orders", "--state", "queued")), 2)

    def test_a_queue_nobody_knows(self):
        self.assertIn("orders", self.ordo("push", "ordrs", "--id", "1", code=1).stderr)
        self.ordo("push", "orders", "--id", "x" * 256, code=1)
        self.assertEqual(self.stats()["length"], 0)

    def test_a_queue_of_the_store_needs_no_config(self):
        self.push("1")
        (self.folder / "ordo.toml").unlink()
        self.push("2")
        self.assertEqual(self.stats()["length"], 2)

    def test_ndjson(self):
        jobs = [{"id": str(i), "payload": {"v": i}, "score": i} for i in range(2500)]
        self.assertEqual(self.push_lines(jobs).stdout, "pushed 2500\n")
        self.assertEqual(self.stats()["length"], 2500)
        self.write("more.ndjson", '{"run_at":"+1h","key":"k","kind":"c","priority":1,"timeout":"1s"}\n\n{}\r\n')
        self.assertEqual(self.json("push", "orders", "--ndjson", "more.ndjson"), {"pushed": 2})

    def test_doctor(self):
        self.push("1")
        findings = self.json("doctor")
        self.assertEqual({finding["level"] for finding in findings}, {"good"})
        self.assertTrue(any("the file is sound" in finding["what"] for finding in findings), findings)
        self.assertTrue(any("clock" in finding["what"] for finding in findings), findings)
        self.assertIn("good     SQLite", self.ordo("doctor").stdout)

    def test_ndjson_pushes_what_is_there_when_its_input_pauses(self):
        with subprocess.Popen([ORDO, "push", "orders", "--ndjson", "-"], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as push:
            push.stdin.write(b'{"id":"1"}\n{"id":"2"}\n{"id":')
            push.stdin.flush()
            self.until("the first two are pushed", lambda: self.stats()["length"] == 2)
            self.assertEqual(push.communicate(b'"3"}\n')[0], b"pushed 3\n")

    def test_ndjson_stops_at_the_first_bad_line(self):
        lines = [json.dumps({"id": str(i)}) for i in range(1500)]
        for i, bad in enumerate(['{"idd":1}', '{"id":1}', "{", "[]", json.dumps({"id": "x" * 256})]):
            with self.subTest(bad[:20]):
                self.write("ordo.toml", f'store = "sqlite:{i}.db"\n[queue.orders]\n')
                text = "\n".join([*lines, bad, '{"id":"after"}']).encode()
                done = self.ordo("push", "orders", "--ndjson", "-", stdin=text, code=1)
                self.assertRegex(done.stderr, r"^ordo: pushed 1500; line 1501: .+\n$")
                self.assertEqual(self.stats()["length"], 1500)


class Lists(Project):
    def setUp(self):
        super().setUp()
        self.config(more="[queue.mail]\n[queue.a]\n")

    def test_stats_have_their_shape(self):
        self.push("1")
        self.push("2", None, "--at", "+1h")
        stats = self.json("stats")
        self.assertEqual(list(stats), ["total", "by_queue"])
        self.assertEqual(list(stats["total"]), COUNTS)
        self.assertEqual(list(stats["by_queue"]), ["orders", "mail", "a"])  # as in the file
        self.assertEqual(list(stats["by_queue"]["orders"]), [*COUNTS, "paused"])
        self.assertEqual(stats["by_queue"]["orders"]["length"], 2)
        self.assertIs(stats["by_queue"]["mail"]["paused"], False)
        self.assertRegex(self.ordo("stats").stdout, r"(?m)^orders +2 ")

    def test_pause_and_resume(self):
        self.push("1")
        self.ordo("pause", "orders")
        self.assertIs(self.stats()["paused"], True)
        self.assertEqual(self.json("queues")[0], {"name": "orders", "shards": 5, "state": "paused"})
        self.assertEqual(self.drain().stdout.splitlines()[-1],
                         "drained; left: 0 scheduled, 0 awaiting, 1 paused, 0 dead")
        self.ordo("resume", "orders")
        self.drain()
        self.assertEqual(self.stats()["processed"], 1)
        self.ordo("pause", "nope", code=1)

    def test_remove(self):
        self.push("1")
        self.assertIn("--with-jobs", self.ordo("remove", "orders", code=1).stderr)
        self.ordo("remove", "orders", "--with-jobs")
        self.assertEqual(self.stats()["length"], 0)

    def test_job(self):
        self.push("42", {"v": 1}, "--at", "+1h")
        shown = self.json("job", "orders", "42", "show")
        self.assertEqual(shown, self.json("job", "orders", "42"))
        self.assertEqual([job["id"] for job in shown], ["42"])
        self.ordo("job", "orders", "42", "run-now")
        self.drain()
        self.assertEqual(self.runs(), [("42", [{"v": 1}], -1)])
        self.assertEqual(self.json("job", "orders", "42", code=1), [])
        self.push("43", None, "--at", "+1h")
        self.ordo("job", "orders", "43", "cancel")
        self.drain()
        self.assertEqual(self.stats()["length"], 0)
        self.ordo("job", "orders", "43", "cancel")  # gone: nothing happens

    def test_tables_are_plain_without_a_terminal(self):
        self.push("заказ", {"v": 1})
        text = self.ordo("jobs", "orders").stdout
        self.assertNotIn("\033", text)
        self.assertRegex(text, r"(?m)^заказ  заказ  orders  due ")

    def test_tables_have_colours_on_a_terminal(self):
        self.push("1")

        def shown(env):
            terminal, end = pty.openpty()
            with subprocess.Popen([ORDO, "stats"], cwd=self.folder, stdout=end, env={**self.environment(), **env}):
                os.close(end)
                text = b""
                try:
                    while part := os.read(terminal, 4096):
                        text += part
                except OSError:
                    pass
            os.close(terminal)
            return text

        self.assertIn(b"\033[", shown({"TERM": "xterm"}))
        self.assertNotIn(b"\033[", shown({"TERM": "xterm", "NO_COLOR": "1"}))

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([ORDO, "stats"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write", done.stderr)

    def test_completion(self):
        for shell in ["bash", "zsh", "fish"]:
            self.assertIn("ndjson", self.ordo("completion", shell).stdout)
        script = self.ordo("completion", "bash").stdout
        line = 'COMP_WORDS=(ordo push --pay); COMP_CWORD=2; _ordo; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script + line], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "--payload --payload-file\n")

    def test_init_makes_something_that_works(self):
        folder = self.folder / "new"
        folder.mkdir()
        commands = re.findall(r"(?m)^  (ordo .+)$", self.ordo("init", cwd=folder).stdout)
        self.ordo("init", cwd=folder, code=1)
        for command in commands:
            subprocess.run(command.replace("ordo", ORDO, 1), shell=True, cwd=folder, check=True, capture_output=True,
                           env=self.environment())
        stats = json.loads(self.ordo("stats", "--json", cwd=folder).stdout)
        self.assertEqual((stats["total"]["processed"], stats["total"]["length"]), (1, 0))


if __name__ == "__main__":
    unittest.main()
