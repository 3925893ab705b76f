"""The main way on each store: push, order, merge, retry, die, come back, survive kill -9, drain."""
import unittest

from project import Project

# `bad` fails until the file `good` is there; `held` waits for the file `go`.
ANSWER = """
job = request["jobs"][0]
if job["id"] == "held":
    with open("held", "a") as held:
        held.write("started\\n")
    while not os.path.exists("go"):
        time.sleep(0.02)
if job["id"] == "bad" and not os.path.exists("good"):
    return {"ok": False, "error": "it is bad"}
return {"ok": True}
""".strip()


class Scene(Project):
    def setUp(self):
        super().setUp()
        self.answer(ANSWER)
        self.config(queue='max_retries = 1\nretry = { strategy = "fixed", delay = "0s" }', node='lease = "2s"')

    def starts(self):
        held = self.folder / "held"
        return len(held.read_text().splitlines()) if held.exists() else 0

    def test_push_order_retry_death_and_drain(self):
        self.push_lines([{"id": str(n), "key": "line", "payload": n} for n in range(20)])
        self.push("42", {"status": "paid"})
        self.push("42", {"status": "sent"})
        self.push("bad", 1)
        self.drain()
        runs = self.runs()
        self.assertEqual([job for job, _, _ in runs if job not in ("42", "bad")], [str(n) for n in range(20)])
        self.assertEqual([payloads for job, payloads, _ in runs if job == "42"], [[{"status": "paid"}, {"status": "sent"}]])
        self.assertEqual([retries for job, _, retries in runs if job == "bad"], [-1, 0])
        dead = self.json("dead", "orders", "list")
        self.assertEqual([(job["id"], job["error_kind"]) for job in dead], [("bad", "handler")])
        self.assertIn("it is bad", dead[0]["error"])
        self.write("good", "")
        self.ordo("dead", "orders", "retry", "bad")
        self.drain()
        stats = self.stats()
        self.assertEqual((stats["processed"], stats["failed"], stats["length"], stats["dead"]), (22, 2, 0, 0))

    def test_a_store_is_made_before_its_first_use(self):
        self.ordo("migrate")  # a Redis needs nothing, and a server may have served before
        self.assertIn("nothing to do: ", self.ordo("migrate").stdout)
        self.push("42", {"status": "paid"})
        self.drain()
        self.assertEqual(self.runs()[0][0], "42")

    def test_what_runs_on_a_node_that_is_killed_runs_again_before_what_is_behind_it(self):
        self.push_lines([{"id": "held", "key": "k"}, {"id": "behind", "key": "k"}, {"id": "beside"}])
        node = self.start()
        self.until("it runs", lambda: self.starts() == 1)
        node.kill()
        self.end_of(node)
        stats = self.stats()
        self.assertEqual(stats["processed"] + stats["length"] + stats["running"], 3)
        self.write("go", "")
        other = self.start()
        self.until_stats(processed=3, length=0, running=0)
        other.terminate()
        self.assertEqual(self.end_of(other), 0)
        order = [job for job, _, _ in self.runs() if job != "beside"]
        self.assertEqual((self.starts(), order), (2, ["held", "held", "behind"]))


if __name__ == "__main__":
    unittest.main()
