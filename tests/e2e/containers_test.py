"""A node that is process 1, as in a container: the orphans of its workers come to it (docs/command-workers.md)."""
import shutil
import subprocess
import unittest

from project import Project

NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]

# What a job leaves behind outlives the shell that started it, or its worker.
LEAVES = """
import subprocess
def ended_and_not_reaped():
    count = 0
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                count += (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except (FileNotFoundError, ProcessLookupError):
                pass
    return count
for job in request["jobs"]:
    if job["id"].startswith("leaves"):
        subprocess.run("sleep 0.01 & exit 0", shell=True)
    elif job["id"].startswith("dies") and job["retry_count"] < 0:
        subprocess.run("setsid sleep 0.01 & sleep 600 & exit 0", shell=True)
        os._exit(1)
    elif job["id"] == "looks":
        end = time.monotonic() + 60
        while ended_and_not_reaped() and time.monotonic() < end:
            time.sleep(0.02)
        pathlib.Path("zombies").write_text(str(ended_and_not_reaped()))
return {"ok": True}
"""


def can_be_process_1():
    return shutil.which("unshare") is not None and subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(can_be_process_1(), "needs a namespace of processes")
class Containers(Project):
    def test_nothing_that_has_ended_stays(self):
        self.config(queue='threads = 1\nshards = 1\nretry = { strategy = "fixed", delay = "0s" }\n')
        self.answer(LEAVES)
        self.push_lines([{"id": f"{what}{n}"} for n in range(5) for what in ("leaves", "dies")] + [{"id": "looks"}])
        self.within = NAMESPACE
        self.drain()
        self.assertEqual((self.folder / "zombies").read_text(), "0")
        self.assertEqual(self.stats()["processed"], 11)


if __name__ == "__main__":
    unittest.main()
