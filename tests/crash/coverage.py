"""What a chaos did and saw, and the least of it: what was planned and never happened was not tested.

Nothing here hangs on time: a run goes on until each kind of fault that its seed has planned has hit, and what is to be seen follows
from what was acknowledged.
"""
import collections

LEAST_ROUNDS = 8  # of faults, however slow the machine is
# What stands in the log of events for each fault of a kind; of what takes a while, that it came to its end.
EVIDENCE = {"kill": "hit", "stop": "stop", "term": "term", "kill worker": "kill_worker", "reshard": "resharded",
            "cut connections": "cut", "black hole": "black hole", "restart server": "restart", "fail over": "fail over",
            "fail over behind": "behind", "move slot": "move"}


class Coverage:
    def __init__(self):
        self.planned, self.hits = collections.Counter(), collections.Counter()

    @property
    def rounds(self):
        return self.planned.total()

    def owed(self):
        """Kinds that were planned and have never hit."""
        return [kind for kind in self.planned if not self.hits[kind]]

    def problems(self, events, checker, producers):
        """`producers`: all of them, at the end of a run of which nothing is wrong."""
        lines = collections.Counter(line["e"] for line in events)
        few = [f"{self.hits[kind]} times {kind}, and {lines[name]} {name} in the log" for kind, name in EVIDENCE.items()
               if lines[name] < self.hits[kind]]
        few += [f"{kind} was planned {self.planned[kind]} times and has never hit" for kind in self.owed()]
        if self.rounds < LEAST_ROUNDS:
            few.append(f"{self.rounds} rounds of faults of {LEAST_ROUNDS}")
        for producer in producers:
            sent = [push for push in producer.pushes.values() if push["acked"]]
            few += [] if sent else [f"nothing was pushed with {producer.way}"]
            if sent and producer.spoils and not any(spoilt["acked"] for spoilt in producer.spoilt.values()):
                few.append(f"{producer.name} has sent nothing that nobody can read")
        waits = sum(push["acked"] and push.get("waits", False) for producer in producers for push in producer.pushes.values())
        if waits > checker.counts["responses handled"]:
            few.append(f"{waits} jobs were to wait, and {checker.counts['responses handled']} responses were handled")
        if any(producer.joined for producer in producers) and not checker.counts["runs of many payloads"]:
            few.append("payloads of one job were pushed together, and no run had many")
        return [f"not covered: {what}" for what in few]

    def text(self, names):
        return ", ".join(f"{name} {self.hits[name]}" + (f" of {self.planned[name]}" if name in self.planned else "")
                         for name in dict.fromkeys(names))
