"""The worker of the crash suite as a command: notes the start and the end of each run, one line a write.

A payload is {"n": its number, "ms": how long it takes, "fail": 1 (the first attempt fails), "poison": 1
(kills its node), "gate": a file (it ends as soon as that is there)}. recorder.cpp does the same in a thread of
the node, but for the gate.

With "wait" the job waits for a response to its id: "expect" says so in the middle of the run, "wait" at its end. "timeout" is
how many seconds the first attempt waits; with "flaky" every other run that handles the response fails.
"""
import json
import os
import random
import signal
import sys
import time

NODE = os.environ["ORDO_CRASH_NODE"]
LOG = os.open(os.environ["ORDO_CRASH_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
LONG_S = 3600  # no wait of a run of the suite is over then


def note(event, run, **more):
    line = {"e": event, "run": run, "node": NODE, **more, "t": time.monotonic_ns()}
    os.write(LOG, (json.dumps(line, separators=(",", ":")) + "\n").encode())


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def is_expected(queue, job, run):
    """It is durable that the job waits for the key that is its id."""
    note("expect", run, queue=queue, key=job["id"])
    print(json.dumps({"expect": [job["id"]]}), flush=True)
    return json.loads(sys.stdin.readline())["expected"]


def work(payloads):
    end = time.monotonic() + max(payload.get("ms", 0) for payload in payloads) / 1000
    gates = [payload["gate"] for payload in payloads if "gate" in payload]
    while gates and not all(map(os.path.exists, gates)) and time.monotonic() < end:
        time.sleep(0.02)
    if not gates:
        time.sleep(max(0, end - time.monotonic()))


def perform(queue, job, run):
    payloads, response = job["payloads"], job.get("response")
    is_first, payload = job["retry_count"] < 0, payloads[0]  # who waits has one
    note("start", run, pid=os.getpid(), thread=False, queue=queue, key=job["key"], id=job["id"],
         n=[payload["n"] for payload in payloads], retry=job["retry_count"], fence=job["fence"],
         **({"response": response} if response else {}))
    if any(payload.get("poison") for payload in payloads):
        os.kill(parent_of(os.getppid()), signal.SIGKILL)  # its parent is the guard
    waits = not response and payload.get("wait")
    failed = waits == "expect" and not is_expected(queue, job, run)
    work(payloads)
    if response:
        failed = payload.get("flaky") and random.random() < 0.5
    elif is_first and any(payload.get("fail") for payload in payloads):
        failed = True
    if waits and not failed:
        timeout = payload.get("timeout", LONG_S) if is_first else LONG_S
        note("wait", run, queue=queue, key=job["id"], may_time_out=timeout != LONG_S)
        return {"wait": job["id"], "timeout": timeout}
    note("fail" if failed else "end", run)
    return {"error": "it was told to"} if failed else {"ok": True}


def main():
    runs = 0
    process = f"{NODE}-{os.getpid()}-{time.monotonic_ns()}"
    for line in sys.stdin:
        request = json.loads(line)
        results = {}
        for job in request["jobs"]:
            runs += 1
            results[job["id"]] = perform(request["queue"], job, f"{process}-{runs}")
        print(json.dumps({"results": results}), flush=True)


if __name__ == "__main__":
    main()
