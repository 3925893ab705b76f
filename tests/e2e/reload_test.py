"""HUP: a node reads its config again (docs/cli.md, docs/config.md)."""
import json
import signal
import unittest

from project import Project

COMMAND = 'command = ["python3", "-B", "worker.py"]\n'
# Tells that it runs, and waits until the test lets it go.
HELD = """
job = request["jobs"][0]["id"]
if job.startswith("held"):
    pathlib.Path("started-" + job).touch()
    while not os.path.exists("go"):
        time.sleep(0.02)
return {"ok": True}""".strip()


class Reload(Project):
    def setUp(self):
        super().setUp()
        self.answer(HELD)

    def begin(self, **config):
        self.config(**config)
        node = self.start()
        self.until("the node is there", lambda: self.json("nodes"))
        return node

    def reload(self, node, says):
        """The lines of the log that the reload wrote, once one of them has that text."""
        before = len(self.log())
        node.send_signal(signal.SIGHUP)

        def told():
            lines = [line for line in self.log()[before:].splitlines() if "the config was read again" in line]
            return lines if any(says in line for line in lines) else None
        return self.until(f"it says: {says}", told)

    def ran(self, job):
        return job in [run[0] for run in self.runs()]

    def stop(self, node):
        node.terminate()
        self.assertEqual(self.end_of(node), 0)
        self.assertIn(" has stopped\n", self.log())

    def queues(self):
        return [node["queues"] for node in self.json("nodes")]

    def test_queues_come_and_go(self):
        node = self.begin(more="[queue.old]\n" + COMMAND)
        self.config(more="[queue.mail]\n" + COMMAND + "threads = 2\n")
        self.reload(node, "queue 'mail' is served from now on")
        self.until("it says the other line, too", lambda: "queue 'old' is served no more" in self.log())
        self.push("1", queue="mail")
        self.until("it runs", lambda: self.ran("1"))
        self.until("the nodes tell", lambda: self.queues() == [["mail", "orders"]])
        self.push("2", queue="orders")
        self.until("it runs", lambda: self.ran("2"))
        self.assertEqual(self.ordo("push", "old", "--id", "3").returncode, 0)
        self.config(more="[queue.old]\n" + COMMAND)
        self.reload(node, "queue 'old' is served from now on")
        self.until("it runs", lambda: self.ran("3"))
        self.stop(node)

    def test_a_config_that_is_gone_changes_nothing(self):
        node = self.begin()
        (self.folder / "ordo.toml").unlink()
        self.reload(node, "nothing was changed: ")
        self.config(more="[periodic.report]\nqueue = 'ordres'\nevery = '1h'\n")
        self.assertEqual(self.queues(), [["orders"]])
        self.stop(node)
        node = self.start()
        self.until("it says so", lambda: "schedule 'report' makes no jobs yet: there is no queue 'ordres'; did you mean 'orders'?" in self.log())
        self.stop(node)

    def test_running_jobs_go_on_with_the_code_that_they_have(self):
        node = self.begin()
        self.push("held1")
        self.until("it runs", (self.folder / "started-held1").exists)
        self.write("other.py", "import sys\nfor line in sys.stdin:\n    open('other', 'a').write(line)\n    print('{\"ok\":true}', flush=True)\n")
        self.write("ordo.toml", (self.folder / "ordo.toml").read_text().replace("worker.py", "other.py"))
        self.reload(node, "queue 'orders': command")
        self.push("held1")
        self.push("2")
        self.until("the new code runs", lambda: (self.folder / "other").exists() and (self.folder / "other").read_text().endswith("\n"))
        told = [json.loads(line)["jobs"][0]["id"] for line in (self.folder / "other").read_text().splitlines()]
        self.assertEqual(told, ["2"], "the key of the running job is taken")
        self.write("go", "")
        self.until("all have ended", lambda: self.stats()["processed"] == 3)
        self.assertEqual([run[0] for run in self.runs()], ["held1"], "it ran once with the old code")
        self.stop(node)

    def test_a_kind_that_is_declared_runs_with_the_code_of_its_queue(self):
        node = self.begin()
        self.push("1", None, "--kind", "heir")
        self.until("it waits for code", lambda: self.stats()["without_code"] == 1)
        self.config(more="[queue.orders.kind.heir]\n")
        self.reload(node, "queue 'orders': kind.heir")
        self.until("it runs", lambda: self.ran("1"))
        self.config()
        self.reload(node, "queue 'orders': kind.heir")
        self.push("2", None, "--kind", "heir")
        self.until("it waits for code", lambda: self.stats()["without_code"] == 1)
        self.stop(node)

    def test_rules_change(self):
        node = self.begin(queue="max_retries = 5\nretry = { strategy = \"fixed\", delay = \"1h\" }\nlimit = 1\n")
        self.config(queue="max_retries = 0\nlimit = 2\nthreads = 2\n")
        lines = self.reload(node, "queue 'orders': ")
        self.assertEqual(len(lines), 1)
        for key in ("max_retries", "retry", "limit", "threads"):
            self.assertIn(key, lines[0])
        self.push_lines([{"id": "held1"}, {"id": "held2"}])
        self.until("both run", lambda: all((self.folder / f"started-held{n}").exists() for n in (1, 2)))
        self.write("go", "")
        self.until("all have ended", lambda: self.stats()["processed"] == 2)
        self.stop(node)

    def test_what_cannot_change_is_refused_as_a_whole(self):
        node = self.begin()
        before = (self.folder / "ordo.toml").read_text()
        self.config(node="threads = 9", more="[queue.mail]\n" + COMMAND)
        lines = self.reload(node, "nothing was changed: threads of [node] cannot change while the node runs")
        self.assertEqual(len(lines), 1)
        self.assertEqual(self.queues(), [["orders"]])
        self.write("ordo.toml", before + "nonsense = 1\n")
        self.reload(node, "ordo.toml:")
        self.write("ordo.toml", before.replace("[queue.orders]", "[queue.orders]\nshards = 9"))
        self.reload(node, "5 shards in the store and 9 in the config")
        self.write("ordo.toml", before)
        self.reload(node, "nothing has changed")
        self.push("1")
        self.until("it runs", lambda: self.ran("1"))
        self.assertIsNone(node.poll())
        self.stop(node)

    def test_many_signals_kill_nothing(self):
        node = self.begin()
        for n in range(30):
            self.config(queue=f"max_dead = {n + 1}\n")
            node.send_signal(signal.SIGHUP)
            self.push(str(n))
        self.until("all have run", lambda: self.stats()["processed"] == 30)
        self.assertIsNone(node.poll())
        self.assertEqual(sorted(int(run[0]) for run in self.runs()), list(range(30)))
        self.stop(node)

    def test_schedules_change(self):
        node = self.begin()
        self.config(more='[periodic.often]\nqueue = "orders"\nevery = "1s"\npayload = \'"tick"\'\n')
        self.reload(node, "schedules")
        self.until("it ticks", lambda: any(run[1] == ["tick"] for run in self.runs()))
        self.stop(node)


if __name__ == "__main__":
    unittest.main()
