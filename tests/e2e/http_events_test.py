"""GET /api/v1/events and /api/v1/stats/history: what happens, as it happens, and what did."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import unittest

from http_test import API, Http
from project import PATIENCE_S


class Stream:
    """A client of /events: what it was told so far."""

    def __init__(self, port, query="", headers="", room=None):
        self.socket = socket.socket()
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(f"GET {API}/events{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while line := self.file.readline().strip():
            name, value = line.decode().split(": ", 1)
            self.headers[name.lower()] = value

    def events(self):
        """(name, data, id) of each, until the other side ends."""
        fields = {}
        for line in self.file:
            text = line.decode().rstrip("\n")
            if not text and "event" in fields:
                yield fields["event"], json.loads(fields["data"]), fields.get("id")
            if not text:
                fields = {}
            elif not text.startswith(":"):
                name, value = text.split(": ", 1)
                fields[name] = value

    def until(self, wanted):
        """The first event that `wanted` takes, and all that came before it."""
        seen = []
        for event in self.events():
            seen.append(event)
            if wanted(*event):
                return seen
        raise AssertionError(f"it ended after {seen[-5:]}")

    def close(self):
        self.file.close()
        self.socket.close()


class Events(Http):
    def listen(self, *arguments, **more):
        stream = Stream(self.port, *arguments, **more)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        return stream

    def test_events_of_this_node_come_with_their_fields(self):
        self.config(queue="shards = 2\nmax_retries = 0", node=self.node_config, more='[queue.other]\ncommand = ["python3", "worker.py"]\n')
        self.answer('return {"ok": request["jobs"][0]["id"] != "dies", "error": "no route\\nto host"}')
        self.serve("work")
        stream = self.listen()
        self.assertEqual(stream.headers["content-type"], "text/event-stream")
        of_other = self.listen("?queue=other")
        only_deaths = self.listen("?event=job_dead&event=stats")
        self.call("POST", "/queues/orders/jobs", [{"id": "well"}, {"id": "dies"}], status=201)
        seen = []
        while {("job_finished", "well"), ("job_dead", "dies")} - {(name, data.get("id")) for name, data, _ in seen}:
            seen += stream.until(lambda name, data, _: name in ("job_finished", "job_dead"))
        told = {(name, data.get("id")): data for name, data, _ in seen}
        started = told["job_started", "well"]
        self.assertEqual((started["queue"], started["kind"], started["key"], started["attempt"]), ("orders", "orders", "well", 1))
        self.assertGreaterEqual(started["waited"], 0)
        self.assertEqual(told["job_dead", "dies"]["error"].split()[0], "no")
        self.assertEqual({name for name, _, _ in only_deaths.until(lambda name, *_: name == "job_dead")}, {"stats", "job_dead"})
        self.call("POST", "/queues/other/pause")
        self.assertEqual({data.get("queue", "other") for name, data, _ in of_other.until(lambda name, *_: name == "queue_paused") if name != "stats"}, {"other"})
        for query in ("?queue=nosuch", "?event=nosuch", "?nosuch=1"):
            self.assertIn(self.ask("GET", f"{API}/events{query}")[0], (400, 404))
        self.assertEqual(self.ask("HEAD", f"{API}/events")[0], 200)

    def test_the_stats_come_whole_and_then_as_they_change(self):
        self.serve("work")
        stream = self.listen("?event=stats")
        first = stream.until(lambda *_: True)[0][1]
        self.assertTrue(first["whole"])
        known = dict(first["by_queue"]["orders"])
        self.assertEqual(known["length"], 0)
        self.call("POST", "/queues/orders/jobs", [{"id": str(n), "run_at": "2035-01-01T00:00:00Z"} for n in range(7)], status=201)
        for _, data, _ in stream.events():
            change = data["by_queue"].get("orders", {})
            self.assertFalse(data["whole"])
            known.update(change)
            if known["scheduled"] == 7:
                break
            self.assertNotEqual(change, known, "nothing but what has changed")
        now = self.call("GET", "/stats")["by_queue"]["orders"]
        self.assertEqual({name: known[name] for name in ("length", "scheduled", "processed", "paused")},
                         {name: now[name] for name in ("length", "scheduled", "processed", "paused")})

    def test_who_comes_back_is_told_what_was_missed(self):
        self.config(queue="max_retries = 0", node=self.node_config)
        self.answer('return {"ok": False, "error": "no"}')
        self.serve("work")
        stream = self.listen("?event=job_dead")
        self.call("POST", "/queues/orders/jobs", {"id": "1"}, status=201)
        last = stream.until(lambda name, *_: name == "job_dead")[-1][2]
        stream.close()
        self.call("POST", "/queues/orders/jobs", {"id": "2"}, status=201)
        self.until_stats(dead=2)
        back = self.listen("?event=job_dead", headers=f"Last-Event-ID: {last}\r\n")
        self.assertEqual([data["id"] for _, data, _ in back.until(lambda name, *_: name == "job_dead")], ["2"])
        of_before = self.listen("?event=job_dead", headers="Last-Event-ID: 1f-99\r\n")
        told = of_before.until(lambda name, data, _: data.get("id") == "2")
        self.assertEqual([(name, data.get("id")) for name, data, _ in told], [("missed", None), ("job_dead", "1"), ("job_dead", "2")])

    def test_a_burst_is_told_as_far_as_it_is_kept_and_the_rest_as_missed(self):
        self.config(node=self.node_config)
        self.serve("work")
        stream = self.listen("?event=job_dead")
        lines = b"".join(b'{"id":"%d","run_at":"2035-01-01T00:00:00Z"}\n' % n for n in range(5_000))
        self.call("POST", "/queues/orders/jobs", lines, status=201, headers={"Content-Type": "application/x-ndjson"})
        self.until_stats(scheduled=5_000)
        self.call("POST", "/queues/orders/jobs/kill", {"filter": {"state": "scheduled"}, "count": 5_000}, status=202)
        self.until_stats(dead=5_000)
        self.call("POST", "/queues/orders/jobs", {"id": "last", "run_at": "2035-01-01T00:00:00Z"}, status=201)
        self.until_stats(scheduled=1)
        self.call("POST", "/queues/orders/jobs/last/kill", status=202)
        told = stream.until(lambda name, data, _: data.get("id") == "last")
        if len(told) < 5_001:  # else the reader was as fast as the burst
            self.assertIn("missed", [name for name, *_ in told])

    def test_who_does_not_read_is_dropped_and_costs_little(self):
        self.config(queue="max_retries = 0\nbatch_size = 100", node=self.node_config)
        self.answer('return {"ok": False, "error": "x" * 190}')
        self.serve("work")
        lazy = self.listen("?event=job_dead&event=job_failed", room=2048)
        lines = b"".join(b'{"id":"%d"}\n' % n for n in range(3_000))
        self.call("POST", "/queues/orders/jobs", lines, status=201, headers={"Content-Type": "application/x-ndjson"})
        self.until("it is dropped", lambda: not self.is_open(lazy))
        self.until_stats(dead=3_000)

    def is_open(self, stream):
        """Whether the server still has the connection, by what the system says of its end."""
        port = stream.socket.getsockname()[1]
        table = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
        return any(row.split()[1].endswith(f":{self.port:04X}") and row.split()[2].endswith(f":{port:04X}") and row.split()[3] == "01" for row in table)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.nodes[0].pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024

    def test_a_thousand_idle_clients_cost_little_memory_and_no_threads(self):
        self.serve("work")
        with contextlib.closing(self.listen("?event=job_dead")) as one:
            self.assertEqual(one.status, 200)  # what all share is there
        threads = len(list(pathlib.Path(f"/proc/{self.nodes[0].pid}/task").iterdir()))
        before = self.memory()
        streams = [self.listen("?event=job_dead&event=queue_pausing") for _ in range(1_000)]
        if "ORDO_SANITIZE" not in os.environ:  # they have room of their own around each piece of memory
            self.assertLess((self.memory() - before) / len(streams), 16 * 1024)
        self.assertLessEqual(len(list(pathlib.Path(f"/proc/{self.nodes[0].pid}/task").iterdir())), threads + 32)  # of the pool that answers
        self.call("POST", "/queues/orders/pause")
        for stream in streams:
            stream.until(lambda name, *_: name == "queue_pausing")
        self.nodes[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.end_of(self.nodes[0]), 0)
        self.assertEqual(list(streams[0].events())[1:], [], "the node ends although they are there")


class History(Http):
    def test_what_happened_is_known_by_queue_and_kind(self):
        self.config(queue="max_retries = 0", node=self.node_config, more='[queue.orders.kind.bill]\n[queue.other]\n')
        self.answer('return {"ok": request["kind"] == "bill", "error": "no"}')
        self.serve("work")
        self.until("it looks", lambda: any(done is not None for done in self.call("GET", "/stats/history")["done"]))
        self.call("POST", "/queues/orders/jobs", [{"id": str(n), "kind": "bill" if n < 5 else "orders"} for n in range(8)], status=201)

        def sums(query):
            found = self.call("GET", f"/stats/history?{query}")
            self.assertEqual(len({len(found[name]) for name in found if name not in ("of", "step")}), 1)
            return {name: sum(x or 0 for x in found[name]) for name in ("pushed", "done", "failed", "dead")}, found

        self.until("all of it is there", lambda: sums("queue=orders")[0] == {"pushed": 8, "done": 5, "failed": 3, "dead": 3})
        self.assertEqual(sums("")[0], {"pushed": 8, "done": 5, "failed": 3, "dead": 3})
        self.assertEqual(sums("queue=other")[0], {"pushed": 0, "done": 0, "failed": 0, "dead": 0})
        of_kind, found = sums("queue=orders&kind=bill")
        self.assertEqual((of_kind["done"], of_kind["failed"], found["of"]), (5, 0, "process"))
        self.assertEqual(set(found["pushed"] + found["lag"]), {None})
        self.assertTrue(any(found["run_p95"]) and any(found["wait_p50"]), found)
        _, minutes = sums("queue=orders&step=60")
        self.assertLessEqual(len(minutes["times"]), 61)
        self.assertTrue(all(at.endswith(":00Z") for at in minutes["times"]))
        _, last = sums("from=-10s&step=1s")
        self.assertIn(len(last["times"]), (10, 11, 12))
        for query, status in (("queue=nosuch", 404), ("step=0", 400), ("step=1.5s", 400), ("from=x", 400), ("n=1", 400)):
            self.call("GET", f"/stats/history?{query}", status=status)


if __name__ == "__main__":
    unittest.main()
