"""Runs nodes and producers on one store, kills and stops them at random, and judges what they did.

  python3 tests/crash/chaos.py [SECONDS] [--seed N] [--nodes N] [--keep]
                               [--store sqlite:|redis:|redis-replica:|redis-sentinel:|redis-cluster:|postgres:]

A server is the run's own. It is killed and started again, too, and connections to it are cut, or let nothing
pass for a time. PostgreSQL has a standby, redis-replica: a replica, and each master of a Redis Cluster one, all of which have
what was acknowledged; now and then one takes the place of the first, which died. Of redis-sentinel: the sentinels decide that,
and its master is told to cut connections, as nothing stands before it. Being cut off excuses no node by itself; a server that was away, refused to be connected or
could not be heard may keep it from renewing, as a stall of the machine does. Of a Redis Cluster one member is
killed or silent at a time, until its replica has taken over or it is back, and slots move between the masters.

Before some fail-overs producers hold back until all is done, or for some seconds, and nothing else is done to anybody: a node that
has nothing in flight has to notice it, too.

With --behind who takes over mostly lacks the last seconds, and nobody has waited for it. What was
acknowledged since it fell behind may be lost, and what ended then runs again, in its order. Reshards, limits and responses are left
out.

Two of the queues ask for everything (limited.py): a limit with weights and partitions, one that they share, and locks;
some of their jobs wait for responses, which others send with `ordo respond` (responder.py), and are killed, too.

Now and then a queue gets another number of shards (`ordo reshard`, killed in the middle and run again), whatever
else is done meanwhile. That excuses nobody.

The seed chooses the faults and the jobs; when exactly they hit is up to the machine. A run goes on until each kind of fault that
was planned has hit (coverage.py), and fails if that never happens.
"""
import argparse
import base64
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import limited
from checker import Checker, read_events
from cluster import PLUGIN, Cluster, servers
from coverage import LEAST_ROUNDS, Coverage
from producer import Producer, SqlProducer, XaddProducer
from responder import Responder
from server_faults import ServerFaults

LEASE_MS = 3000
QUEUE = 'max_crashes = 1000\nretry = { strategy = "fixed", delay = "50ms" }'
FULL = 500             # jobs waiting: producers hold back
PATIENCE_S = 600       # for everything to be done after the last fault, on a busy machine, too
JUDGED_S = 1500        # for all of a run in which only some kinds of problems count
RESHARD_S = 300        # for all its attempts, under faults
LOCKED_S = 30          # until the last has told that a node stood still in the lock of the file
CALM_S = 6             # at most, before a fail-over of nodes that have nothing to do
END_S = 150            # for a node after TERM: by its own rules it takes up to 45
JUDGED = {"lost", "overlap"}  # kinds of problems that can be asked for alone, by how they begin
FAULTS = {"kill": 30, "stop": 16, "pause": 12, "term": 14, "kill producer": 16, "kill worker": 10,
          "kill all": 2, "reshard": 10}
# With servers a killed reshard stands in the way for a lease.
SERVER_FAULTS = {**FAULTS, "reshard": 6, "cut connections": 45, "black hole": 8, "restart server": 12}
PAIR_FAULTS = {**SERVER_FAULTS, "fail over": 10}
SENTINEL_FAULTS = {**FAULTS, "reshard": 6, "cut connections": 45, "restart server": 12, "fail over": 10}
# Of who lacks the last seconds, and in a chaos of its own: a reshard that is undone would need somebody to see it. A server
# whose place others take when it is away for a moment would lose what nobody has noted.
BEHIND = {**SERVER_FAULTS, "reshard": 0, "fail over behind": 40}
BEHIND_FAULTS = {"redis-replica:": BEHIND, "postgres:": BEHIND, "redis-cluster:": {**BEHIND, "restart server": 0},
                 "redis-sentinel:": {**BEHIND, "restart server": 0, "black hole": 0}}
# Every write waits for a replica: so each of the first two costs seconds.
CLUSTER_FAULTS = {**FAULTS, "reshard": 6, "cut connections": 25, "black hole": 4, "restart server": 8,
                  "move slot": 40, "fail over": 8}


