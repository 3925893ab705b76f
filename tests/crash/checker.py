"""Judges a run of the crash suite by its log: what was promised, and was it kept?

The log has one JSON object a line. Its order is the order in which things happened: a worker notes a start
before it does anything and an end before it answers, and the chaos notes a fault *before* it does it. So when
the run of a node is followed by the run of its successor in the log, its owner had been replaced by then.

  {"e":"start","run","node","pid","thread","queue","key","id","n":[numbers of the payloads],"retry","fence"}
           fence: rises with every owner of the shard, and when a run is taken back from a node that lapsed
  {"e":"end"|"fail"|"stopped","run"}      stopped: it was asked to, and is put back
  {"e":"wait","run"}                      its job waits for a response from now on: see response_checker.py
  {"e":"kill"|"stop"|"cont"|"term","node"}
  {"e":"hit","node"}                      a kill or a stop of it has come into force
  {"e":"exit","node"}                     it left by itself: its leases were lost
  {"e":"put back","node"}                 it could not renew in time and stopped its runs: the node's own word
  {"e":"lost","node"}                     the lease of a shard of its was lost: the node's own word
  {"e":"kill_worker","pid"}               the process of a command
  {"e":"stall","since"}                   a node was paused for less than a lease, the machine was busy, the
                                          server was away or could not be reached: others may have waited
  {"e":"cut"|"restart"|"black hole"|"move"}  connections to the server were cut, it was killed, nothing passed,
                                          a slot moves: excuses nobody
  {"e":"behind","since"}                  who took over lacks what was done from then on: that may be lost, and ends of runs
                                          with it. Order, overlaps and fences are judged as ever
  {"e":"reshard"|"resharded","queue"}     the queue gets another number of shards, from here to there: excuses nobody
Each has "t", the monotonic time in ns.

A run that ended and runs again has a cause, and no cause explains more than it can have undone (repeats.py): between its start and the
moment when its end should long have been durable, its node was killed, stopped, left or lost a lease, its worker was killed, or the
store was away; or the push was sent again, once for each repeat. A clean stop (term) is no cause. So has a run that begins anew though
the one before has ended with a wait; if it could not be registered because connections were cut or the queue was resharded, it was
put back.

A push is (queue, key, n): the numbers of a key rise in the order they were pushed in. In the queue "fifo"
each has a job of its own, as in those of limited.py, in "merge" those of a key are payloads of one job. What limits and locks
promise is judged by limit_checker.py.

`python3 checker.py FOLDER` judges a kept run again.
"""
import collections
import json
import pathlib
import sys

from limit_checker import PUT_BACK_NS, LimitChecker
from repeats import DURABLE_NS, Fault, Repeats
from response_checker import ResponseChecker

TOLD_NS = 5_000_000_000     # from an acknowledgement until its producer has noted it
DISTURBING = ("cut", "restart", "black hole", "move", "fail over")


class Run:
    def __init__(self, line, position):
        self.name, self.node, self.pid, self.thread = line["run"], line["node"], line["pid"], line["thread"]
        self.queue, self.key, self.id = line["queue"], line["key"], line["id"]
        self.numbers, self.retry, self.fence = line["n"], line["retry"], line["fence"]
        self.response = line.get("response")
        self.outcome, self.ended, self.may_time_out = None, None, False
        self.position, self.time = position, line["t"]
        self.end_position = None

    def __str__(self):
        numbers = ", ".join(map(str, self.numbers[:5])) + (", …" if len(self.numbers) > 5 else "")
        return (f"run {self.name} of {self.queue}/{self.key}/{self.id} [{numbers}] on {self.node}, "
                f"fence {self.fence}, line {self.position}")


class Key:
    def __init__(self):
        self.open = []          # runs without an end
        self.delivered = set()  # numbers that were in a run
        self.gone = set()       # of these, what a later run did not have: it had ended
        self.ended = {}         # number: the last run that ended with it
        self.waiting = {}       # the same of one that ended with a wait
        self.last = None        # the last run that ended
        self.lapses = []        # those that have explained why it began again


