"""Runs ctest entries of built presets, keeps their logs and says at the end what failed (`./dev test` builds and calls it).

  run.py [--again] [--repeat N] PRESET[:NAME,...] ...

NAME is an entry (e2e.limits) or a label (topology); none: the preset's whole set. Everything is kept in build/test-report:
PRESET.xml (JUnit), PRESET/ENTRY.log and, of --repeat, repeat.json.

--again runs an entry that failed twice more, alone. It has *failed* if it never passes, and is *unsteady* if it does.
--repeat runs everything N times instead, and says what was not green each time. If it was stopped, it goes on where it was, unless the
tree has changed.
Tests that were skipped are counted and named: they have passed nothing.
Exit code: 0 all passed, 1 one failed, 2 usage, 3 none failed and one is unsteady.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

TOP = pathlib.Path(__file__).resolve().parents[2]
REPORT = TOP / "build/test-report"
LAST_LINES = 60
MOST_LOG_BYTES = 64 << 20
# More than there are cores: many entries wait for leases and clocks.
JOBS = int(os.environ.get("ORDO_JOBS") or os.cpu_count() or 2) + 1
# An entry in whose log this stands has tested nothing.
NOTHING_RUN = re.compile(r"^(Ran 0 tests|\[==========\] Running 0 tests|0 inputs replayed)", re.M)

# GoogleTest names a skipped test behind its reason; unittest, asked to be verbose, before it.
SKIPPED = re.compile(r"^(?:.*: Skipped\n(?P<reason>.*)\n(?:(?!\[ ).*\n)*)?\[  SKIPPED \] (?P<test>\S+) \(\d+ ms\)$"
                     r"|^(?P<method>\w+) \((?P<of>[\w.]+)\)(?:\n.*)? \.\.\. skipped ['\"](?P<why>.*)['\"]$", re.M)
# What unittest counts, named or not.
SKIPS = re.compile(r"^(?:OK|FAILED) \(.*?skipped=(\d+)\)$", re.M)

Entry = collections.namedtuple("Entry", "preset name")


def ctest(preset, arguments, quiet=False):
    """ctest's exit code; its lines come as they are written, without those that only say that an entry starts."""
    command = ["ctest", "--preset", preset, *arguments]
    if preset.startswith(("asan", "tsan")):
        command = without_aslr() + command
    # What a shell has left there would choose other seeds and stores.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORDO_")}
    with subprocess.Popen(command, cwd=TOP, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            if not quiet and not re.match(r"\s*(Start +\d+:|Test project|The following tests FAILED|\t|Errors while)", line) and line.strip():
                print(line, end="", flush=True)
    return process.returncode


def without_aslr():
    """Sanitizers of this age abort at start where the kernel randomises more than 28 bits of the address space."""
    try:
        bits = int(pathlib.Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except OSError:
        bits = 32
    can = bits > 28 and subprocess.run(["setarch", "-R", "true"], check=False, capture_output=True).returncode == 0
    return ["setarch", "-R"] if can else []


def entries_of(preset, names):
    """The entries that the names mean, or all of the preset."""
    told = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=TOP, capture_output=True, text=True, check=False)
    if told.returncode != 0:
        usage(f"ctest --preset {preset} does not answer: {told.stderr.strip()}")
    found = {}
    for test in json.loads(told.stdout)["tests"]:
        labels = next((each["value"] for each in test.get("properties", []) if each["name"] == "LABELS"), [])
        found[test["name"]] = labels
    if not found:
        usage(f"preset {preset} has no entries; is it built?")
    if not names:
        return list(found)
    chosen = []
    for name in names:
        matching = [entry for entry, labels in found.items() if name == entry or name in labels]
        if not matching:
            known = sorted({label for labels in found.values() for label in labels} | set(found))
            usage(f"preset {preset} has no entry or suite '{name}'; it has: {', '.join(known)}")
        chosen += [entry for entry in matching if entry not in chosen]
    return chosen


def usage(why):
    print(f"run.py: {why}", file=sys.stderr)
    raise SystemExit(2)


def run(preset, names, report, jobs=JOBS, quiet=False):
    """Runs the entries; {Entry: passed}, with the log of each in the folder of the report."""
    report.mkdir(parents=True, exist_ok=True)
    junit = report / f"{preset}.xml"
    junit.unlink(missing_ok=True)
    pattern = "^(" + "|".join(map(re.escape, names)) + ")$"
    code = ctest(preset, ["-R", pattern, "-j", str(jobs), "--output-junit", str(junit), "--test-output-size-passed", str(MOST_LOG_BYTES),
                          "--test-output-size-failed", str(MOST_LOG_BYTES)], quiet)
    if not junit.exists():
        raise SystemExit(f"run.py: ctest --preset {preset} has left no results, and ended with {code}")
    logs = report / preset
    logs.mkdir(exist_ok=True)
    results = {}
    for case in xml.parse(junit).getroot().iter("testcase"):
        entry, text = Entry(preset, case.get("name")), case.findtext("system-out") or ""
        log_of(entry, report).write_text(text, errors="replace")
        results[entry] = case.get("status") == "run" and not NOTHING_RUN.search(text)
    for name in names:  # one that ctest could not even start is in no report
        results.setdefault(Entry(preset, name), False)
    if code != 0 and all(results.values()):
        raise SystemExit(f"run.py: ctest --preset {preset} ended with {code}, though every entry passed")
    return results


def log_of(entry, report=REPORT):
    return report / entry.preset / f"{entry.name.replace('/', '_')}.log"


def show(entry, report=REPORT):
    log = log_of(entry, report)
    text = log.read_text(errors="replace") if log.exists() else ""
    print(f"\n==== {entry.preset}:{entry.name}, the last {LAST_LINES} lines of {log.relative_to(TOP)}")
    print("\n".join(text.splitlines()[-LAST_LINES:]))


def skipped_in(text):
    """The tests that an entry's log tells of as skipped, each with its reason."""
    named = []
    for found in SKIPPED.finditer(text):
        name = found["test"] or found["of"].removeprefix("__main__.")
        if found["method"] and not name.endswith(found["method"]):
            name += "." + found["method"]
        named.append(f"{name}: {found['reason'] or found['why'] or 'no reason given'}")
    unnamed = sum(map(int, SKIPS.findall(text))) - sum(1 for found in SKIPPED.finditer(text) if found["method"])
    return named + ["a test without a name"] * max(0, unnamed)


def skipped(entry):
    log = log_of(entry)
    return skipped_in(log.read_text(errors="replace")) if log.exists() else []


def summary_line(kind, entry):
    log = log_of(entry)
    seeds = sorted(set(re.findall(r"\bseed (\d+)", log.read_text(errors="replace")))) if log.exists() else []
    return (f"{kind}: {entry.preset}:{entry.name}; log {log.relative_to(TOP)}{'; seed ' + ', '.join(seeds[:5]) if seeds else ''}; "
            f"again: ./dev test {entry.preset}:{entry.name}")


def run_again(failed):
    """Twice more, alone: those that pass at least once are unsteady."""
    unsteady = []
    for entry in failed:
        print(f"once more, alone: {entry.preset}:{entry.name}", flush=True)
        passed = [run(entry.preset, [entry.name], REPORT / f"again{n}", 1, quiet=True)[entry] for n in (1, 2)]
        if any(passed):
            unsteady.append(entry)
    return unsteady


def run_once(chosen, again):
    results = {}
    for preset, names in chosen.items():
        print(f"==== {preset}", flush=True)
        results |= run(preset, names, REPORT)
    failed = [entry for entry, passed in results.items() if not passed]
    unsteady = run_again(failed) if again else []
    for entry in failed:
        show(entry)
    skips = [f"skipped: {entry.preset}:{entry.name}: {test}" for entry in results for test in skipped(entry)]
    print(f"\n{len(results) - len(failed)} passed, {len(failed)} failed; {len(skips)} tests in them were skipped")
    for line in skips:
        print(line)
    for entry in failed:
        print(summary_line("unsteady" if entry in unsteady else "failed", entry))
    return 1 if len(failed) > len(unsteady) else 3 if unsteady else 0


def fingerprint(chosen):
    """Of what is run: results of another tree or of other binaries do not count."""
    summed = hashlib.sha256(json.dumps(chosen, sort_keys=True).encode())
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=TOP, capture_output=True, text=True, check=True)
    paths = [TOP / name for name in listed.stdout.splitlines()]
    for preset in chosen:
        folder = TOP / "build" / preset
        paths += sorted([*folder.glob("*.so*"), *folder.glob("tests/*"), *folder.glob("fuzz/*"), *folder.glob("ordo*"), folder / "replica",
                         folder / "CTestTestfile.cmake"])
    for path in paths:
        if path.is_file():
            summed.update(str(path).encode() + hashlib.sha256(path.read_bytes()).digest())
    return summed.hexdigest()


