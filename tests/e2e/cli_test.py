"""The commands that look, push and manage: shapes, exit codes, messages (docs/cli.md)."""
import json
import re
import shutil
import subprocess
import unittest

from project import ORDO, Project


class CommandLine(Project):
    def test_help_teaches(self):
        text = self.ordo("--help").stdout
        for command in ["work", "push", "stats", "queues", "jobs", "job", "dead", "pause", "resume", "remove", "nodes",
                        "doctor", "copy", "init", "completion", "bench", "periodic", "respond", "waits"]:
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
        self.assertRegex(self.ordo("bench", "--only", "raw,nonsense", code=2).stderr, r"\Aordo: bench: .*nonsense.*push_64.*\n\Z")
        self.assertEqual(subprocess.run([ORDO], capture_output=True, check=False).returncode, 2)

    def test_a_store_is_made_before_its_first_use(self):
        self.config()
        self.assertRegex(self.ordo("migrate").stdout, r"\Amade what Ordo needs in sqlite:.*\n\Z")
        self.assertRegex(self.ordo("migrate").stdout, r"\Anothing to do: sqlite:.* is ready\n\Z")
        self.assertEqual(self.json("migrate"), {"made": False})
        self.ordo("stats")
        self.assertIn("only PostgreSQL has tables", self.ordo("migrate", "--sql", code=1).stderr)
        sql = self.ordo("migrate", "--store", "postgres://nowhere.invalid/db", "--sql").stdout
        self.assertRegex(sql, r"(?s)\ABEGIN;.*CREATE TABLE ordo_meta.*COMMIT;\n\Z")

    def test_the_next_ticks_need_no_store(self):
        self.config(more='[periodic.nightly]\nqueue = "orders"\ncron = "0 5 * * *"\n[periodic.often]\nqueue = "orders"\nevery = "1h"\n')
        [berlin] = self.json("periodic", "preview", "0 9 * 1 *", "--tz", "Europe/Berlin")
        self.assertEqual((berlin["cron"], berlin["tz"], len(berlin["next"])), ("0 9 * 1 *", "Europe/Berlin", 10))
        self.assertTrue(all(re.fullmatch(r"\d{4}-01-\d\dT08:00:00Z", tick) for tick in berlin["next"]), berlin)
        self.assertRegex(self.ordo("periodic", "preview", "0 9 * 1 *", "--tz", "Europe/Berlin").stdout, r"\A(\d{4}-01-\d\dT09:00:00\+01:00  \S.*\n){10}\Z")
        self.assertEqual([schedule["name"] for schedule in self.json("periodic", "preview")], ["nightly", "often"])
        self.assertEqual([schedule["every"] for schedule in self.json("periodic", "preview", "often")], ["1h"])
        for wrong, why in (("0 9 * *", "it takes 5"), ("* * 31 2 *", "never"), ("weekly", "no schedule 'weekly'")):
            self.assertIn(why, self.ordo("periodic", "preview", wrong, code=2).stderr)
        self.assertFalse((self.folder / "ordo.db").exists())

    def test_times_are_those_of_a_clock(self):
        self.config(more='[cli]\ntz = "Europe/Berlin"\n')
        self.push("1", None, "--at", "2035-01-02 09:00")
        self.push("2", None, "--at", "2035-01-02 09:00 Asia/Tokyo", "--expires", "2035-01-03 09:00 UTC")
        self.assertEqual([job["run_at"] for job in self.json("jobs", "orders", "--sort", "id")], ["2035-01-02T08:00:00Z", "2035-01-02T00:00:00Z"])
        self.assertIn("2035-01-02 09:00", self.ordo("jobs", "orders").stdout)
        self.assertIn("run at       2035-01-02 09:00 (2035-01-02T09:00:00+01:00)\n", self.ordo("job", "orders", "1").stdout)
        told = self.ordo("job", "orders", "1", "reschedule", "--at", "2035-01-04 10:00 UTC").stdout
        self.assertEqual(told, "requested: '1' moves to 2035-01-04 11:00 (2035-01-04T11:00:00+01:00); stored, and carried out when a node runs\n")
        listed = self.json("jobs", "orders", "--since", "2035-01-04 08:30", "--until", "2035-01-05 00:00 UTC")
        self.assertEqual([job["id"] for job in listed], ["1"])
        self.assertIn("a weekday is the next one", self.ordo("dead", "orders", "delete", "--until", "mon 06:00", code=2).stderr)
        self.assertIn("append Z or +01:00", self.ordo("push", "orders", "--at", "2026-11-26T09:00:00", code=2).stderr)
        self.assertIn("no zone 'Berlin'", self.ordo("push", "orders", "--at", "mon 09:00 Berlin", code=2).stderr)

    def test_a_verb_that_is_an_id_is_told_the_right_call(self):
        self.config()
        self.assertIn("A job of that id: ordo dead orders list 2\n", self.ordo("dead", "orders", "2", code=2).stderr)

    def test_only_what_writes_jobs_makes_a_store(self):
        self.config()
        missing = f"ordo: no store at '{self.folder / 'ordo.db'}': name another, or push a job or start a node, which makes it\n"
        for arguments in [["stats"], ["stats", "--watch"], ["queues"], ["nodes"], ["nodes", "stop", "x"], ["doctor"],
                          ["jobs", "orders"], ["job", "orders", "1"], ["job", "orders", "1", "cancel"], ["dead", "orders"],
                          ["dead", "orders", "retry", "--all"], ["pause", "orders"], ["remove", "orders"], ["reshard", "orders", "3"],
                          ["copy", "sqlite:ordo.db", "sqlite:to.db"]]:
            with self.subTest(arguments):
                self.assertEqual(self.ordo(*arguments, code=2).stderr, missing)
                self.assertEqual(list(self.folder.glob("*.db*")), [])
        self.push("1")
        self.ordo("copy", "sqlite:ordo.db", "sqlite:to.db")
        self.assertEqual(len(self.json("jobs", "orders", "--store", "sqlite:to.db")), 1)

    def test_a_wrong_config_is_refused_with_its_line(self):
        self.write("ordo.toml", "\n[queue.orders]\nshard = 3\n")
        self.assertEqual(self.ordo("stats", code=2).stderr,
                         "ordo: ordo.toml:3: unknown key 'shard' in [queue.orders]; did you mean 'shards' or 'shares'?\n")
        self.write("ordo.toml", "[queue.orders]\nshards = 0\n")
        self.assertIn("ordo.toml:2: ", self.ordo("stats", code=2).stderr)

    def test_options_stand_before_or_after_the_command(self):
        self.config()
        self.ordo("--store", "sqlite:other.db", "push", "orders", "--id", "1")
        self.assertEqual(len(self.json("jobs", "orders", "--store", "sqlite:other.db")), 1)
        self.assertEqual(len(self.json("-o", "store=sqlite:other.db", "jobs", "orders")), 1)
        self.assertFalse((self.folder / "ordo.db").exists())

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

    def test_a_push_that_would_end_with_its_process_is_refused(self):
        self.config()
        for arguments in [["--id", "1"], ["--ndjson", "-"]]:
            self.assertIn("memory:", self.ordo("--store", "memory:", "push", "orders", *arguments, code=2).stderr)

    def test_the_folder_of_the_store_must_be_there(self):
        self.config()
        self.assertIn("no/such/folder", self.ordo("--store", "sqlite:no/such/folder/x.db", "push", "orders", code=2).stderr)


