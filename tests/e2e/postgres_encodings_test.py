"""A store in a database that is not in UTF-8, from outside."""
import json
import unittest

from project import Project

IDS = ["café", "日本", "plain"]


class InAnotherEncoding(Project):
    store = "postgres:"

    def setUp(self):
        super().setUp()
        self.config()
        self.answer("return {'ok': True}")

    def use(self, encoding):
        name = encoding.lower()
        self.server.psql(f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;")
        config = self.folder / "ordo.toml"
        config.write_text(config.read_text().replace("/postgres?", f"/{name}?"))
        self.assertIn(f"/{name}?", config.read_text())

    def run_all(self):
        self.push_lines([{"id": name, "payload": name} for name in IDS])
        self.push("bytes", {"$base64": "/4A="})
        listed = {job["id"]: job for job in self.json("jobs", "orders")}
        self.assertEqual(set(listed), {*IDS, "bytes"})
        exported = [json.loads(line) for line in self.ordo("jobs", "orders", "export").stdout.splitlines()]
        self.assertEqual({job["id"]: job["payload"] for job in exported if job["id"] in IDS}, {name: name for name in IDS})
        self.drain()
        self.assertEqual({job["id"] for request in self.requests() for job in request["jobs"]}, set(listed))

    def test_latin1(self):
        self.use("LATIN1")
        self.run_all()

    def test_sql_ascii(self):
        self.use("SQL_ASCII")
        self.run_all()


if __name__ == "__main__":
    unittest.main()