class Chaos(ServerFaults):
    def __init__(self, seed, nodes=3, store="sqlite:", is_behind=False, judged=()):
        kinds = servers.FALLING_BEHIND if is_behind else servers.FAILING_OVER
        if is_behind and store not in kinds:
            raise SystemExit(f"nobody falls behind of {store}: give one of {list(kinds)}")
        super().__init__(Cluster(store, LEASE_MS, QUEUE, kinds, limited.CONFIG, limited.QUEUES), seed)
        self.seed, self.store = seed, store
        self.is_behind = is_behind
        if not set(judged) <= JUDGED:
            raise SystemExit(f"cannot judge {' '.join(judged)}: give some of {' '.join(JUDGED)}")
        self.judged = tuple(judged)  # nothing: all that there is
        self.notes = []              # problems that are not judged
        self.ends_by = time.monotonic() + JUDGED_S
        self.is_done = False         # everything that was pushed has ended
        self.faults = BEHIND_FAULTS[store] if is_behind else CLUSTER_FAULTS if self.cluster.is_redis_cluster else SENTINEL_FAULTS if store == "redis-sentinel:" else \
            PAIR_FAULTS if store in servers.FAILING_OVER else \
            SERVER_FAULTS if self.cluster.server else FAULTS
        # A store behind a connection notices a death only after a lease: less often, or nothing ever runs.
        self.gap_s = 0.7 if self.cluster.server else 0.5
        self.coverage = Coverage()
        self.counts = self.coverage.hits
        self.last_step = time.monotonic()
        self.busy = {}              # node: what is being done to it
        self.went_on = 0            # when the last node that was stopped did
        self.deadlines = {}         # node: when it must have ended after TERM
        self.killed_in_lock = self.lost_leases = self.not_joined = 0
        self.always = iter([kind for kind in ("fail over behind", "reshard", "fail over") if self.faults.get(kind)])  # also in a short run
        self.calm_since = None      # producers hold back until the next fail-over
        self.backlog_seen = (0, 1)  # when, how many jobs
        self.resharding = None      # the process
        self.resharded_at = 0       # when the config said so
        self.stopping, self.full, self.limited_full, self.done = (threading.Event() for _ in range(4))
        self.producers = [Producer(self.cluster, number, seed, self.stopping, self.full)
                          for number in range(3)]
        asking = [limited.LimitedProducer(self.cluster, 4, seed, self.stopping, self.limited_full)]
        for start, kind, asking_kind in (("redis", XaddProducer, limited.LimitedXaddProducer),
                                         ("postgres", SqlProducer, limited.LimitedSqlProducer)):
            if store.startswith(start):
                self.producers.append(kind(self.cluster, 3, seed, self.stopping, self.full))
                asking.append(asking_kind(self.cluster, 5, seed, self.stopping, self.limited_full))
        if is_behind:
            asking = []  # what is lost of a wait is not judged
        self.producers += asking
        self.responders = [Responder(self.cluster, number, 2, seed, self.done, [each.early for each in asking])
                           for number in range(2)]
        for _ in range(nodes):
            self.start_node()
        self.pushes = {}

    def start_node(self):
        is_thread = PLUGIN.exists() and self.random.random() < 0.5
        self.cluster.start(is_thread)

    def note_problem(self, text):
        (self.notes if self.judged else self.problems).append(text)

    def too_late(self, what):
        """Where only some kinds of problems count, a bound that is over is noted, and one is left: it ends at all."""
        if not self.judged or time.monotonic() > self.ends_by:
            self.problems.append(what)
        elif not any(note.startswith(what.partition(":")[0]) for note in self.notes):
            self.notes.append(what)

    def join(self, thread, name):
        end = time.monotonic() + END_S
        while thread.is_alive():
            thread.join(1)
            if thread.is_alive() and time.monotonic() > end:
                self.too_late(f"{name} does not end")
                if self.problems:
                    return

    def run(self, seconds):
        self.last_step = time.monotonic()
        for caller in [*self.producers, *self.responders]:
            caller.thread.start()
        end = time.monotonic() + seconds
        next_fault = time.monotonic() + 1
        watch = threading.Thread(target=self.watch_backlog, daemon=True)
        watch.start()
        while not self.problems and (time.monotonic() < end or self.calm_since is not None or self.is_owing()):
            self.step()
            now = time.monotonic()
            if now > end + PATIENCE_S:
                self.too_late(f"not after {PATIENCE_S} s more: {self.coverage.owed()}, {self.coverage.rounds} rounds of faults")
            if now >= next_fault and self.calm_since is None and (not self.is_behind or self.is_begun()):
                self.fault(is_over=now >= end)
                next_fault = now + self.random.expovariate(1 / self.gap_s)
            self.stopping.wait(0.01)
        self.stopping.set()
        while self.later and not self.problems:  # nothing here may wait for a node that is to go on
            self.step()
            threading.Event().wait(0.01)
        watch.join()
        self.finish()

    def is_owing(self):
        if self.judged:
            return False
        self.count_killed_callers()
        return self.coverage.owed() or self.coverage.rounds < LEAST_ROUNDS or not self.is_begun()

    def count_killed_callers(self):
        self.counts["kill responder"] = sum(responder.killed for responder in self.responders)
        self.counts["kill producer"] = sum(producer.killed for producer in self.producers) + self.counts["kill responder"]

    def is_begun(self):
        """Every producer has pushed: who falls behind has the tables and the queues."""
        return all(any(push["acked"] for push in list(producer.pushes.values())) for producer in self.producers)

    def watch_backlog(self):
        while not self.stopping.is_set():
            try:
                since = time.monotonic()
                left = self.cluster.unfinished_by_queue()
                self.backlog_seen = (since, sum(left.values()))
                is_calm = self.calm_since is not None
                (self.full.set if is_calm or sum(left.values()) > FULL else self.full.clear)()
                is_full = is_calm or sum(left.get(queue, 0) for queue in limited.QUEUES) > limited.FULL
                (self.limited_full.set if is_full else self.limited_full.clear)()
            except Exception as error:  # told by finish
                if self.cluster.server or self.is_locked(str(error)):
                    continue  # it may have been killed under the question; finish asks again
                self.note_problem(f"stats: {error!r}")
            self.stopping.wait(1)

    def step(self):
        now = time.monotonic()
        if now - self.last_step > 0.5:
            self.cluster.note("stall", since=int(self.last_step * 1e9))  # of the whole machine
        self.last_step = now
        self.do_what_is_due(now)
        for node in list(self.cluster.nodes):
            if node.process.poll() is not None:
                self.ended(node)
            elif now > self.deadlines.get(node, now):
                self.too_late(f"{node.name} does not end after TERM")

    # Faults -------------------------------------------------------------------------------------------------

    def fault(self, is_over):
        """`is_over`: only what is owed yet; kills make room for nodes that it may hit."""
        owed = self.coverage.owed() if is_over else []
        kind = next(self.always, None) or (self.random.choice([*owed, "kill"]) if owed else None)
        kind = kind or self.random.choices(list(self.faults), list(self.faults.values()))[0]
        self.coverage.planned[kind] += 1
        if kind == "kill producer":
            self.random.choice([*self.producers, *self.responders]).doom = 0.003 * 150 ** self.random.random()
            hit = False  # counted there
        elif kind == "kill all":
            hit = True
            for node in list(self.cluster.nodes):
                self.kill(node)
        elif kind == "cut connections":
            hit = self.cut_connections()
        elif kind == "black hole":
            hit = self.black_hole()
        elif kind == "restart server":
            hit = self.restart_server()
        elif kind == "fail over":
            hit = self.calm_down() if self.random.random() < 0.4 else self.fail_over()
        elif kind == "fail over behind":
            hit = self.fail_over(is_behind=True)
        elif kind == "move slot":
            hit = self.move_slot()
        elif kind == "reshard":
            hit = self.reshard()
        else:
            idle = [node for node in self.cluster.nodes if node not in self.busy]
            hit = bool(idle) and getattr(self, kind.replace(" ", "_"))(self.random.choice(idle)) is not False
        self.counts[kind] += hit

    def calm_down(self):
        """The fail-over comes when nobody has anything to do any more, if that is soon."""
        if self.is_down or self.resharding:
            return self.fail_over()
        self.calm_since = since = time.monotonic()
        self.full.set()
        self.limited_full.set()

        def go_on():
            when, count = self.backlog_seen
            is_idle = when > since + 1 and count == 0
            if not is_idle and time.monotonic() < since + CALM_S:
                self.after(0.1, go_on)
                return
            self.calm_since = None
            hit = self.fail_over()
            self.counts["fail over"] += hit
            self.counts["fail over of idle nodes"] += hit and is_idle
        go_on()
        return False  # counted there

    def kill(self, node):
        self.busy.pop(node, None)
        self.cluster.kill(node)
        self.after(0 if self.random.random() < 0.7 else self.random.uniform(0.2, 3), self.start_node)

    def stop(self, node):
        """For longer than the lease, and now and then for longer than one in the write lock may live."""
        self.busy[node] = "stopped"
        self.cluster.send(node, "stop")
        times = self.random.uniform(1.2, 2) if self.random.random() < 0.85 else self.random.uniform(3, 4)
        self.after(times * LEASE_MS / 1000, lambda: self.go_on(node))

    def go_on(self, node):
        if node not in self.cluster.nodes or node.process.poll() is not None:
            return
        self.went_on = time.monotonic()
        if self.random.random() < 0.15:
            self.counts["kill of a stopped node"] += 1
            self.kill(node)
            return
        self.busy.pop(node)
        self.cluster.send(node, "cont")

    def pause(self, node):
        """Shorter than the lease: no excuse for the node itself."""
        self.busy[node] = "paused"
        since = time.monotonic_ns()
        node.process.send_signal(signal.SIGSTOP)

        def go_on():
            if self.busy.pop(node, None):
                node.process.send_signal(signal.SIGCONT)
                self.cluster.note("stall", since=since)
        self.after(self.random.uniform(0.01, 0.15) * LEASE_MS / 1000, go_on)

    def term(self, node):
        self.busy[node] = "terminated"
        self.cluster.send(node, "term")
        self.deadlines[node] = time.monotonic() + END_S

    def kill_worker(self, node):
        """Of a command, which nodes with threads have, too: it is a failure of the job, and nothing else."""
        runs = self.cluster.seen("start", node=node.name, thread=False)[-1:]
        try:
            with open(f"/proc/{runs[0]['pid']}/environ", "rb") as file:
                if f"ORDO_CRASH_NODE={node.name}\0".encode() not in file.read():
                    return False
            self.cluster.note("kill_worker", pid=runs[0]["pid"])
            os.kill(runs[0]["pid"], signal.SIGKILL)
        except (IndexError, OSError):
            return False
        return True

    def cut_in_a_reshard(self):
        if self.resharding:
            self.counts["cut in a reshard"] += self.cut_connections()

    def reshard(self):
        """One at a time, until it is done: now and then it is killed and run again."""
        if self.resharding:
            return False
        self.try_reshard(self.random.choice(list(self.cluster.shards)), self.random.randint(1, 12), 0.6,
                         time.monotonic() + RESHARD_S)
        return True

    def try_reshard(self, queue, shards, chance, end):
        """`chance`: of each harm; less every time, or it would never be done."""
        if self.store.startswith("redis") and self.random.random() < 2 * chance:
            # Whoever closes a log, or looks whether it is closed, is cut off just then.
            for proxy in self.cluster.server.proxies:
                for _ in range(self.random.choice((0, 1, 3))):
                    proxy.cut_at(b":closed", self.random.random() < 0.5)
        process = self.resharding = self.cluster.reshard(queue, shards)
        if self.cluster.server and self.random.random() < chance:
            self.after(0.02 * 75 ** self.random.random(), self.cut_in_a_reshard)
        if self.random.random() < chance:
            self.after(0.02 * 75 ** self.random.random(), process.kill)

        def watch():
            if process.poll() is None:
                if time.monotonic() > end:
                    self.too_late(f"`ordo reshard {queue} {shards}` does not end")
                self.after(0.05, watch)
                return
            told = process.communicate()[0]
            if process.returncode == 0:
                self.cluster.note("resharded", queue=queue)
                self.cluster.shards[queue] = shards
                self.cluster.write_configs()
                self.resharding, self.resharded_at = None, time.monotonic()
                return
            self.counts["kill of a reshard"] += process.returncode == -signal.SIGKILL
            is_over = time.monotonic() > end
            if process.returncode != -signal.SIGKILL and (is_over or not self.may_fail(told)):
                self.note_problem(f"`ordo reshard {queue} {shards}` failed: {process.returncode}: {told}")
            self.after(self.random.uniform(0, 1), lambda: self.try_reshard(queue, shards, chance / 2, end))
        watch()

    def may_fail(self, told):
        """A reshard that could not renew in time, or not reach the server."""
        if "could not renew its leases" in told or "has lost a shard" in told:
            return True
        is_away = any(why in told for why in ("cannot ", "no connection", "does not answer"))
        return self.is_locked(told) or (self.cluster.server and is_away and "reads differently" not in told)

    def is_locked(self, told):
        """Whoever opens a file first after a kill recovers it, in SQLite's own lock: there a node was stopped."""
        is_stopped = "stopped" in self.busy.values() or time.monotonic() - self.went_on < LOCKED_S
        return is_stopped and "another program holds the file's lock" in told

    def ended(self, node):
        """A node is gone that the chaos has not killed."""
        code, doing = node.process.returncode, self.busy.pop(node, None)
        self.cluster.nodes.remove(node)
        self.after(0.5 if self.is_down or self.resharding else 0, self.start_node)
        if doing == "terminated" and self.ended_as_told(node, code):
            return
        self.cluster.note("exit", node=node.name)
        if code == -9 and doing == "stopped":
            self.killed_in_lock += 1
        elif not self.had_to_leave(node, code):
            self.note_problem(f"{node.name} ended by itself with {code} ({doing}): {node.log_text()[-3000:]}")

    def ended_as_told(self, node, code):
        early = code == -signal.SIGTERM and not self.cluster.seen("start", node=node.name)
        return code == 0 or early

    def had_to_leave(self, node, code):
        if code == 1 and "the leases are lost" in node.log_text():
            self.lost_leases += 1
            return True
        if (code == 1 and self.could_not_join(node)) or (code == 2 and self.has_old_config(node)):
            self.not_joined += 1
            return True
        return False

    def has_old_config(self, node):
        """It was started while its queue got another number of shards."""
        since = time.monotonic() if self.resharding else self.resharded_at
        return node.since <= since and "shards in the store and" in node.log_text()

    def could_not_join(self, node):
        """It was started while the store could not be reached: it says so, and to start it again is for others."""
        last = node.log_text().strip().rpartition("\n")[2]
        is_told = last.startswith(("ordo: cannot ", "ordo: no connection")) or "does not answer" in last
        is_told = is_told and (self.cluster.server or self.is_locked(last))
        return is_told and not self.cluster.seen("start", node=node.name)

    # The end ------------------------------------------------------------------------------------------------

    def finish(self):
        for producer in self.producers:
            self.join(producer.thread, f"producer {producer.number}")
            if producer.error:
                self.note_problem(producer.error)
            self.pushes.update(producer.pushes)
        with open(self.cluster.folder / "pushes.ndjson", "w", encoding="utf-8") as file:
            for push in self.pushes.values():
                file.write(json.dumps(push) + "\n")
        self.last_step = time.monotonic()
        end = time.monotonic() + PATIENCE_S
        while not self.problems and (self.judged or not any(responder.error for responder in self.responders)):
            self.is_done = not self.later and not self.is_unfinished()
            if self.is_done:
                break
            self.step()
            if time.monotonic() > end:
                self.too_late(f"not done after {PATIENCE_S} s: {self.what_is_left()}")
            threading.Event().wait(0.05)
        self.done.set()
        for responder in self.responders:
            self.join(responder.thread, responder.name)
            if responder.error:
                self.note_problem(responder.error)
        self.end_nodes()

    def what_is_left(self):
        try:
            return f"{self.cluster.json('stats')['by_queue']}, {self.cluster.json('nodes')}"
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return str(error)

    def is_unfinished(self):
        try:
            return self.cluster.unfinished() > 0
        except (AssertionError, subprocess.TimeoutExpired) as error:
            if not self.judged:
                raise
            self.notes.append(f"stats: {error}")
            return True

    def end_nodes(self):
        for node in self.cluster.nodes:
            node.process.send_signal(signal.SIGCONT)
            node.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + END_S
        for node in list(self.cluster.nodes):
            while node.process.poll() is None and not (self.problems and time.monotonic() > end):
                threading.Event().wait(0.05)
                if time.monotonic() > end:
                    self.too_late(f"{node.name} does not end after TERM")
            code = node.process.returncode
            self.cluster.nodes.remove(node)
            if code is None:
                node.process.kill()
                node.process.wait()
            elif not (self.ended_as_told(node, code) or self.had_to_leave(node, code) or self.problems):
                self.note_problem(f"{node.name} ended with {code} after TERM: {node.log_text()[-3000:]}")

    def judge(self):
        """The text that says what was done and what was found."""
        self.cluster.note_put_backs()
        checker = Checker(self.pushes)
        for problem in checker.check(read_events(self.cluster.folder), is_complete=self.is_done and not self.problems):
            (self.problems if not self.judged or problem.startswith(self.judged) else self.notes).append(problem)
        for note in self.notes[:20]:
            print(f"note, not judged here: {note}", flush=True)
        if not self.problems and not self.judged:
            spoilt = {text: sent for producer in self.producers for text, sent in producer.spoilt.items()}
            checker.look_at_dead(self.dead(), spoilt)
            self.problems += checker.problems
        self.look_at_counts(checker)
        self.count_killed_callers()
        if not self.problems and not self.judged:
            self.problems += self.coverage.problems(read_events(self.cluster.folder), checker, self.producers)
        acked = collections.Counter()
        for producer in self.producers:
            acked[producer.way] += sum(push["acked"] for push in producer.pushes.values())
        found = ", ".join(f"{count} {name}" for name, count in sorted(checker.counts.items()))
        if self.cluster.server:
            self.counts["cut at a closed log"] = sum(proxy.tripped for proxy in self.cluster.server.proxies)
        names = [*self.faults, "kill responder", "kill of a stopped node", "kill of a reshard", "cut in a reshard",
                 "cut at a closed log", *["fail over of idle nodes"] * ("fail over" in self.faults)]
        lines = [f"seed {self.seed}: faults: {self.coverage.text(names)}; nodes that left because their leases were lost "
                 f"{self.lost_leases}, that could not join {self.not_joined}, "
                 f"stopped nodes killed in the write lock {self.killed_in_lock}",
                 f"{sum(acked.values())} pushes acknowledged of {len(self.pushes)} "
                 f"({', '.join(f'{count} with {way}' for way, count in acked.items())}); {found}"]
        if self.problems:
            lines += [f"{len(self.problems)} problems:", *self.problems[:20],
                      f"again: python3 tests/crash/chaos.py --seed {self.seed} --store {self.store}{' --behind' * self.is_behind}; "
                      f"judge again: python3 tests/crash/checker.py {self.cluster.folder}"]
        return "\n".join(lines)

    def look_at_counts(self, checker):
        """A job that ended was counted in the commit of its end: once, whoever else tried."""
        if self.problems or self.judged:
            return
        told = self.cluster.json("stats")["by_queue"]
        for queue in ("fifo", *limited.QUEUES):
            sent = [push for push in self.pushes.values() if push["queue"] == queue]
            least, most = sum(push["acked"] and not checker.may_be_lost(push) for push in sent), sum(push["attempts"] for push in sent)
            if not least <= told[queue]["processed"] <= most:
                self.problems.append(f"counts of {queue}: {told[queue]['processed']} processed; "
                                     f"{least} acknowledged, {most} sent")

    def dead(self):
        """(error kind, payload) of each that died."""
        found = []
        for queue in self.cluster.shards:
            for job in self.cluster.json("dead", queue):
                found += [(job["error_kind"], base64.b64decode(payload["$base64"]).decode()
                           if "$base64" in payload else str(payload)) for payload in job["payloads"]]
        return found


