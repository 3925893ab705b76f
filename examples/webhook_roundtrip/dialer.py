"""The service outside: takes an order to call somebody, and answers later, by another way."""
import collections
import http.server
import json
import random
import subprocess
import threading
import time


class Dialer(http.server.ThreadingHTTPServer):
    """Calls take from `shortest` to `longest` seconds. `ordo` is the command line that answers."""

    daemon_threads = True

    def __init__(self, ordo, shortest, longest):
        super().__init__(("127.0.0.1", 0), Order)
        self.ordo, self.shortest, self.longest = ordo, shortest, longest
        self.lock = threading.Lock()
        self.open = collections.Counter()  # calls by region
        self.most = collections.Counter()  # of these, ever
        self.most_in_all = 0
        self.answered = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/calls"

    def call(self, key, region):
        with self.lock:
            self.open[region] += 1
            self.most[region] = max(self.most[region], self.open[region])
            self.most_in_all = max(self.most_in_all, self.open.total())
        time.sleep(random.uniform(self.shortest, self.longest))
        with self.lock:  # before the answer: what it sets free may be taken at once
            self.open[region] -= 1
        answer = json.dumps({"answered": True})
        done = subprocess.run([*self.ordo, "respond", "calls", key, "--body", answer, "--message-id", key],
                              stdout=subprocess.DEVNULL, check=False)
        with self.lock:
            self.answered += done.returncode == 0


class Order(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        threading.Thread(target=self.server.call, args=(order["key"], order["region"]), daemon=True).start()
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
