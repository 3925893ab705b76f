"""What pages ask for over HTTP: problems, the line of a key, windows, exports, and a reshard."""
import json
import socket
import unittest

from http_test import API, Http

WAITING = "return {'results': {job['id']: {'wait': 'answer', 'timeout': 3600}}} if 'response' not in (job := request['jobs'][0]) else {'ok': True}"


class Problems(Http):
    def problems(self, about=None):
        return [problem for problem in self.call("GET", "/problems") if about is None or about in problem["what"]]

    def problem(self, about):
        return self.until(about, lambda: self.problems(about))[0]

    def test_what_needs_a_person_comes_first_and_goes_when_it_is_mended(self):
        self.config(queue="max_retries = 0", node=self.node_config, more='[queue.slow]\n')
        self.serve("web", "--listen", "auto")
        self.assertEqual(self.problems(), [])
        self.call("POST", "/queues/orders/jobs", [{"id": "1"}, {"id": "2"}], status=201)
        self.call("POST", "/queues/slow/jobs", {"id": "1", "run_at": "2020-01-01T00:00:00Z"}, status=201)
        self.call("POST", "/queues/slow/pause")
        found = self.problem("2 jobs in queue 'orders' wait: no living node serves it")
        self.assertEqual((found["severity"], found["queue"], found["effect"], found["jobs"]), ("person", "orders", "2 jobs wait", 2))
        self.assertEqual(found["action"], {"label": "show waiting jobs", "href": "/why?queue=orders&gate=code"})
        paused = self.problem("'slow' is paused")
        self.assertEqual((paused["severity"], paused["since"], paused["action"]["href"]), ("watch", "2020-01-01T00:00:00Z", "/queues/slow"))
        order = [problem["severity"] for problem in self.problems()]
        self.assertEqual(order, sorted(order))
        doctor = [finding["what"] for finding in self.json("doctor", code=0)]
        self.assertTrue({problem["what"] for problem in self.problems("queue 'orders'")} <= set(doctor), doctor)
        self.answer('return {"ok": False, "error": "no route"}')
        self.start()
        died = self.problem("2 payloads of queue 'orders' died within the last hour")
        self.assertEqual((died["severity"], died["effect"], died["action"]["href"]), ("person", "2 payloads died", "/dead?queue=orders"))
        self.assertIsNotNone(died["since"])
        self.assertEqual(self.problems("no living node serves it and more"), [])
        self.call("POST", "/queues/orders/dead/delete", {"ids": ["1", "2"]})
        self.until("it is mended", lambda: not self.problems("queue 'orders'"))

    def test_who_holds_up_others_for_long_is_named(self):
        self.config(queue="limit = 1", node=self.node_config)
        self.answer(WAITING)
        self.serve("work")
        past = "2020-01-01T00:00:00Z"
        self.call("POST", "/queues/orders/jobs", {"id": "holds", "run_at": past}, status=201)
        self.until_stats(awaiting=1)
        self.call("POST", "/queues/orders/jobs", [{"id": name, "run_at": past} for name in "abc"], status=201)
        found = self.problem("limit 'orders' (1) is used up, and 3 jobs wait for it")
        self.assertEqual((found["severity"], found["queue"], found["action"]["href"]), ("watch", "orders", "/limits?name=orders"))
        self.assertEqual(self.items("/limits")[0]["held_by"], [{"queue": "orders", "id": "holds"}])


