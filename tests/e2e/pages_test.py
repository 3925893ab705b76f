"""Pages of the documentation, read as somebody new does: files are written, commands run in order, and what they print compared.

A block ```toml or ```python that begins with the comment of a name is that file; ```sh is run; ```text behind it is what it prints, with
times and ids masked. ```log shows lines of the node's log: each stands in it.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ORDO = pathlib.Path(os.environ.get("ORDO_BIN", "build/release/ordo")).resolve()
DOCS = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs"
PATIENCE_S = 600
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MASKS = [(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"), (r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "ID"), (r"\[\d+\]", "[PID]"),
         (r"(in \d+ [sm]|\d+ [sm] ago)", "TIME"), (r"\d+\.\ds\b", "SPAN")]


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return [re.sub(r" +", " ", line).rstrip() for line in text.strip().splitlines()]


class Pages(unittest.TestCase):
    maxDiff = None

    def read_page(self, name):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ORDO_")}
        environment.update(PATH=f"{ORDO.parent}:{environment['PATH']}", TZ="UTC")
        printed, log, commands = None, "", 0
        with tempfile.TemporaryDirectory() as folder:
            for kind, text in BLOCK.findall((DOCS / name).read_text()):
                if kind in ("toml", "python") and text.startswith("# "):
                    pathlib.Path(folder, text[2:text.index("\n")]).write_text(text)
                elif kind == "sh":
                    done = subprocess.run(["sh", "-e", "-c", text], cwd=folder, env=environment, capture_output=True, text=True,
                                          timeout=PATIENCE_S, check=False)
                    self.assertEqual(done.returncode, 0, f"{name}: {text}{done.stderr}")
                    printed, log, commands = done.stdout, done.stderr, commands + 1
                elif kind == "text":
                    self.assertEqual(masked(printed), masked(text), name)
                elif kind == "log":
                    for line in masked(text):
                        self.assertIn(line, masked(log), name)
        self.assertGreater(commands, 0, name)

    def test_the_quick_start(self):
        self.read_page("quickstart.md")


if __name__ == "__main__":
    unittest.main()
