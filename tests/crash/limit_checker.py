"""Judges limits and locks in a run of the crash suite: how many jobs had a slot or a lock at each instant?

A job has them from the start of a run to its end; one that waits for a response until it has been handled, whatever becomes
of the runs that do. What is counted here is less than what the nodes have to count: a worker notes its start after the
slot is taken, and its end before that is free. Of a run that notes no end only what came before the first thing that may
have cut it short is counted, and of one whose node was killed or stopped what came before that: its guard ends it.
"""
import collections
import decimal

import limited

PUT_BACK_NS = 100_000_000  # between the word of a node that it stops its runs and the deed, and two clocks


class Hold:
    """A job has its slots and its lock from `since` to `until`."""

    def __init__(self, run, since, until):
        self.run, self.since, self.until = run, since, until


class LimitChecker:
    def __init__(self, checker):
        self.checker = checker

    def judge(self):
        slots = collections.defaultdict(list)  # (name, value): (hold, weight)
        for runs in self.checker.runs_of_job.values():
            for hold in self.holds(runs):
                for what, weight in self.takes(hold.run):
                    slots[what].append((hold, weight))
        for (name, value), holds in slots.items():
            self.look_at(name, value, holds)

    def takes(self, run):
        """Of which limits and locks how much."""
        push = self.checker.pushes[run.queue, run.key, run.numbers[0]]
        yield ("lock", push["lock"]), decimal.Decimal(1)
        if push["critical"]:
            return
        weight = decimal.Decimal(push["weight"])
        yield ("limit", "crm"), weight
        if run.queue == "calls":
            yield ("limit", "calls"), weight
            yield ("partition", push["region"]), weight

    def most(self, name, value):
        return {"lock": 1, "partition": limited.PARTITION_LIMIT,
                "limit": limited.NAMED_LIMIT if value == "crm" else limited.LIMIT}[name]

    def holds(self, runs):
        """Of one job, whose runs are those of its owners in their order."""
        for run, following in zip(runs, [*runs[1:], None]):
            if run.queue not in limited.QUEUES or (run.queue, run.key, run.numbers[0]) not in self.checker.pushes:
                continue
            until = self.until(run, following)
            goes_on = following and following.response and (run.response or run.outcome == "wait")
            if goes_on and run.outcome != "end":
                until = following.time
            if until > run.time:
                yield Hold(run, run.time, until)

    def until(self, run, following):
        """When at the earliest a run was over."""
        checker = self.checker
        if run.outcome:
            ends = [run.ended]
        else:
            ends = [following.time if following else run.time, *checker.worker_kills[run.pid]]
            ends += [max(run.time, said - PUT_BACK_NS) for said in checker.losses[run.node] if said >= run.time]
            ends += [fault.since for fault in checker.faults[run.node] if fault.kind == "term"]
            ends += [max(run.time, stall.since) for stall in checker.stalls if stall.touches(run.time)]
            ends = [end for end in ends if end >= run.time]
        ends += [fault.since for fault in checker.faults[run.node]
                 if fault.kind in ("kill", "stop") and fault.touches(run.time)]
        return min(ends)

    def look_at(self, name, value, holds):
        most, used, open_now = self.most(name, value), decimal.Decimal(0), {}
        steps = [(hold.until, 0, hold, weight) for hold, weight in holds]
        steps += [(hold.since, 1, hold, weight) for hold, weight in holds]
        for when, begins, hold, weight in sorted(steps, key=lambda step: step[:2]):
            if not begins:
                used -= open_now.pop(id(hold))[1]
                continue
            open_now[id(hold)] = hold, weight
            used += weight
            if used > most:
                taken_by = sorted((other.until, str(other.run), taken) for other, taken in open_now.values() if other is not hold)
                others = "; ".join(f"{other} takes {taken} until {(until - when) / 1e6:.1f} ms later"
                                   for until, other, taken in taken_by[:5])
                self.checker.problem(f"{name}: {hold.run} takes {weight} of {value}, of which {used - weight} of {most} is "
                                     f"taken: {others}")
            self.checker.counts[f"starts at a full {name}"] += used == most
