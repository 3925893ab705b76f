"""The library shows programs the names of its public headers, and no others."""
import os
import pathlib
import re
import subprocess
import unittest

LIBRARY = pathlib.Path(os.environ["ORDO_BINARY_DIR"]) / "libordo.so"
INSIDE = re.compile(r"^ordo::(domain|store|runtime|execute|sources|server|client|cli)::")


def exported():
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", "--demangle", LIBRARY], check=True, capture_output=True, text=True)
    names = [line.split(" ", 2)[2] for line in listing.stdout.splitlines()]
    return [re.sub(r"^(typeinfo name for|typeinfo for|vtable for|guard variable for) ", "", name) for name in names]


class Exports(unittest.TestCase):
    def test_nothing_of_its_inside(self):
        names = exported()
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertTrue(name.startswith("ordo::"), name)
            self.assertIsNone(INSIDE.match(name), name)

    def test_what_programs_use(self):
        names = exported()
        for wanted in ["ordo::Client::push", "ordo::Admin::jobs", "ordo::Server::start", "ordo::Json::parse", "ordo::copy_store",
                       "ordo::load_config", "ordo::main", "ordo::postgres::push", "ordo::testing::Bench::drain", "ordo::NotUnique"]:
            self.assertTrue(any(name.startswith(wanted) for name in names), wanted)


if __name__ == "__main__":
    unittest.main()
