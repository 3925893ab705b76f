"""A small shop under load: ten queues, each held by something else. `shop.py FOLDER` makes a config there, starts a node
whose pages can be looked at and another one that cannot start its program, prints the address of the pages once all
troubles are there, and pushes until it is stopped."""
import argparse
import datetime
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ORDO = os.path.abspath(os.environ.get("ORDO") or HERE.parents[1] / "build/release/ordo")
API = "/api/v1"
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CUSTOMERS = [f"customer:{number}" for number in range(4700, 4760)]
HOSTS = ["hooks.parcelo.example", "api.nordpost.example", "events.kite.example"]

CONFIG = """\
store = "{store}"

[node]
listen = "{listen}"
threads = 2

[limit.crm]                            # the CRM takes six calls at a time, whatever queue they come from
limit = 6

[queue.orders]
command = {command}
threads = 4
lock = "/account"
lock_span = "response"                 # an account stays locked until the bank has answered
order = "priority"

[queue.calls]
command = {command}
windows = [{{ start = "09:00", end = "17:30", days = ["{closed_day}"], tz = "Europe/Berlin" }}]
limits = ["crm"]
[queue.calls.kind.callback]            # these may start at any time
windows = [{{ start = "00:00", end = "24:00" }}]

[queue.search-index]
command = {command}
threads = 3

[queue.emails]
command = {command}
rate = {{ limit = 20, per = "1s" }}

[queue.invoices]
command = {command}
max_retries = 6
retry = {{ strategy = "exponential", delay = "20s", cap = "10m" }}
[queue.invoices.kind.monthly]
max_retries = 0

[queue.webhooks]
command = {command}
threads = 4
partition = "/host"
partition_limit = 2

[queue.crm-sync]
command = {command}
threads = 6
limits = ["crm"]

[queue.thumbnails]                     # no node has code for its kind webp
command = {command}

[queue.refunds]
command = {command}

[queue.reports]                        # the second node cannot start its program
command = {command}

[periodic.stock-sync]
queue = "search-index"
every = "1m"
payload = '{{"sync":"stock"}}'

[periodic.month-end]
queue = "invoices"
cron = "0 6 1 * *"
tz = "Europe/Berlin"
kind = "monthly"

[periodic.weekly-digest]
queue = "emails"
cron = "30 7 * * mon"
tz = "Europe/Berlin"
"""


SECOND = "second.toml"  # of a node that was set up badly: the program of its queue is not there
MISSING = ["/opt/reports/bin/make-report"]


