"""Workers in a shared library, and the programs of docs/cpp.md."""

import glob
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["ORDO_BINARY_DIR"]
SOURCE = os.environ["ORDO_SOURCE_DIR"]
ORDO = os.environ["ORDO_BIN"]
PLUGIN = (glob.glob(os.path.join(BUILD, "libexample_plugin.so")) + [""])[0]


def run(*arguments, cwd, code=0, program=ORDO):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORDO_")}
    ended = subprocess.run([program, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=240)
    if ended.returncode != code:
        raise AssertionError(f"{arguments}: exit {ended.returncode}, wanted {code}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout if code == 0 else ended.stderr


@unittest.skipUnless(PLUGIN, "the examples are not built")
class PluginTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.configure("[queue.orders]\nmax_retries = 0\n")

    def configure(self, text):
        with open(os.path.join(self.folder, "ordo.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def push(self, job, payload, *more):
        run("push", "orders", "--id", job, "--payload", payload, *more, cwd=self.folder)

    def test_work_loads_a_library(self):
        self.push("1", '{"total":7}')
        self.push("2", '{"total":-1}')
        self.push("3", "null", "--kind", "refund")
        output = run("work", "--drain", "-r", PLUGIN, cwd=self.folder)
        lines = sorted(line for line in output.splitlines() if line.startswith(("shipped", "refunded")))
        self.assertEqual(lines, ["refunded 3", "shipped 1 over 7"])
        self.assertIn("a negative total", run("dead", "orders", "list", "--json", cwd=self.folder))

    def test_a_config_names_a_library(self):
        self.configure(f'[queue.orders]\nlibrary = "{PLUGIN}"\n')
        self.push("1", '{"total":7}')
        self.assertIn("shipped 1 over 7", run("work", "--drain", cwd=self.folder))

    def test_a_kind_inherits_the_library_of_its_queue(self):
        self.configure(f'[queue.orders]\nlibrary = "{PLUGIN}"\n[queue.orders.kind.gift]\nmax_retries = 1\n')
        self.push("1", '{"total":7}', "--kind", "gift")
        self.push("2", "null", "--kind", "refund")
        output = run("work", "--drain", cwd=self.folder)
        lines = sorted(line for line in output.splitlines() if line.startswith(("shipped", "refunded")))
        self.assertEqual(lines, ["refunded 2", "shipped 1 over 7"])

    def test_refuses_what_is_no_library_of_workers(self):
        self.assertIn("missing.so", run("work", "--drain", "-r", "./missing.so", cwd=self.folder, code=2))
        libraries = glob.glob(os.path.join(BUILD, "libordo.so"))
        self.assertIn("does not say which Ordo", run("work", "--drain", "-r", libraries[0], cwd=self.folder, code=2))

    def library(self, body):
        """One whose ordo_load does that."""
        code = "#include <ordo/version.hpp>\n#include <new>\n#include <stdexcept>\n#include <string>\n" \
               "extern \"C\" { extern const int ordo_abi; const int ordo_abi = ordo::kAbi;\n" \
               f"void ordo_load(void*) {{ {body} }} }}\n"
        path = os.path.join(self.folder, "lib.so")
        subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-I", os.path.join(SOURCE, "include"), "-x", "c++", "-", "-o", path], input=code, text=True, check=True)
        return path

    def test_what_a_library_throws_is_one_error(self):
        self.push("1", '{"total":7}')
        for thrown, said in {'std::runtime_error("no coffee\\n\\x1b[31m")': "its ordo_load threw: no coffee", "7": "no std::exception",
                             'std::string("text")': "no std::exception", "nullptr": "no std::exception",
                             'std::runtime_error(std::string(100000, \'x\'))': "xxx", "std::bad_alloc()": "bad_alloc"}.items():
            path = self.library(f"throw {thrown};")
            for work in (["-r", path], ["-o", f"queue.orders.library={path}"]):
                error = run("work", "--drain", *work, cwd=self.folder, code=2)
                self.assertRegex(error, r"\Aordo: [^\n]+\n\Z")
                self.assertIn("lib.so", error)
                self.assertIn(said, error)
                self.assertLess(len(error), 1000)
        self.assertEqual(run("jobs", "orders", "--json", cwd=self.folder).count('"id":"1"'), 1)

    def test_a_program_of_the_users_own_is_the_whole_command_line(self):
        program = os.path.join(BUILD, "example_own_cli")
        run("push", "orders", "--id", "5", cwd=self.folder, program=program)
        self.assertIn("shipped 5", run("work", "--drain", cwd=self.folder, program=program))
        self.assertIn("push", run("--help", cwd=self.folder, program=program))

    def test_the_programs_of_the_document(self):
        def lines_of(name):
            return run(cwd=self.folder, program=os.path.join(BUILD, "example_" + name)).splitlines()

        self.assertEqual(lines_of("orders"), ["shipped order 42 of Ann over 9 (2 payloads)"])
        self.assertEqual(lines_of("batches"), ["sent letter-0 to ann@example.com", "sent letter-2 to full@example.com",
                                               "3 processed, 1 failed, 1 scheduled"])
        self.assertEqual(lines_of("queues"), ["mail 1", "orders 2", "mail is gone"])
        self.assertEqual(sorted(lines_of("throttler")),
                         ["3: cancelled by the throttler: the customer has left", "called for 1", "called for 2"])
        self.assertEqual(lines_of("bench"), ["passed"])
        lines = lines_of("around_runs")
        self.assertEqual([line for line in lines if "died" not in line],
                         ["started", "before vip", "after vip", "before bad", "after bad", "stopped"])
        self.assertIn("orders bad died: a negative total", lines)


if __name__ == "__main__":
    unittest.main()
