"""Judges what ran again in a run of the crash suite: each repeat has a cause, and no cause explains more than it can have undone.

An end that is not durable is undone by what befalls the node that ran it, and then its shard has another fence. Until it is durable
nothing else of its key starts. So, by the log and not by the clock:

  kill, stop     of a node: one run of each key whose end the node had when the signal had reached it; and of what its workers
                 still ended or started then, no more than it has threads
  lost lease     by the node's own word: one run of each key
  killed worker  one run: a worker has one at a time
  stall          one run of each key for each time that the fence rose
  behind         the runs that ended in what the store lacks since
  sent again     a push runs once more for each time that it was sent again

A run that is stopped, or whose worker was killed, after it has noted its end and before it has answered, is the one that may run again
under the fence that it had: such are no more than a node has threads, for each word of it that it put its runs back.
"""
import collections
import math
import typing

import limited
from cluster import THREADS
from limit_checker import PUT_BACK_NS

AFTER_STOP_NS = 1_000_000_000
DURABLE_NS = 6_000_000_000  # two leases: an end that nothing disturbs is durable by then
CAPACITY = THREADS + len(limited.QUEUES) * limited.THREADS  # runs that a node has at a time; each has one job


class Fault:
    """Of one node. A stop lasts until it is continued, and a moment longer: what was under way goes on."""

    def __init__(self, kind, line, until=None):
        self.kind, self.since, self.until, self.node = kind, line["t"], until, line.get("node")
        self.hit = None  # the line of the log at which it had come into force

    def touches(self, since):
        """Whether it was in force at or after a time; it has begun already."""
        return self.until is None or since <= self.until + AFTER_STOP_NS


class Room(typing.NamedTuple):
    """What an event may explain: `most` repeats of `what`."""
    cause: str
    event: object
    what: object
    most: float = 1


class Repeats:
    """`checker`: knows what was done to whom."""

    def __init__(self, checker):
        self.checker = checker
        self.rooms = {}                             # repeat: all that may explain it
        self.given = collections.defaultdict(list)  # room: the repeats that it explains
        self.causes = {}                            # repeat: the room that does
        self.most = collections.Counter()           # kind of a fault: repeats that all of them may explain

    def hit(self, fault, node):
        """It has come into force: what the node has of ends is known."""
        fault.hit = self.checker.position
        held = sum(key.last is not None and key.last.node == node for key in self.checker.keys.values())
        self.most[fault.kind] += held + CAPACITY

    def explain(self, last, run):
        """The cause of `run`, which repeats `last`; None: nothing known, or what is has explained as many as it can."""
        repeat = last, run
        if repeat not in self.rooms:
            self.rooms[repeat] = list(self.rooms_for(last, run))
            self.take(repeat, set())
        return self.causes[repeat].cause if repeat in self.causes else None

    def take(self, repeat, seen):
        """Who has taken what it needs goes elsewhere, if there is another cause."""
        for room in self.rooms[repeat]:
            if room in seen:
                continue
            seen.add(room)
            given = self.given[room]
            if len(given) >= room.most:
                moved = next((other for other in given if self.take(other, seen)), None)
                if moved is None:
                    continue
                given.remove(moved)
            given.append(repeat)
            self.causes[repeat] = room
            return True
        return False

    def rooms_for(self, last, run):
        checker, until = self.checker, self.undone_until(last, run)
        key = run.queue, run.key
        for lapse in checker.lapses:
            if lapse.since <= until and lapse.touches(last.time):
                yield Room("behind", lapse, None, math.inf)
        words = [when for when in checker.losses[last.node] if last.time - PUT_BACK_NS <= when <= until + PUT_BACK_NS]
        if run.fence > last.fence:
            for fault in checker.faults[last.node]:
                # A worker may start a run that it has read before its guard sees that the node was killed.
                if fault.kind in ("kill", "stop") and fault.since <= until and fault.touches(last.time):
                    yield Room(fault.kind, fault, key)
            for when in words:
                yield Room("lost lease", (last.node, when), key)
        for when in words:
            if (last.node, when) in checker.put_backs:
                yield Room("lost lease", (last.node, when), "stopped", CAPACITY)
        if not last.thread:
            for when in checker.worker_kills[last.pid]:
                if last.time <= when <= until:
                    yield Room("killed worker", (last.pid, when), None)
        if run.fence > last.fence and any(stall.since <= until and stall.node != last.node for stall in self.stalls_of(last)):
            yield Room("stall", key, run.fence)

    def stalls_of(self, run):
        return sorted((stall for stall in self.checker.stalls if stall.touches(run.time)), key=lambda stall: stall.since)

    def undone_until(self, last, run):
        """When its end should long have been durable, or has run again."""
        until = last.ended + DURABLE_NS
        for stall in self.stalls_of(last):
            if stall.since <= until and stall.until is not None:
                until = max(until, stall.until + DURABLE_NS)
        return min(until, run.time + AFTER_STOP_NS)

    def judge(self):
        for room, given in self.given.items():
            self.checker.counts[f"repeats ({room.cause})"] += len(given)
        for kind, most in self.most.items():
            self.checker.counts[f"repeats that all of {kind} may explain"] = most
        self.look_at_late()
        self.look_at_cut()

    def look_at_late(self):
        """What ended when its node was hit already: no more than it had under way."""
        late = collections.Counter()
        for (last, _), room in self.causes.items():
            if room.cause in ("kill", "stop") and room.event.hit is not None:
                late[room.event, last.node] += last.end_position > room.event.hit
        for (fault, node), count in late.items():
            if count > CAPACITY:
                self.checker.problem(f"repeat: {count} runs that ended after the {fault.kind} of {node} at line {fault.hit} ran "
                                     f"again, and it has {CAPACITY} threads")

    def look_at_cut(self):
        """Runs without an end: no more than their node had under way when something befell it."""
        checker, cut = self.checker, collections.defaultdict(list)
        for run in checker.runs.values():
            if not run.outcome:
                cut[run.node].append(run)
        for node, runs in cut.items():
            stalls = {stall for run in runs for stall in self.stalls_of(run) if not run.thread}
            times = len(checker.faults[node]) + len(checker.losses[node]) + len(stalls)
            killed = sum(len(checker.worker_kills[pid]) for pid in {run.pid for run in runs if not run.thread})
            if len(runs) > CAPACITY * times + killed and not checker.problems:
                checker.problem(f"cut: {len(runs)} runs of {node} have no end, of which {times} faults explain {CAPACITY} each")
