"""The dashboard's own tools and browser tests: dashboard.py unit|bundle|pages|actions|odd|budgets (they need Node 20.19 or newer and npm).

unit    the unit tests of the pages
bundle  dashboard/dist is what dashboard/src makes
pages   every page in a browser; actions: every action; odd: what is unusual
budgets sizes, times and cost, printed
"""
import filecmp
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = TOP / "dashboard"


def run(*command, cwd=DASHBOARD, **more):
    subprocess.run(command, cwd=cwd, check=True, **more)


def install():
    """The packages of the lock file, unless they are there."""
    if shutil.which("npm") is None:
        sys.exit("the dashboard is tested with Node 20.19 or newer and npm: install them first (https://nodejs.org/)")
    lock = hashlib.sha256((DASHBOARD / "package-lock.json").read_bytes()).hexdigest()
    mark = DASHBOARD / "node_modules/.lock-of"
    if not mark.exists() or mark.read_text() != lock:
        run("npm", "ci", "--no-audit", "--no-fund")
        mark.write_text(lock)


def same(left, right):
    """Names of files that are not alike."""
    files = {path.relative_to(folder) for folder in (left, right) for path in folder.rglob("*") if path.is_file()}
    return sorted(str(file) for file in files
                  if not (left / file).exists() or not (right / file).exists() or not filecmp.cmp(left / file, right / file, shallow=False))


def bundle():
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "dashboard"
        shutil.copytree(DASHBOARD, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
        (copy / "node_modules").symlink_to(DASHBOARD / "node_modules")
        run("npm", "run", "build", cwd=copy)
        if other := same(DASHBOARD / "dist", copy / "dist"):
            sys.exit("dashboard/dist is not what its sources make; build it with ./dev dashboard: " + ", ".join(other))


def browser(name, **environment):
    run("setpriv", "--pdeathsig", "KILL", "node", f"--test-reporter={TOP}/tests/browser/reporter.mjs", str(TOP / f"tests/browser/{name}_test.mjs"), cwd=TOP, env={**os.environ, **environment})


def main():
    what = sys.argv[1]
    install()
    if what == "unit":
        run("npx", "tsc")
        run("npx", "vitest", "run")
    elif what == "bundle":
        bundle()
    elif what in ("pages", "actions", "odd", "budgets"):
        browser(what)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