class Limits(Http):
    def test_who_has_not_seen_a_change_does_not_undo_it(self):
        self.config(queue="limit = 5", node=self.node_config)
        self.serve("web", "--listen", "auto")

        def version():
            return '"' + self.items("/limits")[0]["version"] + '"'

        def put(limit, seen, status=200):
            return self.call("PUT", "/limits/orders", {"limit": limit}, status=status, headers={"If-Match": seen})
        first = version()
        put(7, first)
        second = version()
        self.assertNotEqual(second, first)
        self.assertIn("look again", put(8, first, status=412)["detail"])
        self.assertEqual(self.items("/limits")[0]["limit"], 7)
        self.call("DELETE", "/limits/orders", status=412, headers={"If-Match": first})
        put(9, "*")
        put(10, "7", status=400)
        self.call("DELETE", "/limits/orders", headers={"If-Match": version()})
        self.assertEqual((version(), self.items("/limits")[0]["limit"]), (first, 5))

    def test_who_has_not_seen_a_change_of_a_queue_does_not_change_it(self):
        self.config(node=self.node_config)
        self.ordo("push", "orders", "--id", "1")
        self.serve("web", "--listen", "auto")

        def change(method, path, seen, body=None, status=200):
            return self.call(method, "/queues/orders" + path, body, status=status, headers={"If-Match": seen})

        def tag():
            return self.ask("GET", API + "/queues/orders")[1]["ETag"]
        first = tag()
        change("POST", "/pause", first)
        self.assertNotEqual(tag(), first)
        self.assertIn("look again", change("DELETE", "?with_jobs=true", first, status=412)["detail"])
        change("POST", "/resume", first, status=412)
        change("POST", "/resume", tag())
        self.assertEqual(tag(), first)
        change("POST", "/reshard", first, {"shards": 3})
        self.assertNotEqual(tag(), first)
        change("POST", "/reshard", first, {"shards": 5}, status=412)
        change("DELETE", "?with_jobs=true", tag())