class Checker:
    """`pushes`: (queue, key, n) -> {"attempts": times it was sent, "acked": bool}. `dead`: pushes."""

    def __init__(self, pushes, dead=()):
        self.pushes, self.dead = pushes, set(dead)
        self.problems = []
        self.counts = collections.Counter()
        self.runs, self.keys = {}, collections.defaultdict(Key)
        self.faults = collections.defaultdict(list)     # node: in order
        self.lapses = []                                # what came then may be lost
        self.stalls = []                                # what may have kept others from renewing
        self.left = set()                               # nodes that lost their leases, when is not known
        self.tops = {}                                  # (queue, key): the run with the highest fence
        self.completed = set()                          # pushes
        self.failures = collections.Counter()           # (queue, id)
        self.runs_by_id = collections.defaultdict(list)
        self.runs_of_job = collections.defaultdict(list)  # (queue, id): those of its owners
        self.killed_workers = set()
        self.put_backs = []                             # (node, when)
        self.losses = collections.defaultdict(list)     # node: when it left, put runs back or lost a lease
        self.worker_kills = collections.defaultdict(list)  # pid: when
        self.sent_again_for = collections.Counter()     # push: repeats that only that explains
        self.last_of = {}                               # pid: its last run
        self.ended_runs = set()
        self.blamed = set()                             # killed workers that explain a failure without a start
        self.troubles = []                              # what may keep a wait from being registered
        self.responses = ResponseChecker(self.problem, self.counts)
        self.repeats = Repeats(self)
        self.position = 0                               # of the line that is judged

    def check(self, events, is_complete=True):
        """The problems. Unless the run is complete, nothing is called lost."""
        events = list(events)
        self.look_ahead(events)
        for position, line in enumerate(events, 1):
            what, self.position = line["e"], position
            if what == "start":
                self.start(Run(line, position))
            elif what in ("end", "fail", "stopped", "wait"):
                self.end(what, self.runs[line["run"]], position, line)
            elif what in ("kill", "stop", "term", "exit", "cont"):
                self.fault(what, line)
            elif what == "hit":
                self.repeats.hit(self.faults[line["node"]][-1], line["node"])
            elif what == "expect":
                self.responses.waits(self.runs[line["run"]])
            elif what == "respond":
                self.responses.sent(line)
            elif what == "answer":
                self.responses.answered(line)
        if is_complete:
            self.look_for_lost()
        self.repeats.judge()
        LimitChecker(self).judge()
        self.responses.judge(is_complete)
        return self.problems

    def fault(self, what, line):
        faults = self.faults[line["node"]]
        if what in ("kill", "exit", "cont"):  # nobody waits any longer for one that stands still
            for stop in faults:
                if stop.kind == "stop" and stop.until is None:
                    stop.until = line["t"]
        if what in ("kill", "stop", "term"):
            faults.append(Fault(what, line))
        if what == "stop":
            self.stalls.append(faults[-1])

    def look_ahead(self, events):
        """What explains something that may stand before it in the log."""
        self.left = {line["node"] for line in events if line["e"] == "exit"}
        self.put_backs = [(line["node"], line["t"]) for line in events if line["e"] == "put back"]
        resharding = {}
        for line in events:
            if line["e"] in ("exit", "put back", "lost"):
                self.losses[line["node"]].append(line["t"])
            elif line["e"] == "kill_worker":
                self.worker_kills[line["pid"]].append(line["t"])
            elif line["e"] in DISTURBING:
                self.troubles.append(Fault(line["e"], line, line["t"]))
            elif line["e"] == "reshard" and line["queue"] not in resharding:
                resharding[line["queue"]] = Fault("reshard", line)
                self.troubles.append(resharding[line["queue"]])
            elif line["e"] == "resharded":
                resharding.pop(line["queue"]).until = line["t"]
        self.killed_workers = {line["pid"] for line in events if line["e"] == "kill_worker"}
        self.lapses = [Fault("behind", {"t": line["since"]}, line["t"]) for line in events if line["e"] == "behind"]
        self.stalls = [Fault("stall", {"t": line["since"]}, line["t"])
                       for line in events if line["e"] == "stall"]

    def problem(self, text):
        self.problems.append(text)

    # Why a run may have been cut short ----------------------------------------------------------------------

    def was_hit(self, run, kinds=("kill", "stop")):
        """Its node was killed or stopped while it ran, or left by itself."""
        return run.node in self.left or any(fault.kind in kinds and fault.touches(run.time)
                                            for fault in self.faults[run.node])

    def may_have_been_put_back(self, run, now):
        """Its node was told to end, or could not renew because another was stopped inside the write lock."""
        for node, when in self.put_backs:
            if node == run.node and run.time - PUT_BACK_NS <= when <= now + PUT_BACK_NS:
                return True
        return self.was_hit(run, ("term",)) or any(stall.since <= now and stall.touches(run.time)
                                                   for stall in self.stalls)

    def lost_its_worker(self, run):
        return not run.thread and run.pid in self.killed_workers

    def was_sent_again(self, run, n):
        push = self.pushes.get((run.queue, run.key, n))
        return push is None or push["attempts"] > 1

    # Starts -------------------------------------------------------------------------------------------------

    def start(self, run):
        self.runs[run.name] = run
        self.runs_by_id[run.queue, run.id].append(run)
        self.last_of[run.pid] = run
        self.responses.began(run)
        self.counts["runs"] += 1
        self.counts["runs of many payloads"] += len(run.numbers) > 1
        self.counts["runs in threads"] += run.thread
        for n in run.numbers:
            if not self.pushes.get((run.queue, run.key, n), {}).get("attempts"):
                self.problem(f"invented: {run} has {n}, which was never pushed, or rolled back")
        if not self.is_owner(run):
            self.counts["late starts"] += 1
            return
        key = self.keys[run.queue, run.key]
        for other in key.open:
            self.look_at_overlap(run, other)
        key.open = [run]
        self.runs_of_job[run.queue, run.id].append(run)
        self.look_at_order(run, key)
        self.look_at_repeats(run, key)
        self.look_at_retries(run)

    def is_owner(self, run):
        """False: its node was stopped between its last look at the lease and this start. The fence tells."""
        top = self.tops.get((run.queue, run.key))
        if top is None or run.fence > top.fence:
            self.counts["keys taken over"] += top is not None
            self.tops[run.queue, run.key] = run
            return True
        if run.fence == top.fence:
            # One shard's runs may be on several nodes, lent; what was taken back from one has a new fence. What an
            # owner stops itself, when it cannot renew, has the old one: a command is killed and notes no end.
            was_stopped = not (top.thread or self.was_hit(top)) and self.may_have_been_put_back(top, run.time)
            if run.node != top.node and top in self.keys[run.queue, run.key].open and not was_stopped:
                self.problem(f"fence: {run} has the same fence as {top}, which goes on")
            self.tops[run.queue, run.key] = run
            return True
        if not self.was_hit(run):
            self.problem(f"stale start: {run} starts after {top} of a later owner, and was never hit")
        return False

    def look_at_overlap(self, run, other):
        """`other` has no end yet. Between nodes it is taken as ended by what happened to its node."""
        if self.lost_its_worker(other):
            return
        if other.node == run.node:
            # Its guard kills the commands of a stopped node; its own threads it has to wait for.
            cut = self.was_hit(other, ("stop",)) or self.may_have_been_put_back(other, run.time)
            if other.thread or not cut:
                self.problem(f"overlap: {run} starts while {other} goes on")
        elif not (self.was_hit(other) or self.may_have_been_put_back(other, run.time)):
            self.problem(f"overlap: {run} starts while {other} goes on, whose node was never hit")

    def look_at_order(self, run, key):
        if run.numbers != sorted(run.numbers):
            self.problem(f"order: the payloads of {run} do not come in the order of their scores")
        if key.gone & set(run.numbers):
            self.begin_again(run, key)
        news = [n for n in run.numbers if n not in key.delivered]
        if news and key.delivered and min(news) < max(key.delivered):
            self.problem(f"order: {run} starts {min(news)} for the first time after {max(key.delivered)}")
        key.gone |= key.delivered - set(run.numbers)
        key.delivered |= set(run.numbers)
        for n in run.numbers:
            if n in key.gone and not self.was_sent_again(run, n):
                self.problem(f"order: {run} starts {n} again after later ones of its key")

    def begin_again(self, run, key):
        """Once for each time that the ends of its runs may have been lost: from there on its order is as ever."""
        for lapse in self.lapses:
            if lapse.since <= run.time and lapse not in key.lapses:
                key.lapses.append(lapse)
                key.gone, key.delivered = set(), set()
                self.counts["keys that began again"] += 1
                return

    def may_be_lost(self, push):
        return "t" in push and any(lapse.since <= push["t"] <= lapse.until + TOLD_NS for lapse in self.lapses)

    def look_at_repeats(self, run, key):
        causes = set()
        for n in run.numbers:
            if n in key.waiting:
                self.look_at_wait(run, n, key)
            if n not in key.ended:
                continue
            last = key.ended.pop(n)
            push = (run.queue, run.key, n)
            cause = self.repeats.explain(last, run)
            if cause is None and push in self.pushes:
                self.sent_again_for[push] += 1
                if self.sent_again_for[push] < self.pushes[push]["attempts"]:
                    cause = "sent again"
            causes.add(cause)
            if cause is None:
                self.problem(f"repeat: {run} runs {n} again, which {last} had ended, and nothing explains it")
        self.counts["repeated runs"] += bool(causes)
        self.counts["repeats (sent again)"] += "sent again" in causes

    def look_at_wait(self, run, n, key):
        """Its job waits, as far as is known: what comes is its response."""
        if run.response:
            return
        last = key.waiting.pop(n)
        if last.may_time_out and run.retry == last.retry + 1 and not self.lost_its_worker(last):
            self.counts["waits that timed out"] += 1
            self.responses.timed_out(run)
        elif not (self.repeats.explain(last, run) or self.was_disturbed(last)):
            self.problem(f"repeat: {run} runs {n} again, with which {last} waits for a response, and nothing explains it")

    def was_disturbed(self, run):
        return any(trouble.since <= run.ended + DURABLE_NS and trouble.touches(run.time) for trouble in self.troubles)

    def look_at_retries(self, run):
        """The death of a node is no failure."""
        if run.queue == "merge":
            return
        failures = self.failures[run.queue, run.id]
        failures += sum(self.lost_its_worker(other) for other in self.runs_by_id[run.queue, run.id][:-1])
        if run.retry + 1 > failures and self.was_killed_without_a_word(run):
            self.failures[run.queue, run.id] += 1
        elif run.retry + 1 > failures:
            self.problem(f"retries: {run} has retry_count {run.retry} after {failures} failures")

    def was_killed_without_a_word(self, run):
        """A worker that was killed may have got the job just before, and not come to note its start."""
        for pid, times in self.worker_kills.items():
            last = self.last_of.get(pid)
            if last and pid not in self.blamed and last.queue == run.queue and last in self.ended_runs and times[0] < run.time:
                self.blamed.add(pid)
                return True
        return False

    # Ends ---------------------------------------------------------------------------------------------------

    def end(self, what, run, position, line):
        run.ended = line["t"]
        run.outcome, run.may_time_out = what, line.get("may_time_out", False)
        run.end_position = position
        self.ended_runs.add(run)
        if what == "wait":
            self.responses.waits(run)
        if run.may_time_out or (what == "fail" and not run.response):  # on_response counts its own
            self.failures[run.queue, run.id] += 1
        top = self.tops[run.queue, run.key]
        if top.fence > run.fence:
            # Nothing of it can be written any more: the successor has to run the job.
            self.counts["late ends"] += 1
            if not self.was_hit(run):
                self.problem(f"overlap: {run} goes on at line {position} though {top} has started")
            return
        key = self.keys[run.queue, run.key]
        if run not in key.open:
            self.problem(f"overlap: {run} goes on at line {position} though another of its key has started")
        key.open = [other for other in key.open if other is not run]
        if what in ("end", "wait"):
            key.last = run
        if what == "wait":
            key.waiting.update(dict.fromkeys(run.numbers, run))
        elif what == "end":
            for n in run.numbers:
                key.ended[n] = run
                key.waiting.pop(n, None)
                self.completed.add((run.queue, run.key, n))

    def look_for_lost(self):
        for push, sent in self.pushes.items():
            if push in self.completed:
                self.counts["completed"] += 1
                self.counts["unknown that ran"] += not sent["acked"]
            elif push in self.dead:
                self.counts["dead"] += 1
            elif self.may_be_lost(sent):
                self.counts["lost with who was ahead"] += 1
            elif sent["acked"]:
                runs = [run for run in self.runs.values()
                        if (run.queue, run.key) == push[:2] and push[2] in run.numbers]
                self.problem(f"lost: {push} was acknowledged and never ran to an end; its runs: "
                             f"{'; '.join(map(str, runs)) or 'none'}")
            else:
                self.counts["unknown that did not run" if sent["attempts"] else "never sent"] += 1


    def look_at_dead(self, dead, spoilt):
        """`dead`: (error kind, payload) of each. `spoilt`: what nobody can read: sent as a push is."""
        found = collections.Counter(dead)
        self.counts["unreadable entries among the dead"] = len(dead)
        for kind, payload in dead:
            if kind != "unreadable" or payload not in spoilt:
                self.problem(f"dead: {payload} died as {kind}, and should not")
        for payload, sent in spoilt.items():
            count = found["unreadable", payload]
            if not (sent["acked"] and not self.may_be_lost(sent)) <= count <= sent["attempts"]:
                self.problem(f"unreadable: {payload} is {count} times among the dead: {sent}")


def read_events(folder):
    lines = (pathlib.Path(folder) / "events.ndjson").read_text().splitlines()
    return [json.loads(line) for line in lines]


def read_pushes(folder):
    pushes = {}
    for line in (pathlib.Path(folder) / "pushes.ndjson").read_text().splitlines():
        push = json.loads(line)
        pushes[push["queue"], push["key"], push["n"]] = push
    return pushes


if __name__ == "__main__":
    checker = Checker(read_pushes(sys.argv[1]))
    print("\n".join(checker.check(read_events(sys.argv[1]))[:50]))
    print(dict(checker.counts))
    sys.exit(1 if checker.problems else 0)