def run(seconds, seed, nodes=3, store="sqlite:", keep=False, is_behind=False, judged=()):
    """True: nothing was wrong, or nothing of the kinds in `judged` (lost, overlap)."""
    print(f"chaos for {seconds} s, seed {seed}, store {store}{', behind' * is_behind}", flush=True)
    chaos = Chaos(seed, nodes, store, is_behind, judged)
    done = False
    try:
        chaos.run(seconds)
        print(chaos.judge(), flush=True)
        done = not chaos.problems
        return done
    finally:
        chaos.cluster.close(keep or not done)


def main():
    parser = argparse.ArgumentParser(description="kill -9 and SIGSTOP of real nodes and producers, judged")
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--store", default="sqlite:",
                        help="sqlite: (a new file), sqlite:FILE, redis:, redis-replica:, redis-sentinel:, redis-cluster: or "
                             "postgres: (new servers)")
    parser.add_argument("--behind", action="store_true", help="who takes over may lack the last seconds")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the log of what happened")
    values = parser.parse_args()
    seed = values.seed if values.seed is not None else random.SystemRandom().randrange(1_000_000)
    sys.exit(0 if run(values.seconds, seed, values.nodes, values.store, values.keep,
                      values.behind) else 1)


if __name__ == "__main__":
    main()
