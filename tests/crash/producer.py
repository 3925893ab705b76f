"""Producers of the chaos: each pushes numbered jobs in a way of its own, and knows what was acknowledged."""
import binascii
import json
import random
import re
import socket
import subprocess
import threading
import time
import zlib

from cluster import ORDO

KEYS = 6       # of each queue
COMMIT = 1000  # lines of `ordo push`


class Caller:
    """Calls `ordo` from a thread of its own, in its words, until `stopping` is set."""

    def __init__(self, name, cluster, seed, stopping):
        self.name, self.cluster, self.stopping = name, cluster, stopping
        self.random = random.Random(f"{seed}-{name}")
        self.doom = None  # the next call is killed (kill -9) so many seconds after its start
        self.killed = 0
        self.error = None
        self.thread = threading.Thread(target=self.run, name=name, daemon=True)

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
        except Exception as error:  # told by the chaos
            self.error = f"{self.name}: {error!r}"

    def command(self, words, stdin=b""):
        with subprocess.Popen(words, cwd=self.cluster.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.cluster.environment) as process:
            doom, self.doom = self.doom, None
            if doom is not None:
                threading.Timer(doom, process.kill).start()
            out, err = process.communicate(stdin)  # one that was killed reads no more
        self.killed += process.returncode == -9
        return process.returncode, out, err

    @staticmethod
    def is_away(err):
        """Whom it called could not be reached: it says so."""
        return any(known in err for known in (b"cannot", b"no connection", b"does not answer"))


class Producer(Caller):
    """Holds back while `full` is set."""
    way = "ordo push"
    spoils = False  # it adds what nobody can read
    gap_s = 0.03

    def __init__(self, cluster, number, seed, stopping, full):
        super().__init__(f"producer {number}", cluster, seed, stopping)
        self.number, self.full = number, full
        self.pushes = {}  # (queue, key, n): what the checker wants to know
        self.spoilt = {}  # what nobody can read: the same
        self.joined = 0   # acknowledged pushes of many payloads of one job
        self.last = {}    # (queue, key): the last number

    def step(self):
        if self.full.is_set():
            self.stopping.wait(0.05)
            return
        self.push(self.batch())
        self.stopping.wait(self.random.expovariate(1 / self.gap_s))

    def batch(self):
        kind = self.random.random()
        size = 1 if kind < 0.3 else self.random.randint(2, 40)
        if kind > 0.98 or self.doom is not None:
            size = 2500  # three commits: a kill hits between them
        queue = "merge" if size > 100 else self.random.choice(["fifo", "merge"])
        keys = self.random.sample(range(KEYS), self.random.randint(1, KEYS))
        return queue, [self.job(queue, f"{queue[0]}{self.number}{self.random.choice(keys)}")
                       for _ in range(size)]

    def job(self, queue, key):
        n = self.last[queue, key] = self.last.get((queue, key), 0) + 1
        self.pushes[queue, key, n] = {"queue": queue, "key": key, "n": n, "attempts": 0, "acked": False}
        payload = {"n": n, "ms": self.duration(queue), "fail": int(self.random.random() < 0.02)}
        return {"id": f"{key}-{n}" if queue == "fifo" else key, "key": key, "score": n, "payload": payload}

    def duration(self, queue):
        """Mostly short, now and then longer than a lease. Payloads of one job run together."""
        kind = self.random.random()
        if queue == "merge":
            kind *= 0.99
        if kind < 0.8:
            return 0
        if kind < 0.96:
            return self.random.randint(1, 20)
        return self.random.randint(50, 300) if kind < 0.996 else self.random.randint(1000, 3000)

    def push(self, batch):
        """What is not acknowledged may be stored or not; half of it is sent again, before anything later. With a server,
        of several commits a later one may be stored and an earlier one lost: sent again, that would come out of turn."""
        queue, jobs = batch
        acknowledged = self.send(queue, jobs)
        may_repeat = len(jobs) <= COMMIT or not self.cluster.server
        while acknowledged < len(jobs) and may_repeat and self.random.random() < 0.5 and not self.stopping.is_set():
            jobs = jobs[acknowledged:]
            acknowledged = self.send(queue, jobs)

    def send(self, queue, jobs):
        """How many of the first were acknowledged."""
        for job in jobs:
            self.pushes[queue, job["key"], job["payload"]["n"]]["attempts"] += 1
        single = len(jobs) == 1
        lines = "".join(json.dumps(job) + "\n" for job in jobs).encode()
        arguments = ["--ndjson", "-"]
        if single:
            job = jobs[0]
            arguments = ["--id", job["id"], "--key", job["key"], "--score", str(job["score"]),
                         "--payload", json.dumps(job["payload"]), *["--critical"] * job.get("critical", False)]
            for option in ("weight", "partition", "lock"):
                arguments += [f"--{option}", job[option]] if option in job else []
        code, out, err = self.command([ORDO, "push", queue, *arguments, "--json"], b"" if single else lines)
        if code == 0:
            pushed = json.loads(out)["pushed"]
            if pushed != len(jobs):
                raise AssertionError(f"pushed {pushed} of {len(jobs)}, exit 0")
        elif code == -9:
            pushed = 0
        else:
            told = re.search(rb"pushed (\d+); line", err)
            pushed = int(told.group(1)) if told else 0
            if not self.is_away(err):
                raise AssertionError(f"a push failed: {err.decode(errors='replace')}")
        for job in jobs[:pushed]:
            self.acknowledge(self.pushes[queue, job["key"], job["payload"]["n"]])
        self.joined += len({job["id"] for job in jobs}) < len(jobs) == pushed <= COMMIT
        return pushed

    @staticmethod
    def acknowledge(push):
        push.update(acked=True, t=time.monotonic_ns())


