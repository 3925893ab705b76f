"""Who answers what jobs of the chaos wait for: early, at once, late, twice, and side by side with another."""
import json
import time
import zlib

from cluster import ORDO
from producer import Caller

TAKEN = ("accepted", "buffered", "duplicate")
NEXT_S = 1  # so long after an answer without a run, another message is sent
TRIES = 3   # of one message, once all is to end


class Responder(Caller):
    """One of several, who share the keys: each sees to it that its own are answered, and answers some of the others', too.

    A message has an id of its own, and is sent again until `ordo respond` says what became of it. A key is answered with other
    messages until the job has run with one: it may have been run again, and wait anew.
    """

    def __init__(self, cluster, number, count, seed, stopping, early):
        super().__init__(f"responder {number}", cluster, seed, stopping)
        self.number, self.count, self.early = number, count, early
        self.waits = {}  # (queue, key): when to answer; for another's key once
        self.read_to = 0
        self.sent = 0

    def step(self):
        self.look()
        now = time.monotonic()
        due = next((wait for wait, when in self.waits.items() if when <= now), None)
        if due is None:
            due = self.next_early()
        if due is None:
            self.stopping.wait(0.05)
            return
        self.answer(*due)
        if due in self.waits:
            self.waits[due] = time.monotonic() + NEXT_S
            if not self.is_own(due[1]):
                del self.waits[due]

    def next_early(self):
        for early in self.early:
            try:
                return early.popleft()
            except IndexError:  # another took it
                continue
        return None

    def is_own(self, key):
        return zlib.crc32(key.encode()) % self.count == self.number

    def look(self):
        """What has begun to wait, and what runs with its response."""
        with open(self.cluster.events, "rb") as file:
            file.seek(self.read_to)
            lines = file.read()
        end = lines.rfind(b"\n") + 1
        self.read_to += end
        for line in lines[:end].splitlines():
            if b'"response":' in line:
                run = json.loads(line)
                self.waits.pop((run["queue"], run["id"]), None)
            elif line.startswith((b'{"e":"expect"', b'{"e":"wait"')):
                wait = json.loads(line)
                self.begin(wait["queue"], wait["key"])

    def begin(self, queue, key):
        if (queue, key) not in self.waits and (self.is_own(key) or self.random.random() < 0.3):
            self.waits[queue, key] = time.monotonic() + self.random.choice((0, 0, 0.1, 0.3, 1))

    def answer(self, queue, key):
        self.sent += 1
        message = f"{self.number}-{self.sent}"
        answer = self.send(queue, key, message)
        if answer in TAKEN and self.random.random() < 0.3:
            self.send(queue, key, message)

    def send(self, queue, key, message):
        """What became of it; None: nobody knows."""
        words = [ORDO, "respond", queue, key, "--body", json.dumps({"key": key, "message": message}), "--message-id", message]
        tries = 0
        while tries < TRIES:
            tries += self.stopping.is_set()
            self.cluster.note("respond", queue=queue, key=key, message=message)
            code, out, err = self.command(words)
            answer = out.decode().strip()
            if answer:
                self.cluster.note("answer", queue=queue, key=key, message=message, answer=answer)
                if code not in (answer == "late", -9):  # it may be killed once it has said so
                    raise AssertionError(f"`ordo respond` said {answer}, exit {code}")
                return answer
            is_refused = b"cannot take a response" in err and b"no queue" not in err
            if code != -9 and (is_refused or not self.is_away(err)):
                raise AssertionError(f"a response failed: {code}: {err.decode(errors='replace')}")
            self.stopping.wait(0.05)
        return None