def repeat(chosen, rounds):
    """repeat.json holds the rounds that are over, and what failed in which, also in one that was stopped."""
    REPORT.mkdir(parents=True, exist_ok=True)
    notes, mark = REPORT / "repeat.json", fingerprint(chosen)
    state = json.loads(notes.read_text()) if notes.exists() else {}
    if state.get("of") != mark or state["rounds"] >= rounds:
        state = {"of": mark, "rounds": 0, "failed": {}}
    elif state["rounds"]:
        print(f"going on after round {state['rounds']}", flush=True)
    while state["rounds"] < rounds:
        number = state["rounds"] + 1
        print(f"==== round {number} of {rounds}", flush=True)
        for preset, names in chosen.items():
            report = REPORT / f"round{number}"
            for entry, passed in run(preset, names, report).items():
                failed = state["failed"].setdefault(f"{entry.preset}:{entry.name}", []) if not passed else []
                if not passed and number not in failed:
                    show(entry, report)
                    failed.append(number)
            notes.write_text(json.dumps(state, indent=1))
        state["rounds"] = number
        notes.write_text(json.dumps(state, indent=1))
    count = sum(map(len, chosen.values()))
    print(f"\n{count} entries, {rounds} rounds:\n{count - len(state['failed'])} passed, {len(state['failed'])} failed")
    for name, numbers in sorted(state["failed"].items()):
        print(f"not green each time: {name} in round {', '.join(map(str, numbers))}; logs in build/test-report/roundN; again: ./dev test {name}")
    return 1 if state["failed"] else 0


def positive(text):
    if not re.fullmatch("[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--repeat", type=positive)
    parser.add_argument("what", nargs="+", metavar="PRESET[:NAME,...]")
    values = parser.parse_args()
    chosen = {}
    for what in values.what:
        preset, _, names = what.partition(":")
        known = chosen.setdefault(preset, [])
        known += [entry for entry in entries_of(preset, [name for name in names.split(",") if name]) if entry not in known]
    sys.exit(repeat(chosen, values.repeat) if values.repeat else run_once(chosen, values.again))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
