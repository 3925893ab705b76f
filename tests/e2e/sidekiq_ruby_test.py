"""Debian's Sidekiq 6.4.1 itself: it runs what Ordo pushes, and pushes the same bytes."""
import json
import pathlib
import re
import signal
import subprocess
import unittest

from project import PATIENCE_S, Project, server_of

SCRIPT = pathlib.Path(__file__).with_name("sidekiq.rb")


def without_chance(text):
    """A job without what differs each time."""
    text = re.sub(r'"jid":"[0-9a-f]{24}"', '"jid":"J"', text)
    return re.sub(r'"(created|enqueued)_at":\d{10}\.\d+', r'"\1_at":T', text)


class Ruby(Project):
    store = "sqlite:"

    def setUp(self):
        super().setUp()
        self.redis = server_of("redis:")
        self.redis.empty()

    def ruby_environment(self, **more):
        return {**self.environment(), "SOCKET": str(self.redis.path), "LANG": "C.UTF-8", **more}

    def push_by_ruby(self, *asked):
        subprocess.run(["ruby", SCRIPT], input="\n".join(map(json.dumps, asked)), text=True, check=True, timeout=PATIENCE_S,
                       env=self.ruby_environment(PUSH="1"))

    def start_sidekiq(self, *arguments):
        with open(self.folder / "sidekiq.log", "ab") as log:
            process = subprocess.Popen(["sidekiq", "-r", SCRIPT, *arguments], cwd=self.folder, stdout=log, stderr=log,
                                       env=self.ruby_environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        return process

    def sink(self, *arguments, stdin=b""):
        return self.ordo("push-sidekiq", *arguments, "--url", self.redis.direct, stdin=stdin).stdout

    def ran(self):
        return [json.loads(text) for text in self.redis.ask("LRANGE", "ran", 0, -1)]

    def test_it_runs_what_ordo_pushes(self):
        lines = [{"class": "Note", "args": [i, {"a": ["ü", None, 1.5]}], "jid": f"{i:024x}"} for i in range(100)]
        self.sink("--ndjson", "-", stdin="\n".join(map(json.dumps, lines)).encode())
        self.sink("Note", '["later"]', "--at", "+1s", "--jid", "f" * 24)
        self.start_sidekiq("-c", "3")
        self.until("all have run", lambda: len(self.ran()) == 101)
        self.assertEqual(sorted(self.ran()), sorted([[f"{i:024x}", [i, {"a": ["ü", None, 1.5]}]] for i in range(100)] +
                                                    [["f" * 24, ["later"]]]))

    def test_the_bytes_are_those_of_its_client(self):
        args = [1, -2.5, "ü/\\\"\n\u2028", None, True, {"b": [], "a": {}}]
        self.push_by_ruby({"call": "perform_async", "args": args}, {"call": "perform_in", "in": 3600, "args": args},
                          {"call": "perform_async", "args": args, "queue": "slow"})
        theirs = self.everything()
        self.redis.empty()
        text = json.dumps(args, ensure_ascii=False)
        self.sink("Note", text)
        self.sink("Note", text, "--at", "+1h")
        self.sink("Note", text, "--queue", "slow")
        self.assertEqual(self.everything(), theirs)
        self.redis.empty()
        self.push_by_ruby({"call": "perform_bulk", "args": [[1], [2]]})
        theirs = self.everything()
        self.redis.empty()
        self.sink("--ndjson", "-", stdin=b'{"class":"Note","args":[1]}\n{"class":"Note","args":[2]}\n')
        self.assertEqual(self.everything(), theirs)

    def everything(self):
        ask = self.redis.ask
        lists = {key: [without_chance(text) for text in ask("LRANGE", key, 0, -1)] for key in sorted(ask("KEYS", "queue:*"))}
        return lists, sorted(ask("SMEMBERS", "queues")), [without_chance(text) for text in ask("ZRANGE", "schedule", 0, -1)]


if __name__ == "__main__":
    unittest.main()
