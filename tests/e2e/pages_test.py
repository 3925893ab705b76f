"""Pages of the documentation, read as somebody new does: files are written, commands run in order, and what they print compared.

A block ```toml or ```python that begins with the comment of a name is that file; another ```toml is added to the config. ```sh is run;
```text behind it is what it prints, with times and ids masked. ```log shows lines of the node's log: each stands in it.
"""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import typing
import unittest

ORDO = pathlib.Path(os.environ.get("ORDO_BIN", "build/release/ordo")).resolve()
ROOT = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")).resolve()
PATIENCE_S = 600
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MASKS = [(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"), (r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "ID"), (r"\[\d+\]", "[PID]"),
         (r"(in \d+ [sm]|\d+ [sm] ago)", "TIME"), (r"\d+\.\ds\b", "SPAN")]


class Page(typing.NamedTuple):
    """Where its reader stands."""
    config: str = ""    # what is in ordo.toml before the page adds to it
    before: dict = {}   # what is done before the block of commands with this number, from 0


STORE = 'store = "sqlite:ordo.db"\n'
ORDERS = STORE + '[queue.orders]\ncommand = ["python3", "worker.py"]\n'
# Fails for what its payload says, if that is a text.
FAILING = """cat > worker.py <<'END'
import json, sys
for line in sys.stdin:
    payload = json.loads(line)["jobs"][0]["payloads"][0]
    print(json.dumps({"ok": False, "error": payload} if isinstance(payload, str) and payload else {"ok": True}), flush=True)
END
"""
# Never ends.
WAITING = "printf 'import sys, time\\nfor line in sys.stdin:\\n    time.sleep(3600)\\n' > imports.py; cp imports.py reports.py\n"
NODE = "ordo work > node.log 2>&1 & echo $! > node.pid\n"
UNTIL = "until {}; do sleep 0.1; done\n"

READ = {
    "README.md": Page(),
    "docs/cli.md": Page(ORDERS + "max_retries = 0\n", {
        0: FAILING + "for id in 1 2; do ordo push orders --id $id --payload '\"no route to host\"'; done; ordo work --drain; ordo push orders --id 3"}),
    "docs/jobs.md": Page(ORDERS + '[queue.imports]\ncommand = ["python3", "imports.py"]\nlock = "payload"\n', {
        0: WAITING + "ordo push imports --id 41 --payload 7\n" + NODE + UNTIL.format("ordo jobs imports | grep -q running")
        + "ordo push imports --id 42 --payload 7\n" + UNTIL.format("ordo jobs imports | grep -q 'held by'"),
        1: "ordo push orders --id 42 --at +1h --payload '{\"total\":7}'; kill -9 $(cat node.pid)\n"
        + UNTIL.format("ordo nodes --json | grep -q '\"alive\":false'")}),
    "docs/limits.md": Page(STORE),
    "docs/locks.md": Page(STORE, {1: WAITING + NODE + UNTIL.format("ordo locks | grep -q 'imports/42 *1'")}),
    "docs/periodic.md": Page(ORDERS, {0: "ordo push orders --id 1"}),
    "docs/quickstart.md": Page(),
    "docs/reshard.md": Page(ORDERS, {0: "for id in 1 2 3; do ordo push orders --id $id; done"}),
    "docs/retry.md": Page(ORDERS + "max_retries = 0\n", {0: FAILING + "ordo push orders --id 42 --payload '\"no total\"'; ordo work --drain"}),
    "docs/traces.md": Page(STORE, {0: FAILING + "ordo push orders --id 42; ordo work --drain"}),
    "docs/windows.md": Page(STORE),
}
# Tests of their own do what these say.
ELSEWHERE = {
    "docs/copy.md": "copy_test.py",
    "docs/cpp.md": "plugin_test.py",
    "docs/http.md": "http_test.py",
    "docs/postgres.md": "documented_push_test.py",
    "docs/redis.md": "documented_push_test.py",
    "docs/responses.md": "responses_test.py",
    "docs/unique.md": "unique_test.py",
}
LEFT_OUT = {
    "docs/demo.md": "builds the program, and works for minutes: a command of ./dev",
    "docs/migrating.md": "needs a Redis with jobs of a Sidekiq or Verk that has stopped: sidekiq_source_test.py has one",
    "docs/sidekiq.md": "needs a Redis: sidekiq_source_test.py has one",
}
WITHOUT_COMMANDS = ["command-workers", "config", "dashboard", "embedding", "merging", "nodes", "options", "sqlite", "stats", "stores", "versions"]


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return [re.sub(r" +", " ", line).rstrip() for line in text.strip().splitlines()]


def has_commands(text):
    return re.search(r"^ordo ", text, re.MULTILINE) is not None


class Pages(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("ORDO_")}
        self.environment.update(PATH=f"{ORDO.parent}:{self.environment['PATH']}", TZ="UTC")

    def sh(self, name, text):
        """Its standard output and error; what it leaves running ends with the test."""
        with open(self.folder / ".out", "w+") as out, open(self.folder / ".err", "w+") as err:
            shell = subprocess.Popen(["sh", "-e", "-c", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=err, start_new_session=True)
            self.addCleanup(self.end, shell.pid)
            code = shell.wait(PATIENCE_S)
            out.seek(0), err.seek(0)
            printed, log = out.read(), err.read()
        self.assertEqual(code, 0, f"{name}: {text}{log}")
        return printed, log

    def end(self, group):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has left nothing

    def read_page(self, name, page):
        printed, log, commands, config = "", "", 0, page.config
        if config:
            (self.folder / "ordo.toml").write_text(config)
        for kind, text in BLOCK.findall((ROOT / name).read_text()):
            if kind in ("toml", "python") and text.startswith("# "):
                (self.folder / text[2:text.index("\n")]).write_text(text)
            elif kind == "toml":
                config += text
                (self.folder / "ordo.toml").write_text(config)
            elif kind == "sh":
                if commands in page.before:
                    self.sh(name, page.before[commands])
                printed, log = self.sh(name, text)
                commands += 1
            elif kind == "text":
                self.assertEqual(masked(printed), masked(text), name)
            elif kind == "log":
                for line in masked(text):
                    self.assertIn(line, masked(log), name)
            else:
                self.assertFalse(has_commands(text), f"{name}: these commands are not run: {text}")
        self.assertGreater(commands, 0, name)

    def test_every_page_is_read_or_it_is_said_why_not(self):
        without = {f"docs/{name}.md" for name in WITHOUT_COMMANDS}
        known = [*READ, *ELSEWHERE, *LEFT_OUT, *without]
        self.assertEqual(sorted(known), sorted(["README.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]))
        for page, test in ELSEWHERE.items():
            self.assertIn(pathlib.Path(page).name, (ROOT / "tests/e2e" / test).read_text(), page)
        for page in without:
            for _, text in BLOCK.findall((ROOT / page).read_text()):
                self.assertFalse(has_commands(text), f"{page}: {text}")


for _name, _page in READ.items():
    setattr(Pages, "test_" + re.sub(r"\W", "_", _name), lambda self, name=_name, page=_page: self.read_page(name, page))


if __name__ == "__main__":
    unittest.main()