class Lines(Http):
    def test_the_line_of_a_key_and_the_chain_of_what_holds_it(self):
        self.config(queue='key_order = "strict"\nlock = "/account"\nlock_span = "response"', node=self.node_config)
        self.answer(WAITING)
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", {"id": "holder", "key": "other", "payload": {"account": 7}}, status=201)
        self.until_stats(awaiting=1)
        self.call("POST", "/queues/orders/jobs", [{"id": str(n), "key": "customer:4711/ü", "payload": {"account": 7}} for n in range(4)], status=201)
        path = "/queues/orders/keys/customer%3A4711%2F%C3%BC"
        line = self.until("the gates are told", lambda: (found := self.call("GET", path))["chain"][-1]["id"] == "holder" and found)
        self.assertEqual((line["queue"], line["key"], line["next"]), ("orders", "customer:4711/ü", None))
        self.assertEqual([job["id"] for job in line["items"]], ["0", "1", "2", "3"])
        self.assertEqual([job["id"] for job in line["chain"]], ["0", "holder"])
        self.assertEqual([reason["what"] for reason in line["chain"][0]["waits_for"]], ["lock"])
        self.assertEqual([reason["what"] for reason in line["chain"][1]["waits_for"]], ["response"])
        page = self.call("GET", path + "?limit=3")
        self.assertEqual([job["id"] for job in page["items"]], ["0", "1", "2"])
        rest = self.call("GET", f"{path}?limit=3&cursor={page['next']}")
        self.assertEqual(([job["id"] for job in rest["items"]], rest["next"], rest["chain"]), (["3"], None, []))
        self.assertEqual(self.call("GET", "/queues/orders/keys/nobody")["items"], [])
        self.call("GET", "/queues/nosuch/keys/x", status=404)

    def test_the_chain_goes_on_in_other_queues(self):
        self.config(queue='lock = "/account"\nlock_name = "accounts"\nlock_span = "response"', node=self.node_config,
                    more='[queue.mails]\ncommand = ["python3", "-B", "worker.py"]\nlock = "/account"\nlock_name = "accounts"\nlock_span = "response"\n')
        self.answer(WAITING)
        self.serve("work")
        self.call("POST", "/queues/mails/jobs", {"id": "holder", "payload": {"account": 7}}, status=201)
        self.until_stats("mails", awaiting=1)
        # Of the same name as the holder: it is none.
        self.call("POST", "/queues/orders/jobs", {"id": "holder", "run_at": "2035-01-01T00:00:00Z"}, status=201)
        self.call("POST", "/queues/orders/jobs", {"id": "waits", "key": "k", "payload": {"account": 7}}, status=201)
        line = self.until("the gates are told", lambda: len((found := self.call("GET", "/queues/orders/keys/k"))["chain"]) > 1 and found)
        self.assertEqual([(job["queue"], job["id"], job["state"]) for job in line["chain"]],
                         [("orders", "waits", "queued"), ("mails", "holder", "awaiting")])

    def test_windows_say_when_jobs_may_start(self):
        self.config(queue='windows = [{ start = "05:00", end = "07:00", tz = "Europe/Moscow" }]', node=self.node_config,
                    more='[queue.free]\n[queue.always]\nwindows = [{ start = "00:00", end = "24:00" }]\n')
        self.serve("web", "--listen", "auto")
        found = self.call("GET", "/queues/orders/windows?ahead=72h")
        (view,) = found["items"]
        self.assertEqual((view["kind"], view["windows"][0]["tz"], view["never_opens"]), (None, "Europe/Moscow", False))
        self.assertIn(len(view["openings"]), (3, 4))
        self.assertEqual([each["from"][11:] for each in view["openings"][1:3]], ["02:00:00Z"] * 2)
        self.assertEqual(view["open"], view["closes"] is not None)
        free = self.call("GET", "/queues/free/windows")["items"][0]
        self.assertEqual((free["open"], free["opens"], free["closes"], free["never_opens"]), (True, None, None, False))
        always = self.call("GET", "/queues/always/windows")["items"][0]
        self.assertEqual((always["open"], always["opens"], always["closes"], len(always["openings"])), (True, None, None, 1))
        for path, status in (("/queues/nosuch/windows", 404), ("/queues/orders/windows?ahead=1y", 400), ("/queues/orders/windows?ahead=40d", 400)):
            self.call("GET", path, status=status)

    def test_a_queue_is_resharded(self):
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": str(n), "run_at": "2035-01-01T00:00:00Z"} for n in range(20)], status=201)
        cursor = self.call("GET", "/queues/orders/jobs?limit=5")["next"]
        self.assertEqual(self.call("POST", "/queues/orders/reshard", {"shards": 5}), {"queue": "orders", "from": 2, "to": 5, "entries": 20, "states": 0, "dead": 0})
        self.assertEqual(self.call("GET", "/queues/orders")["shards"], 5)
        self.assertIn("start again without it", self.call("GET", f"/queues/orders/jobs?limit=5&cursor={cursor}", status=410)["detail"])
        for body, status in (({}, 400), ({"shards": 0}, 400), ({"shards": 70_000}, 400), ({"shards": 5, "x": 1}, 400)):
            self.call("POST", "/queues/orders/reshard", body, status=status)
        self.call("POST", "/queues/nosuch/reshard", {"shards": 3}, status=404)


