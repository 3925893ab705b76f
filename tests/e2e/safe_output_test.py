"""Text from elsewhere cannot disturb a terminal, and passwords are shown nowhere."""
import json
import pathlib
import subprocess
import unittest

from project import ORDO, PATIENCE_S, Project

# A colour, a title, CSI as one character, a direction override, an invisible letter.
NASTY = "a\x1b[31m\x1b]0;t\x07\u009b2J\u202eb\U000e0041"
BAD = ["\x1b", "\x07", "\u009b", "\u202e", "\U000e0041", "\x7f"]
SECRET = "geheimnis"


class Terminal(Project):
    def shown(self, *arguments):
        text = self.on_terminal(*arguments, NO_COLOR="1")
        return text.decode().replace("\r\n", "\n")

    def assert_safe(self, text):
        for bad in BAD:
            self.assertNotIn(bad, text, repr(text))

    def test_what_a_job_holds_is_escaped(self):
        self.config("max_retries = 0", more=f'[queue.mail]\n')
        self.answer("print('chat ' + " + repr(NASTY) + ", flush=True); sys.stderr.write('err ' + " + repr(NASTY) + " + '\\n')\n"
                    "return {'ok': False, 'error': " + repr(NASTY) + "}")
        self.push(NASTY, {"v": NASTY}, "--key", NASTY)
        self.ordo("push", "mail", "--id", NASTY, "--kind", NASTY, "--payload", json.dumps({"v": NASTY}, ensure_ascii=False))
        listings = [["jobs", "mail"], ["job", "mail", NASTY], ["push", "mail", "--id", NASTY]]
        done = self.drain()
        self.assert_safe(done.stderr)
        self.assertIn("chat a\\x1b[31m", done.stderr)
        self.assertIn("err a\\x1b[31m", done.stderr)
        listings += [["dead", "orders"], ["job", "orders", NASTY], ["stats"], ["nodes"], ["queues"], ["doctor"]]
        for arguments in listings:
            text = self.shown(*arguments)
            self.assertNotEqual(text, "")
            self.assert_safe(text)
        for arguments in [["jobs", "mail"], ["job", "mail", NASTY], ["dead", "orders"]]:
            text = self.shown(*arguments, "--json")
            self.assert_safe(text)
            self.assertEqual(json.loads(text)[0]["id"], NASTY)
        self.assert_safe(self.shown("dead", "orders", "export"))
        self.assertIn(NASTY[5:10], json.loads(self.ordo("dead", "orders", "export").stdout)["payload"]["v"])

    def test_errors_are_escaped(self):
        self.config()
        bad = NASTY + "\udcff"  # no UTF-8
        for arguments in [["job", "orders", bad], [bad], ["push", bad], ["stats", "--" + bad], ["dead", "orders", bad],
                          ["push", "orders", "--at", bad], ["push", "orders", "--payload", bad], ["-o", bad, "stats"],
                          ["-o", "node.log=" + bad, "stats"], ["--config", bad, "stats"], ["--store", bad, "stats"],
                          ["nodes", "quiet", bad], ["completion", bad], ["work", "--queue", bad], ["pause", bad]]:
            done = subprocess.run([ORDO, *arguments], cwd=self.folder, capture_output=True, timeout=PATIENCE_S,
                                  env=self.environment(), check=False)
            self.assertIn(done.returncode, (1, 2), arguments)
            self.assertRegex(done.stderr.decode(), r"^ordo: [^\n]+\n$")
            self.assert_safe(done.stderr.decode())
        self.write("ordo.toml", "[queue.orders]\n'" + NASTY.replace("\x1b", "").replace("\x07", "") + "' = 1\n")
        self.assert_safe(self.ordo("stats", code=2).stderr)


class Passwords(Project):
    def test_they_are_in_no_message(self):
        self.config()
        here = "127.0.0.1:1"  # nobody listens
        for url in [f"redis://:{SECRET}@{here}", f"redis://u:{SECRET}%40x@{here}/3", f"rediss://u:{SECRET}@{here}",
                    f"redis+unix://:{SECRET}@/no/such/socket", f"redis://{SECRET}@{here}", f"redis://:{SECRET}/x@{here}",
                    f"redis://u:1/{SECRET}@{here}", f"redis://u:{SECRET}", f"redis://u:x?{SECRET}@{here}",
                    f"redis+sentinel://u:{SECRET}@{here},{here}/name/0", f"redish://:{SECRET}@{here}",
                    f"postgres://u:{SECRET}@{here}/db", f"postgres://u@{here}/db?password={SECRET}",
                    f"postgres://u:{SECRET}@{here}:x/db", f"postgres://u:{SECRET}@{here}/db?nonsense=1",
                    f"postgres://u:{SECRET}%@{here}/db", f"host=127.0.0.1 port=1 password={SECRET}",
                    f"host=127.0.0.1 password='{SECRET} x'", f"nonsense://u:{SECRET}@h"]:
            self.write("secret.toml", f'store = "{url}"\n[queue.orders]\ncommand = ["true"]\n')
            for arguments in [["--store", url, "stats"], ["-o", f"store={url}", "doctor"], ["-o", f"stor={url}", "doctor"],
                              ["--config", "secret.toml", "work"], ["--config", "secret.toml", "push", "orders"],
                              ["copy", url, "sqlite:to.db"], ["copy", "sqlite:ordo.db", url], ["stats", url],
                              ["bench", "--only", "raw", "--store", url]]:
                if arguments[0] == "copy":
                    self.push("1")
                done = subprocess.run([ORDO, *arguments], cwd=self.folder, capture_output=True, timeout=PATIENCE_S,
                                      env=self.environment(), check=False)
                self.assertIn(done.returncode, (1, 2), (arguments, done.stderr))
                self.assertNotIn(SECRET, (done.stdout + done.stderr).decode(), arguments)

    def test_bench_gives_none_to_its_child(self):
        found = self.until("a child is seen before it ends", self.words_of_the_child_of_bench)
        self.assertNotIn(b"sqlite:", b" ".join(found))

    def words_of_the_child_of_bench(self):
        found = None
        with subprocess.Popen([ORDO, "bench", "--only", "latency", "--backlog", "0", "--rounds", "1"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, env=self.environment()) as bench:
            while found is None and bench.poll() is None:
                for entry in pathlib.Path("/proc").glob("[0-9]*"):
                    try:
                        words = (entry / "cmdline").read_bytes().split(b"\0")
                        if f"PPid:\t{bench.pid}\n" in (entry / "status").read_text() and b"push" in words:
                            found = words
                    except OSError:
                        pass  # it has ended
            bench.kill()
        return found


if __name__ == "__main__":
    unittest.main()