class Shop:
    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.number = 90000

    def call(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self.connection.request(method, API + path, body=text, headers={"Content-Type": "application/json"} if text else {})
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {data.decode()}")
        return json.loads(data) if data else None

    def push(self, queue, jobs):
        if jobs:
            self.call("POST", f"/queues/{queue}/jobs", jobs)

    def order(self, customer, **more):
        self.number += 1
        payload = {"total": random.randrange(500, 90000) / 100, "account": f"acc_{random.randrange(20000, 20900)}", **more.pop("payload", {})}
        return {"id": f"order-{self.number}", "key": customer, "payload": payload, **more}

    def open_with_troubles(self):
        """What is there from the beginning, so that each page shows something."""
        self.call("POST", "/queues/refunds/pause")
        self.push("refunds", [{"id": f"refund-{n}", "payload": {"amount": n}} for n in range(58)])
        # order 4711 has an account of its bank locked until the bank answers; all of its customer stand behind it
        bank = self.order("customer:4688", payload={"account": "acc_20931", "transfer": "bank:tx-88120"})
        self.push("orders", [bank])
        self.until(lambda: self.call("GET", "/queues/orders/waits")["items"])
        self.push("orders", [{**self.order("customer:4711", payload={"account": "acc_20931"}), "id": "4711"}])
        self.push("orders", [self.order("customer:4711") for _ in range(22)])
        self.push("orders", [self.order(random.choice(CUSTOMERS), run_at="+%dm" % random.randrange(20, 300)) for _ in range(118)])
        self.push("calls", [{"id": f"call-{n}", "payload": {"phone": f"+49 30 {n}"}} for n in range(55100, 55360)])
        self.push("calls", [{"id": f"callback-{n}", "kind": "callback", "payload": {"phone": f"+49 40 {n}"}} for n in range(3)])
        self.push("thumbnails", [{"id": f"image-{n}", "kind": "webp", "payload": {"image": n}} for n in range(192)])
        self.push("invoices", [{"id": f"invoice-{n}", "kind": "monthly", "payload": {"template": "invoice-v7", "customer": n}}
                               for n in range(38)])
        self.push("invoices", [{"id": f"invoice-{n}", "payload": {"customer": n}} for n in range(1000, 1090)])
        self.push("webhooks", [self.webhook(n, HOSTS[0]) for n in range(240)])
        self.push("crm-sync", [{"id": f"contact:{n}", "payload": {"contact": n}} for n in range(88200, 88500)])
        self.call("POST", "/periodic/weekly-digest/pause")
        self.until(lambda: self.call("GET", "/queues/invoices/dead?limit=1")["items"])
        self.until(lambda: any(node["cannot_start"] for node in self.call("GET", "/stats").get("failing_nodes", [])))

    @staticmethod
    def webhook(number, host):
        return {"id": f"hook-{host}-{number}", "payload": {"host": host, "event": random.choice(["paid", "sent", "returned"])}}

    @staticmethod
    def until(happened):
        while not happened():
            time.sleep(0.1)

    def second(self, tick):
        """The load of one second."""
        free = [customer for customer in CUSTOMERS if customer != "customer:4711"]
        self.push("orders", [self.order(random.choice(free)) for _ in range(random.randrange(12, 20))])
        burst = 90 if 60 < tick % 180 < 120 else 30
        self.push("search-index", [{"id": f"product-{random.randrange(4000)}", "payload": {"stock": tick}} for _ in range(burst)])
        self.push("emails", [{"id": f"mail-{tick}-{n}", "payload": {"to": f"user{n}@example.org"}} for n in range(30 if tick % 60 < 30 else 8)])
        self.push("webhooks", [self.webhook(random.randrange(10**6), random.choice(HOSTS)) for _ in range(9)])
        self.push("crm-sync", [{"id": f"contact:{random.randrange(88200, 99000)}", "payload": {"tick": tick}} for _ in range(4)])
        self.push("reports", [{"id": f"report-{tick}", "payload": {"day": tick}}])
        self.push("thumbnails", [{"id": f"image-{tick}-{n}", "payload": {"image": n}} for n in range(3)])
        if tick % 20 == 0:
            self.push("invoices", [{"id": f"invoice-{2000 + tick}", "payload": {"customer": tick}}])


def write_config(folder, listen, store):
    tomorrow = DAYS[(datetime.date.today().weekday() + 2) % 7]
    command = json.dumps([sys.executable, str(HERE / "worker.py")])
    text = CONFIG.format(store=store, listen=listen, command=command, closed_day=tomorrow)
    (folder / "ordo.toml").write_text(text)
    text = text.replace(f'listen = "{listen}"\n', "")
    reports = "# the second node cannot start its program\ncommand = "
    (folder / SECOND).write_text(text.replace(reports + command, reports + json.dumps(MISSING)))


def usual_address():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8080))
        except OSError:
            return "auto"
    return "127.0.0.1:8080"


def address_of(node, log):
    """Where the node listens; None: it has ended."""
    while node.poll() is None:
        if found := re.search(r"listening on (http://127\.0\.0\.1:(\d+))", log.read_text()):
            return found[1], int(found[2])
        time.sleep(0.05)
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--listen", help="address of the pages (default: 127.0.0.1:8080, or a free port)")
    arguments.add_argument("--store", default="sqlite:shop.db")
    arguments.add_argument("--seconds", type=int, default=0, help="push for so long (default: until it is stopped)")
    options = arguments.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write_config(options.folder, options.listen or usual_address(), options.store)
    log = options.folder / "node.log"
    with open(log, "wb") as file:
        node = subprocess.Popen([ORDO, "work"], cwd=options.folder, stdout=file, stderr=file)
    nodes = [node]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        address = address_of(node, log)
        if not address:
            sys.exit(f"the node has ended:\n{log.read_text()}")
        with open(options.folder / "second.log", "wb") as file:
            nodes.append(subprocess.Popen([ORDO, "work", "--config", SECOND, "--queue", "reports"], cwd=options.folder,
                                          stdout=file, stderr=file))
        shop = Shop(address[1])
        shop.open_with_troubles()
        print(address[0], flush=True)
        tick = 0
        began = time.monotonic()
        while not options.seconds or tick < options.seconds:
            shop.second(tick)
            tick += 1
            time.sleep(max(0.0, began + tick - time.monotonic()))
        node.wait()
    except KeyboardInterrupt:
        pass
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait()


if __name__ == "__main__":
    main()
