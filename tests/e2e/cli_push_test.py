"""Many jobs pushed from a file: where it stopped, how it goes on, what was wrong (docs/cli.md)."""
import json
import re
import signal
import subprocess
import unittest

from project import ORDO, Project


class PushOfMany(Project):
    def setUp(self):
        super().setUp()
        self.config("shards = 1")
        self.make_store()

    def ids(self):
        return [job["id"] for job in self.json("jobs", "orders", "--limit", "100000")]

    def lines(self, *lines):
        self.write("jobs.ndjson", "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")

    def test_it_goes_on_where_it_was_stopped(self):
        self.lines({"id": "1"}, {"id": "2"}, "{", {"id": "4"})
        told = self.ordo("push", "orders", "--ndjson", "jobs.ndjson", code=1).stderr
        self.assertIn("ordo: pushed 2; line 3: this is no JSON: it ends too early, after byte 1; go on with --from-line 3", told)
        self.lines({"id": "1"}, {"id": "2"}, {"id": "3"}, {"id": "4"})
        line = re.search(r"--from-line (\d+)", told)[1]
        self.assertEqual(self.ordo("push", "orders", "--ndjson", "jobs.ndjson", "--from-line", line).stdout, "pushed 2\n")
        self.assertEqual(self.ids(), ["1", "2", "3", "4"])
        self.assertEqual(self.ordo("push", "orders", "--ndjson", "jobs.ndjson", "--from-line", "9").stdout, "pushed 0\n")

    def test_one_that_is_interrupted_before_its_first_line_names_that_line(self):
        with subprocess.Popen([ORDO, "push", "orders", "--ndjson", "-", "--from-line", "1000000"], cwd=self.folder,
                              env=self.environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as push:
            push.stdin.write(b"{}\n" * 50_000)  # more than a pipe holds: it is reading
            push.stdin.flush()
            push.send_signal(signal.SIGINT)
            self.assertEqual(self.end_of(push), 130)
            self.assertIn(b"go on with --from-line 1000000", push.stderr.read())

    def test_bad_lines_do_not_go_where_they_come_from(self):
        self.lines({"id": "1"}, "{")
        self.assertIn("name another one", self.ordo("push", "orders", "--ndjson", "jobs.ndjson", "--skip-bad", "./jobs.ndjson", code=2).stderr)
        self.assertEqual(self.ids(), [])

    def test_bad_lines_are_set_aside(self):
        self.lines({"id": "1"}, '{"idd":1}', {"id": "2"}, {"id": "x" * 256}, {"id": "3", "payload": "y" * (1 << 20)}, {"id": "4"})
        told = self.ordo("push", "orders", "--ndjson", "jobs.ndjson", "--skip-bad", "bad.ndjson", code=1)
        self.assertIn("pushed 3; set aside 3 in bad.ndjson, the first is line 2: unknown key", told.stderr)
        self.assertEqual(self.ids(), ["1", "2", "4"])
        bad = [json.loads(line) for line in (self.folder / "bad.ndjson").read_text().splitlines()]
        self.assertEqual([line["line"] for line in bad], [2, 4, 5])
        self.assertEqual(bad[0]["text"], '{"idd":1}')
        self.assertIn("256 bytes, at most 255 fit", bad[1]["error"])
        self.assertIn("at most 1048576 fit", bad[2]["error"])
        self.write("mended.ndjson", bad[0]["text"].replace("idd\":1", 'id":"5"'))
        self.ordo("push", "orders", "--ndjson", "mended.ndjson", "--skip-bad", "bad.ndjson")
        self.assertEqual(self.ids(), ["1", "2", "4", "5"])
        self.assertEqual(len((self.folder / "bad.ndjson").read_text().splitlines()), 3)

    def test_lines_that_are_no_text_are_set_aside_as_they_are(self):
        self.ordo("push", "orders", "--ndjson", "-", "--skip-bad", "bad.ndjson", stdin=b'\xff\n{"id":"1"}\n', code=1)
        self.assertEqual(json.loads((self.folder / "bad.ndjson").read_text())["text"], {"$base64": "/w=="})
        self.assertEqual(self.ids(), ["1"])

    def test_a_queue_says_how_long_its_payloads_may_be(self):
        (self.folder / "long").write_bytes(b"x" * (3 << 20))
        told = self.ordo("push", "orders", "--payload-file", "long", code=1)
        self.assertIn("has 3145728 bytes, at most 1048576 fit", told.stderr)
        self.assertEqual(self.ids(), [])
        self.ordo("-o", "queue.orders.max_payload=4000000", "push", "orders", "--id", "1", "--payload-file", "long")
        self.assertEqual(self.ids(), ["1"])

    def test_what_is_wrong_with_every_line_is_no_bad_line(self):
        self.lines({"id": "1"}, {"id": "2"})
        self.assertIn("ordrs", self.ordo("push", "ordrs", "--ndjson", "jobs.ndjson", "--skip-bad", "bad.ndjson", code=1).stderr)
        self.assertEqual((self.folder / "bad.ndjson").read_text(), "")
        self.ordo("push", "orders", "--ndjson", "jobs.ndjson", "--skip-bad", "no/such/folder", code=2)
        self.ordo("push", "orders", "--ndjson", "jobs.ndjson", "--from-line", "0", code=2)
        self.ordo("push", "orders", "--from-line", "2", code=2)
        self.assertEqual(self.ids(), [])


if __name__ == "__main__":
    unittest.main()
