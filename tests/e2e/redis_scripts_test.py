"""How long others wait for one script of Ordo's on a Redis server."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from project import ORDO, PATIENCE_S
import servers  # (project knows where it is)

ROWS = 2000    # of a delta; what the last run brings comes on top
BATCH = 1000   # of a push


class Scripts(unittest.TestCase):
    def test_a_delta_is_no_larger_than_the_server_can_bear(self):
        """Ten entries are erased with each job here, more than one delta takes while the last is under way."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-e2e-scripts-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        server = servers.Redis(folder / "server")
        server.start()
        self.addCleanup(server.close)
        for name, value in (("slowlog-log-slower-than", 100), ("slowlog-max-len", 100_000)):
            server.ask("CONFIG", "SET", name, value)
        subprocess.run([ORDO, "bench", "--store", server.direct, "--only", "merged", "--jobs", "100000", "--rounds",
                        "1"], cwd=folder, check=True, capture_output=True, timeout=PATIENCE_S)
        most = 0
        for _, _, _, words, *_ in server.ask("SLOWLOG", "GET", 100_000):
            more = re.fullmatch(r"\.\.\. \((\d+) more arguments\)", words[-1])
            if words[0] == "EVALSHA" and more:
                most = max(most, len(words) - 1 + int(more.group(1)))
        self.assertGreater(most, BATCH, "it was seen")
        self.assertLess(most, ROWS + BATCH)


if __name__ == "__main__":
    unittest.main()