class SqlProducer(Producer):
    """Pushes in transactions of its own, of which some stay open for a while, and some are rolled back."""
    way = "SQL"
    AWAY = (b"connection", b"starting up", b"recovery mode", b"shutting down", b"read-only transaction", b"during recovery")
    are_queues_there = False  # a node makes them

    def step(self):
        if not self.are_queues_there:
            code, out, _ = self.command([ORDO, "stats", "--json"])
            self.are_queues_there = code == 0 and self.cluster.shards.keys() <= json.loads(out)["by_queue"].keys()
            self.stopping.wait(0.1)
            return
        super().step()

    def send(self, queue, jobs):
        """One transaction: all or none. What is rolled back was never sent."""
        is_kept, pause_s = self.random.random() < 0.8, self.random.choice((0, 0, 0, 0.05, 0.5, 2))
        lines = ["BEGIN;"]
        for job in jobs:
            self.pushes[queue, job["key"], job["payload"]["n"]]["attempts"] += is_kept
            lines.append(f"SELECT ordo_push('{queue}', '{json.dumps(job['payload'])}', id => '{job['id']}', "
                         f"key => '{job['key']}', score => {job['score']});")
        lines += [f"SELECT pg_sleep({pause_s});", "COMMIT;" if is_kept else "ROLLBACK;"]
        server = self.cluster.server
        code, _, err = self.command([f"{server.programs}/psql", "-Xqt", "-v", "ON_ERROR_STOP=1",
                                     server.through(server.proxies[0].port)], "\n".join(lines).encode())
        if code not in (0, -9) and not any(why in err for why in self.AWAY):
            raise AssertionError(f"a transaction failed: {code}: {err.decode(errors='replace')}")
        if code != 0 or not is_kept:
            return 0
        for job in jobs:
            self.acknowledge(self.pushes[queue, job["key"], job["payload"]["n"]])
        return len(jobs)