class File(Project):
    def setUp(self):
        super().setUp()
        self.config(more="[queue.mail]\n[queue.a]\n")

    def test_a_queue_of_the_store_needs_no_config(self):
        self.push("1")
        (self.folder / "ordo.toml").unlink()
        self.push("2")
        self.assertEqual(self.stats()["length"], 2)

    def test_doctor(self):
        self.make_store()
        findings = self.json("doctor")
        self.assertEqual({finding["level"] for finding in findings}, {"good"})
        self.assertTrue(any("the file is sound" in finding["what"] for finding in findings), findings)
        self.assertTrue(any("clock" in finding["what"] for finding in findings), findings)
        self.assertIn("good     SQLite", self.ordo("doctor").stdout)

    def test_ndjson_stops_at_the_first_bad_line(self):
        lines = [json.dumps({"id": str(i)}) for i in range(1500)]
        for i, bad in enumerate(['{"idd":1}', '{"id":1}', "{", "[]", json.dumps({"id": "x" * 256})]):
            with self.subTest(bad[:20]):
                self.write("ordo.toml", f'store = "sqlite:{i}.db"\n[queue.orders]\n')
                text = "\n".join([*lines, bad, '{"id":"after"}']).encode()
                done = self.ordo("push", "orders", "--ndjson", "-", stdin=text, code=1)
                self.assertRegex(done.stderr, r"^ordo: pushed 1500; line 1501: .+\n$")
                self.assertEqual(self.stats()["length"], 1500)

    def test_tables_are_plain_without_a_terminal(self):
        self.push("заказ", {"v": 1})
        text = self.ordo("jobs", "orders").stdout
        self.assertNotIn("\033", text)
        self.assertRegex(text, r"(?m)^заказ  заказ  orders  due ")

    def test_tables_have_colours_on_a_terminal(self):
        self.push("1")

        self.assertIn(b"\033[", self.on_terminal("stats"))
        self.assertNotIn(b"\033[", self.on_terminal("stats", NO_COLOR="1"))

    def test_a_full_disk_is_no_success(self):
        self.make_store()
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
        for language in ["", "--python", "--sh", *(["--node"] if shutil.which("node") else [])]:
            with self.subTest(language):
                folder = self.folder / f"new{language}"
                folder.mkdir()
                arguments = ["init", *([language] if language else [])]
                commands = re.findall(r"(?m)^  (ordo .+)$", self.ordo(*arguments, cwd=folder).stdout)
                self.ordo("init", cwd=folder, code=1)
                for command in commands:
                    done = subprocess.run(command.replace("ordo", ORDO, 1), shell=True, cwd=folder, check=True,
                                          capture_output=True, env=self.environment())
                self.assertIn(b"order", done.stderr)
                stats = json.loads(self.ordo("stats", "--json", cwd=folder).stdout)
                self.assertEqual((stats["total"]["processed"], stats["total"]["length"]), (1, 0))
        self.ordo("init", "--sh", "--node", code=2)


if __name__ == "__main__":
    unittest.main()
