"""Choosing among the dead: filters, counts, and who is asked before many are changed (docs/cli.md)."""
import json
import os
import pty
import subprocess
import unittest

from project import ORDO, Project, read_terminal


class Dead(Project):
    def setUp(self):
        super().setUp()
        self.config("max_retries = 0\nshards = 1\n[queue.orders.kind.ship]\ncommand = ['python3', '-B', 'worker.py']\nmax_retries = 0")
        self.answer("return {'ok': False, 'error': request['jobs'][0]['payloads'][0]}")
        for job_id, kind, error in [("1", "orders", "no route"), ("2", "ship", "no money"), ("1", "orders", "no route to it"),
                                    ("it's", "ship", "no crew")]:
            self.push(job_id, error, "--kind", kind)
            self.drain()

    def errors(self, *filters):
        return [job["error"] for job in self.json("dead", "orders", *filters)]

    def test_max_dead_is_of_the_queue_and_the_oldest_go_first(self):
        self.config(more='[queue.many]\ncommand = ["python3", "-B", "worker.py"]\nmax_retries = 0\nshards = 5\nmax_dead = 3')
        for job_id in "abcdefgh":
            self.push(job_id, job_id, queue="many")
            self.drain("--queue", "many")
        self.assertEqual(sorted(job["id"] for job in self.json("dead", "many")), ["f", "g", "h"])
        stats = self.stats("many")
        self.assertEqual((stats["dead"], stats["dead_trimmed"]), (3, 5))
        self.assertIn("5 dead trimmed", self.ordo("stats").stdout)

    def test_lists_and_exports_are_filtered(self):
        self.assertEqual(self.errors("--kind", "ship"), ["no money", "no crew"])
        self.assertEqual(self.errors("--key", "2"), ["no money"])
        self.assertEqual(self.errors("--error", "no route"), ["no route to it"])  # the last of the job's two
        self.assertEqual(self.errors("--error-kind", "timeout"), [])
        self.assertEqual(len(self.errors("--error-kind", "handler", "--since", "-1h")), 3)
        self.assertEqual(self.errors("--until", "-1h"), [])
        self.assertEqual(self.errors("--since", "+1h"), [])
        self.assertEqual(len(self.errors("--since", "1000", "--until", "2999-01-01T00:00:00Z")), 3)
        exported = self.ordo("dead", "orders", "export", "--error", "route").stdout.splitlines()
        self.assertEqual([json.loads(line)["payload"] for line in exported], ["no route", "no route to it"])
        self.assertIn("handler, timeout", self.ordo("dead", "orders", "--error-kind", "nope", code=2).stderr)
        self.ordo("dead", "orders", "--since", "yesterday", code=2)

    def test_counts_change_nothing(self):
        self.assertEqual(self.ordo("dead", "orders", "retry", "--error", "route", "--count").stdout,
                         "2 payloads of 1 job in the dead set fit\n")
        self.assertEqual(self.json("dead", "orders", "delete", "--all", "--count"), {"payloads": 4, "jobs": 3})
        self.assertEqual(self.stats()["dead"], 4)

    def test_a_filter_needs_yes_where_nobody_can_be_asked(self):
        told = self.ordo("dead", "orders", "delete", "--key", "it's", code=2)
        self.assertEqual(told.stdout, "")
        self.assertIn("1 payload of 1 job in the dead set fits, and nothing was done", told.stderr)
        self.assertIn("ordo dead orders delete --key 'it'\\''s' --yes", told.stderr)
        self.assertEqual(self.stats()["dead"], 4)
        done = self.ordo("dead", "orders", "delete", "--key", "it's", "--yes")
        self.assertEqual((done.stdout, done.stderr), ("1 payload deleted\n", "1 payload of 1 job in the dead set fits\n"))
        self.assertEqual(self.ordo("dead", "orders", "retry", "--error", "route", "--yes").stdout, "2 payloads brought back\n")
        self.assertEqual([job["id"] for job in self.json("jobs", "orders", "--state", "due")], ["1"])
        self.assertEqual(self.errors(), ["no money"])
        self.assertEqual(self.ordo("dead", "orders", "retry", "--kind", "none").stdout, "0 payloads brought back\n")

    def test_what_looks_as_if_it_chose_is_refused(self):
        for arguments in [["delete", "--error", "route", "--limit", "1", "--yes"], ["delete", "--all", "--sort", "id"],
                          ["delete", "--error", "route", "--until", "", "--yes"], ["retry", "--kind", "", "--yes"], ["list", "--count"]]:
            with self.subTest(arguments=arguments):
                self.ordo("dead", "orders", *arguments, code=2)
        self.assertEqual(self.stats()["dead"], 4)

    def test_scripts_give_ids_and_all_as_ever(self):
        self.assertEqual(self.ordo("dead", "orders", "retry", "1").stdout, "2 payloads brought back\n")
        done = self.ordo("dead", "orders", "delete", "--all")
        self.assertEqual((done.stdout, done.stderr), ("2 payloads deleted\n", ""))
        self.assertIn("--all", self.ordo("dead", "orders", "delete", code=2).stderr)

    def asked(self, answer, *arguments):
        """What a terminal shows, and the exit code, of somebody who answers so."""
        terminal, end = pty.openpty()
        with subprocess.Popen([ORDO, *arguments], cwd=self.folder, stdin=end, stdout=end, stderr=end,
                              env={**self.environment(), "TERM": "xterm"}) as command:
            os.close(end)
            os.write(terminal, answer)
            text = read_terminal(terminal).decode()
            return text, self.end_of(command)

    def test_a_terminal_is_asked(self):
        text, code = self.asked(b"n\n", "dead", "orders", "delete", "--all")
        self.assertIn("dead delete: 4 payloads of 3 jobs in the dead set fit. Go on? [y/N]", text)
        self.assertEqual((code, self.stats()["dead"]), (1, 4))
        text, code = self.asked(b"y\n", "dead", "orders", "delete", "--error", "route")
        self.assertIn("2 payloads deleted", text)
        self.assertEqual((code, self.stats()["dead"]), (0, 2))


if __name__ == "__main__":
    unittest.main()