class XaddProducer(Producer):
    """Pushes as other programs do: one XADD with plain fields for each job, which ?wait=1 becomes a WAIT for. Now and then
    it adds what is no entry of Ordo's, and that first of all."""
    way = "XADD"
    spoils = True
    FIELDS = ("id", "key", "score", "weight", "partition", "lock", "critical")

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.connections, self.master = {}, None  # by port; the last one that was found
        self.ports = [proxy.port for proxy in self.cluster.server.proxies]  # none: sentinels know it
        self.waits = "wait=1" in self.cluster.server.direct

    def send(self, queue, jobs):
        self.doom = None  # nothing to kill
        for done, job in enumerate(jobs):
            is_first = not any(spoilt["acked"] for spoilt in self.spoilt.values())
            if (is_first or self.random.random() < 0.02) and not self.spoil(queue, job["key"]) and is_first:
                return done
            fields = [part for name in self.FIELDS if name in job for part in (name, str(job[name]).lower())]
            push = self.pushes[queue, job["key"], job["payload"]["n"]]
            if not self.xadd(queue, job["key"], [*fields, "payload", json.dumps(job["payload"])], push):
                return done
        return len(jobs)

    def spoil(self, queue, key):
        text = f"x{self.number}-{len(self.spoilt)}"
        self.spoilt[text] = {"attempts": 0, "acked": False}
        return self.xadd(queue, key, ["e", text], self.spoilt[text])

    def xadd(self, queue, key, fields, push):
        """False: nobody has acknowledged it."""
        try:
            for _ in range(100):
                definition = None if self.stopping.is_set() else self.ask("ordo", "HGET", "ordo:{ordo}:queues", queue)
                if definition is None:
                    return False
                number, shards, _ = definition.split(b":")
                place = f"{int(number)}:{zlib.crc32(key.encode()) % int(shards)}"
                push["attempts"] += 1
                if self.ask(place, "XADD", f"ordo:{{{place}}}:log", "NOMKSTREAM", "*", *fields, waits=self.waits):
                    self.acknowledge(push)
                    return True
                push["attempts"] -= 1  # it is being resharded, and nothing was stored
                self.stopping.wait(0.05)
        except (OSError, ValueError):  # lost: it may be stored or not
            self.drop()
            self.stopping.wait(0.05)
        return False

    # As a client of a cluster ---------------------------------------------------------------------------------

    def port_of(self, place):
        if self.ports:
            return self.ports[binascii.crc_hqx(place.encode(), 0) % len(self.ports)]
        if self.master is None:
            try:
                self.master = self.cluster.server.master().port
            except StopIteration:
                raise OSError("the sentinels know no master") from None
        return self.master

    def drop(self):
        self.master = None
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()

    def ask(self, place, *words, waits=False):
        """The reply of whoever has the slot of `place`, confirmed by a replica. Raises OSError."""
        port, asking = self.port_of(place), False
        for _ in range(10):
            commands = [["ASKING"]] * asking + [words] + [["WAIT", "1", "1000"]] * waits
            replies = self.exchange(port, commands)
            reply = replies[asking]
            if not isinstance(reply, OSError):
                if waits and reply is not None and replies[-1] != 1 and replies[-1] != 2:
                    raise OSError("nobody has confirmed it")
                return reply
            what, *more = str(reply).split()
            if what not in ("MOVED", "ASK"):
                raise reply
            port, asking = int(more[1].rpartition(":")[2]), what == "ASK"
        raise OSError("sent from one to the other")

    def exchange(self, port, commands):
        if port not in self.connections:
            self.connections[port] = socket.create_connection(("127.0.0.1", port), 10)
        connection = self.connections[port]
        words = [[str(word).encode() for word in command] for command in commands]
        connection.sendall(b"".join(b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word)
                                                                        for word in command) for command in words))
        with connection.makefile("rb") as replies:
            return [self.reply(replies) for _ in commands]

    @staticmethod
    def reply(replies):
        line = replies.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection is lost")
        kind, value = line[:1], line[1:-2]
        if kind == b"-":
            return OSError(value.decode())
        if kind == b":":
            return int(value)
        if kind == b"+":
            return value
        if int(value) < 0:
            return None
        text = replies.read(int(value) + 2)
        if len(text) != int(value) + 2:
            raise OSError("the connection is lost")
        return text[:-2]
