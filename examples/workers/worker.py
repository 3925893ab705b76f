#!/usr/bin/env python3
"""A command worker: one line of JSON in, one out (docs/command-workers.md)."""
import json
import sys


def perform(job):
    """What becomes of one job. Raising fails it, and it is tried again later."""
    order = job["payloads"][-1]  # the only one, or the latest of those that came together
    if not isinstance(order, dict) or "total" not in order:
        return {"discard": "not an order"}
    if order.get("hold"):
        return {"snooze": 30}
    print("charged", job["id"], order["total"], file=sys.stderr)  # goes to the node's log
    return {"ok": True}


def name_of(job):
    """How `results` names it: an id that is no text comes as {"$base64": …}, and is named by just this JSON."""
    return job["id"] if isinstance(job["id"], str) else json.dumps(job["id"], separators=(",", ":"))


def main():
    for line in sys.stdin:
        results = {}
        for job in json.loads(line)["jobs"]:
            try:
                results[name_of(job)] = perform(job)
            except Exception as error:
                results[name_of(job)] = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"results": results}), flush=True)


if __name__ == "__main__":
    main()
