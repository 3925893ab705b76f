"""The ten headers that are included most stay small: what each of them brings in is compiled hundreds of times.

  header_size.py COMPILER
"""
import collections
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 2_700_000
HEAVY = re.compile(r'^# \d+ "[^"]*/(boost/json|CLI|toml\+\+|gtest|gmock|domain/shard\.h)', re.M)


def most_included():
    """(header, times), of ours."""
    counts = collections.Counter()
    for folder in ("src", "tests"):
        for path in (TOP / folder).rglob("*"):
            if path.suffix in (".h", ".cpp", ".hpp"):
                counts.update(re.findall(r'^#include ["<]((?:ordo|base|domain|store|execute|runtime|client|server|faces|cli|web)/[^">]+)[">]', path.read_text(), re.M))
    is_of_tests = re.compile(r"harness|test_log|^base/assert")
    return [each for each in counts.most_common(25) if not is_of_tests.search(each[0])][:10]


def main():
    failed = 0
    headers = most_included()
    if len(headers) < 10:
        sys.exit(f"only {len(headers)} headers were found under {TOP}")
    for header, times in headers:
        done = subprocess.run([sys.argv[1], "-std=c++20", "-E", "-I", TOP / "include", "-I", TOP / "src", "-x", "c++", "-"],
                              input=f'#include "{header}"\n', capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{header} does not compile:\n{done.stderr}")
        size = sum(len(line) + 1 for line in done.stdout.splitlines() if not line.startswith("#"))
        heavy = sorted(set(HEAVY.findall(done.stdout)))
        is_bad = size > MOST_BYTES or heavy
        failed += bool(is_bad)
        print(f"{'too heavy: ' if is_bad else ''}{header}: included {times} times, {size:,} bytes of {MOST_BYTES:,}{'; it brings ' + ', '.join(heavy) if heavy else ''}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
