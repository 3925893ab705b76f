#!/usr/bin/env python3
"""Sends requests to a service that answers later, and shows how they come and go.

    python3 examples/webhook_roundtrip/run.py [--calls 60] [--ordo build/release/ordo]

Everything happens in a folder of its own, which is removed at the end: a node of Ordo, the worker (caller.py), the
service (dialer.py). The calls are limited to ten at a time, 40/30/30 percent by region (ordo.toml).
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from dialer import Dialer

HERE = pathlib.Path(__file__).resolve().parent
REGIONS = {"east": 40, "north": 30, "west": 30}


def line_of(stats, dialer, calls):
    regions = "  ".join(f"{region} {dialer.open[region]}" for region in REGIONS)
    return f"{stats['processed']:4} of {calls} done   open: {regions}   wait: {stats['length']}"


def run(ordo, calls, folder):
    for name in ("ordo.toml", "caller.py"):
        shutil.copy(HERE / name, folder)
    ordo = [ordo, "--config", str(folder / "ordo.toml")]
    dialer = Dialer(ordo, 0.1, 0.6)
    node = subprocess.Popen([*ordo, "work"], cwd=folder, env={**os.environ, "DIALER_URL": dialer.url})
    try:
        regions = random.choices(list(REGIONS), list(REGIONS.values()), k=calls)
        jobs = [{"id": str(number), "payload": {"region": region}} for number, region in enumerate(regions)]
        lines = "\n".join(map(json.dumps, jobs))
        subprocess.run([*ordo, "push", "calls", "--ndjson", "-"], input=lines, text=True, check=True,
                       stdout=subprocess.DEVNULL)
        shown = ""
        while True:
            done = subprocess.run([*ordo, "stats", "--json"], check=True, capture_output=True)
            stats = json.loads(done.stdout)["by_queue"]["calls"]
            line = line_of(stats, dialer, calls)
            if sys.stdout.isatty():
                print("\r" + line, end="", flush=True)
            elif line != shown:
                print(line, flush=True)
            shown = line
            if stats["processed"] == calls or node.poll() is not None:
                break
            time.sleep(0.2)
    finally:
        node.terminate()
        node.wait()
    if sys.stdout.isatty():
        print()
    most = ", ".join(f"{region} {dialer.most[region]}" for region in REGIONS)
    print(f"{stats['processed']} of {calls} calls were made and answered; open at once: {dialer.most_in_all} at most ({most})")
    return 0 if stats["processed"] == calls else 1


def main():
    parser = argparse.ArgumentParser(description="Requests to a service that answers later, ten at a time.")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--ordo", default=shutil.which("ordo") or str(HERE.parents[1] / "build/release/ordo"))
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ordo-calls-"))
    try:
        return run(str(pathlib.Path(arguments.ordo).resolve()), arguments.calls, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
