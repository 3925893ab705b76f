"""What docs/redis.md and docs/postgres.md say of pushing without Ordo, done as it stands there."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from project import PATIENCE_S, Project

DOCS = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs"


def example(document, language, holding):
    """The one code block of a document in `language` that holds a text."""
    blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", (DOCS / document).read_text())
    found = [text for name, text in blocks if name == language and holding in text]
    assert len(found) == 1, f"{len(found)} blocks of {document} hold {holding!r}"
    return found[0]


class DocumentedPush(Project):
    def ran(self):
        """(id, key, payloads) of what runs now."""
        self.drain()
        jobs = [(job["id"], job["key"], job["payloads"]) for request in self.requests() for job in request["jobs"]]
        (self.folder / "requests.ndjson").unlink(missing_ok=True)
        return jobs


class OnRedis(DocumentedPush):
    store = "redis:"

    def setUp(self):
        super().setUp()
        self.config()
        self.assertEqual(self.ran(), [])  # the node makes the queue

    def test_in_shell(self):
        command, answer = re.search(r"`(HGET [^`]+)` → `([^`]+)`", (DOCS / "redis.md").read_text()).groups()
        self.assertEqual(self.server.cli(command), answer + "\n")
        self.assertRegex(self.server.cli(example("redis.md", "", "XADD")), r"^\d+-\d+\n$")
        self.assertEqual(self.ran(), [("42", "42", [{"v": 1}])])

    def test_what_no_node_has_read_yet_is_edited(self):
        self.server.cli(example("redis.md", "", "XADD"))
        self.ordo("job", "orders", "42", "edit", "--payload", '"new"')
        self.assertEqual(self.ran(), [("42", "42", ["new"])])

    def test_in_python(self):
        program = example("redis.md", "python", "import redis")
        local = "redis.Redis()"
        self.assertEqual(program.count(local), 1)
        program = program.replace(local, f"redis.Redis(unix_socket_path={str(self.server.path)!r})")
        program += 'push("orders", "заказ", payload="\\x00")\n'
        subprocess.run(["/usr/bin/python3", "-c", program], check=True, timeout=PATIENCE_S, env={"LC_ALL": "C.UTF-8"})
        ran = sorted(self.ran(), key=lambda job: job[1])
        self.assertEqual(ran[0], ("42", "customer-7", [{"v": 1}]))
        self.assertEqual(ran[1][1:], ("заказ", [{"$base64": "AA=="}]))

    def unique(self, *, job="42", unique="7"):
        """What the documented command says: the id of the job that has the key, and 1 if it was pushed."""
        (self.folder / "unique.lua").write_text(example("redis.md", "lua", "FNV-1a"))
        command = example("redis.md", "sh", "unique.lua").replace("redis-cli", f"redis-cli -s {self.server.path}")
        command = command.replace(" 42 42 7 1 01HZX3K9", f" 42 {job} {unique} 1 token-{job}")
        done = subprocess.run(command, shell=True, cwd=self.folder, check=True, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        return done.stdout.split("\n")[:2]

    def test_unique(self):
        self.config(queue='unique = { by = "id", scope = "queued_or_running" }')
        self.assertEqual(self.unique(), ["42", "1"])
        self.assertEqual(self.unique(job="43"), ["42", "0"])
        for key, there in (("7", ["42"]), ("8", [])):
            said = self.ordo("push", "orders", "--id", f"by-{key}", "--unique", key, "--json", code=len(there)).stdout
            self.assertEqual([json.loads(said)["existing"]] if there else [], there)
        self.assertEqual(self.unique(job="44", unique="8"), ["by-8", "0"])
        self.assertEqual(self.unique(job="45", unique="ключ"), ["45", "1"])
        self.ordo("push", "orders", "--id", "46", "--unique", "ключ", code=1)
        self.assertEqual(sorted(self.ran()), [("42", "42", [{"v": 1}]), ("45", "42", [{"v": 1}]), ("by-8", "by-8", [""])])
        self.until("the keys are free", lambda: self.server.ask("HLEN", "ordo:{q:orders!}:waits") == 0)
        self.assertEqual(self.unique(job="43"), ["43", "1"])

    def test_a_field_unique_is_a_dead_job(self):
        command = example("redis.md", "", "XADD").replace(" id 42", " id 42 unique 7")
        self.assertRegex(self.server.cli(command), r"^\d+-\d+\n$")
        self.assertEqual(self.ran(), [])
        dead = self.json("dead", "orders", "list")[0]
        self.assertEqual((dead["id"], dead["error_kind"]), ("42", "invalid-push"))
        self.assertIn("the field 'unique' is unknown", dead["error"])


class OnPostgres(DocumentedPush):
    store = "postgres:"

    def setUp(self):
        super().setUp()
        self.config()
        self.make_store()
        self.server.psql(re.search(r"`(SELECT ordo_define\([^`]+)`", (DOCS / "postgres.md").read_text())[1])
        self.server.psql("CREATE TABLE orders(id int, status text); INSERT INTO orders VALUES (42, 'new');")
        self.transaction = example("postgres.md", "sql", "UPDATE orders")
        self.assertEqual(self.transaction.count("COMMIT;"), 1)

    def test_somebody_else_may_make_the_tables(self):
        url = self.server.direct + "&options=-csearch_path%3Dby_hand"
        sql = self.ordo("migrate", "--store", url, "--sql").stdout
        self.server.psql("CREATE SCHEMA by_hand; SET search_path = by_hand;" + sql)
        self.assertIn("nothing to do: ", self.ordo("migrate", "--store", url).stdout)
        self.assertEqual(self.ordo("push", "orders", "--id", "7", "--store", url).stdout, "7\n")
        self.assertEqual(self.server.psql("SELECT count(*) FROM by_hand.ordo_entry"), "1\n")

    def test_rolled_back_it_never_was(self):
        self.server.psql(self.transaction.replace("COMMIT;", "ROLLBACK;"))
        self.assertEqual(self.json("jobs", "orders"), [])
        self.assertEqual(self.ran(), [])

    def test_equal_json_merges_whoever_pushes_it(self):
        self.ordo("push", "orders", "--id", "42", "--payload", '{"a": [1, "x y"]}')
        for payload in ["""'{"a" :[1,"x y"]}'""", """'{"a":[1, "x y"]}'::json""", "jsonb_build_object('a', jsonb_build_array(1, 'x y'))"]:
            self.assertEqual(self.server.psql(f"SELECT ordo_push('orders', {payload}, id => 42, key => '42')"), "42\n")
        self.assertEqual([job["payloads"] for job in self.json("jobs", "orders")], [[{"a": [1, "x y"]}]])

    def test_committed_it_runs(self):
        self.assertEqual(self.server.psql(self.transaction), "42\n")
        self.assertEqual(self.server.psql("SELECT status FROM orders"), "paid\n")
        self.assertEqual(self.ran(), [("42", "42", [{"status": "paid"}])])

    def test_options(self):
        self.config(queue="limit = 1")
        self.assertEqual(self.server.psql(example("postgres.md", "sql", "partition")), "43\n")
        job = self.json("job", "orders", "43")[0]
        self.assertEqual((job["id"], job["weight"], job["partition"]), ("43", 0.5, "east"))
        self.assertEqual(self.ran(), [("43", "43", [{"status": "late"}])])

    def test_a_unique_key(self):
        pushes = example("postgres.md", "sql", "monday")
        self.assertEqual(self.server.psql(pushes), "monday\n" * 2)
        self.config(queue='unique = { by = "id", scope = "queued_or_running" }')
        said = self.ordo("push", "orders", "--id", "wednesday", "--unique", "7", "--json", code=1).stdout
        self.assertEqual(json.loads(said), {"pushed": 0, "existing": "monday"})
        self.assertEqual([job[0] for job in self.ran()], ["monday"])
        self.until("the key is free", lambda: self.server.psql("SELECT count(*) FROM ordo_wait") == "0\n")
        self.ordo("push", "orders", "--id", "7", "--unique", "7")
        self.assertIn('job "7" has the unique key already', self.refused(pushes))

    def refused(self, statement):
        """What the server says of it."""
        with self.assertRaises(subprocess.CalledProcessError) as failure:
            self.server.psql(statement)
        return failure.exception.stderr

    def test_of_one_transaction_they_keep_their_order(self):
        self.server.psql("BEGIN; SELECT ordo_push('orders', i::text, 'o' || i, key => 'k') FROM generate_series(1, 30) i;"
                         " COMMIT;")
        self.assertEqual(self.ran(), [(f"o{n}", "k", [n]) for n in range(1, 31)])


if __name__ == "__main__":
    unittest.main()