class Exports(Http):
    def lines(self, path):
        status, headers, body = self.ask("GET", API + path)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/x-ndjson"))
        return [json.loads(line) for line in body.splitlines()]

    def test_what_is_exported_is_what_the_command_prints_and_a_push_takes(self):
        self.config(queue="max_retries = 0", node=self.node_config, more='[queue.copy]\n')
        self.answer('return {"ok": False, "error": "no"}')
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": "dies", "payload": {"a": [1, "ü"]}, "priority": 7}], status=201)
        self.until_stats(dead=1)
        jobs = [{"id": f"{n}", "key": f"k{n % 3}", "payload": {"n": n}, "run_at": "2035-01-01T00:00:00Z"} for n in range(3_000)]
        self.call("POST", "/queues/orders/jobs", jobs, status=201)
        for path, command in (("/queues/orders/jobs/export", ["jobs", "orders", "export"]), ("/queues/orders/dead/export", ["dead", "orders", "export"]),
                              ("/queues/orders/jobs/export?key=k1", ["jobs", "orders", "export", "--key", "k1"])):
            printed = [json.loads(line) for line in self.ordo(*command).stdout.splitlines()]
            self.assertEqual(self.lines(path), printed)
        self.assertEqual(len(self.lines("/queues/orders/jobs/export?state=scheduled")), 3_000)
        self.assertEqual(self.lines("/queues/orders/dead/export?id=nobody"), [])
        _, headers, text = self.ask("GET", f"{API}/queues/orders/jobs/export")
        self.assertIn("attachment", headers["Content-Disposition"])
        self.assertEqual(self.call("POST", "/queues/copy/jobs", text, status=201, headers={"Content-Type": "application/x-ndjson"}), {"pushed": 3_000})
        for path, status in (("/queues/nosuch/jobs/export", 404), ("/queues/orders/jobs/export?state=dead", 400), ("/queues/orders/jobs/export?state=done", 400),
                             ("/queues/orders/dead/export?nonsense=1", 400)):
            self.call("GET", path, status=status)

    def test_a_client_of_http_1_0_gets_an_export_without_chunks(self):
        self.serve("web", "--listen", "auto")
        self.call("POST", "/queues/orders/jobs", [{"id": str(n), "run_at": "2035-01-01T00:00:00Z"} for n in range(3_000)], status=201)
        _, _, wanted = self.ask("GET", f"{API}/queues/orders/jobs/export")
        for more in ("", "Connection: keep-alive\r\n"):
            answer = self.raw(f"GET {API}/queues/orders/jobs/export HTTP/1.0\r\nHost: 127.0.0.1:{self.port}\r\n{more}\r\n".encode())
            head, body = answer.split(b"\r\n\r\n", 1)
            self.assertNotIn(b"Transfer-Encoding", head)
            self.assertIn(b"Connection: close", head)
            self.assertEqual(body, wanted)
        kept = f"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:{self.port}\r\nConnection: keep-alive\r\n\r\n".encode()
        self.assertEqual(self.raw(kept + kept, shut=True).count(b"Connection: keep-alive\r\n"), 2)

    def test_a_job_may_be_named_export(self):
        self.serve("web", "--listen", "auto")
        self.call("POST", "/queues/orders/jobs", {"id": "export", "run_at": "2035-01-01T00:00:00Z"}, status=201)
        found = self.call("GET", "/queues/orders/jobs/export", headers={"Accept": "application/json"})
        self.assertEqual([job["id"] for job in found["items"]], ["export"])
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/x-ndjson, application/json"}):
            status, headers, body = self.ask("GET", f"{API}/queues/orders/jobs/export", headers=accept)
            self.assertEqual((status, headers["Content-Type"], json.loads(body)["id"]), (200, "application/x-ndjson", "export"))

    def test_who_does_not_read_an_export_costs_little_and_others_go_on(self):
        self.serve("web", "--listen", "auto")
        lines = b"".join(b'{"id":"%d","payload":"%s"}\n' % (n, b"x" * 20_000) for n in range(2_000))
        self.call("POST", "/queues/orders/jobs", lines, status=201, headers={"Content-Type": "application/x-ndjson"})
        request = f"GET {API}/queues/orders/jobs/export HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
        lazy = []
        for _ in range(8):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", self.port))
            client.sendall(request)
            self.assertTrue(client.recv(15).startswith(b"HTTP/1.1 200"))
            lazy.append(client)
        status, headers, _ = self.ask("GET", f"{API}/queues/orders/jobs/export")
        self.assertEqual((status, headers["Retry-After"]), (429, "10"))
        self.assertEqual(self.call("GET", "/stats")["by_queue"]["orders"]["length"], 2_000)
        for client in lazy:
            client.close()
        self.until("their turns are free", lambda: self.ask("GET", f"{API}/queues/orders/dead/export")[0] == 200)


if __name__ == "__main__":
    unittest.main()
