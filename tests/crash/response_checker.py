"""Judges the responses in a run of the crash suite. Besides the lines that checker.py names:

  {"e":"start",…,"response":{"key","body","message_id"}}   of a run that handles it
  {"e":"expect"|"wait","run","queue","key"}                 a run is about to wait, in its middle or at its end
  {"e":"respond","queue","key","message"}                   a message is about to be sent
  {"e":"answer","queue","key","message","answer"}           what was told of it
"""
import collections

TAKEN = ("accepted", "buffered")


class Message:
    def __init__(self):
        self.open = 0         # sent, and no answer yet
        self.unknown = False  # it was sent, and nobody told what became of it
        self.answer = None    # the first

    @property
    def is_taken(self):
        return self.answer in (*TAKEN, "duplicate")


class Key:
    def __init__(self):
        self.messages = collections.defaultdict(Message)
        self.handled = set()
        self.waited = False
        self.reopened = 0  # runs that waited once more, though no wait before had timed out


class ResponseChecker:
    """A key is the id of its job, which waits for nothing else."""

    def __init__(self, problem, counts):
        self.problem, self.counts = problem, counts
        self.keys = collections.defaultdict(Key)

    def sent(self, line):
        message = self.keys[line["queue"], line["key"]].messages[line["message"]]
        message.unknown = message.unknown or message.open > 0
        message.open = 1

    def answered(self, line):
        """A message is sent by one after the other: what was told first of it counts, unless an answer was lost."""
        message, answer = self.keys[line["queue"], line["key"]].messages[line["message"]], line["answer"]
        message.open = 0
        self.counts[f"responses {answer}"] += 1
        what = f"answer: message {line['message']} to {line['queue']}/{line['key']} was {answer}"
        if message.is_taken and answer != "duplicate":
            self.problem(f"{what}, though it was {message.answer} before")
        if message.answer is None:
            if answer == "duplicate" and not message.unknown:
                self.problem(f"{what}, though it was sent once")
            message.answer = answer

    def began(self, run):
        """A run of a job starts. One without a response reopens what is waited for."""
        key = self.keys.get((run.queue, run.id))
        if run.response:
            self.handles(run, key)
        elif key and key.waited:
            key.reopened += 1

    def waits(self, run):
        self.keys[run.queue, run.id].waited = True

    def timed_out(self, run):
        """The wait before this run was over: whatever comes of it is late."""
        self.keys[run.queue, run.id].reopened -= 1

    def handles(self, run, key):
        name = run.response["message_id"]
        if run.response["key"] != run.id or run.response["body"] != {"key": run.id, "message": name}:
            self.problem(f"response: {run} has that of another: {run.response}")
            return
        message = key.messages.get(name) if key else None
        if not key or not key.waited or message is None:
            self.problem(f"response: {run} has message {name}, which it did not wait for or nobody sent")
            return
        key.handled.add(name)

    def judge(self, is_complete):
        for (queue, name), key in self.keys.items():
            taken = {message for message, known in key.messages.items() if known.is_taken}
            for message in key.handled:
                if key.messages[message].answer == "late":
                    self.problem(f"response: message {message} to {queue}/{name} was handled, and told to be late")
            unhandled = taken - key.handled
            if is_complete and key.waited and len(unhandled) > key.reopened:
                self.problem(f"lost response: {sorted(unhandled)} to {queue}/{name} were taken, and handled was "
                             f"{sorted(key.handled)}; it was reopened {key.reopened} times")
            self.counts["responses handled"] += len(key.handled)
            self.counts["responses dropped with their job"] += key.waited and len(unhandled)
