"""The queues whose jobs ask for everything: limits, locks and responses. Who pushes to them, and what their config says."""
import collections

from producer import Producer, SqlProducer, XaddProducer

QUEUES = {"calls": 3, "mails": 3}  # and their shards
THREADS = 2                        # of each, on a node
LIMIT, PARTITION_LIMIT, NAMED_LIMIT = 4, 3, 5
ACCOUNTS, REGIONS = 20, ("east", "east", "north", "west")
KEYS = 20  # of each queue
FULL = 30  # jobs waiting in these queues: a blocked one costs others nothing, but all are to be done in the end

# Their workers are commands on every node: no guard ends a thread, and what a limit promises of those is less.
CONFIG = f"""
[limit.crm]
limit = {NAMED_LIMIT}
[queue.calls]
shards = {{calls}}
{{command}}
{{queue}}
threads = {THREADS}
limit = {LIMIT}
partition = "/region"
partition_limit = {PARTITION_LIMIT}
reserve_after = "2s"
limits = ["crm"]
lock = "/account"
lock_name = "accounts"
lock_span = "response"
[queue.mails]
shards = {{mails}}
{{command}}
{{queue}}
threads = {THREADS}
reserve_after = "2s"
limits = ["crm"]
lock = "/account"
lock_name = "accounts"
lock_span = "response"
"""


class LimitedProducer(Producer):
    """Half of the calls wait for a response. `early`: (queue, key) of waits that are answered before anybody waits."""
    way = "ordo push with limits"
    gap_s = 0.15
    asks = True  # a push may say its own weight and the like

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.early = collections.deque()

    def batch(self):
        queue = self.random.choice(list(QUEUES))
        return queue, [self.job(queue, f"{queue[0]}{self.number}{self.random.randrange(KEYS)}")
                       for _ in range(self.random.randint(1, 5))]

    def job(self, queue, key):
        job = super().job(queue, key)
        push, payload = self.pushes[queue, key, job["score"]], job["payload"]
        job["id"] = f"{key}-{job['score']}"
        payload.update(ms=self.random.choice((0, 0, 5, 20, 100, 400)), region=self.random.choice(REGIONS),
                       account=f"a{self.random.randrange(ACCOUNTS)}")
        push.update(weight="1", region=payload["region"], lock=payload["account"], critical=False)
        if self.asks:
            self.ask_for(job, push)
        if queue == "calls" and self.random.random() < 0.5:
            self.let_wait(queue, job)
            push["waits"] = True
        return job

    def ask_for(self, job, push):
        if self.random.random() < 0.5:
            job["weight"] = push["weight"] = self.random.choice(("0.1", "0.5", "2"))
        if self.random.random() < 0.2:
            job["partition"] = push["region"] = self.random.choice(REGIONS)
        if self.random.random() < 0.2:
            job["lock"] = push["lock"] = f"a{self.random.randrange(ACCOUNTS)}"
        if self.random.random() < 0.05:
            job["critical"] = push["critical"] = True

    def let_wait(self, queue, job):
        job["payload"]["wait"] = self.random.choice(("wait", "expect"))
        job["payload"]["flaky"] = int(self.random.random() < 0.1)
        if self.random.random() < 0.2:
            job["payload"]["timeout"] = 0.3
        if self.random.random() < 0.2:
            self.early.append((queue, job["id"]))


class LimitedXaddProducer(LimitedProducer, XaddProducer):
    way = "XADD with limits"


class LimitedSqlProducer(LimitedProducer, SqlProducer):
    way = "SQL with limits"
    asks = False
