"""The HTTP API of `ordo work` and `ordo web` (docs/http.md): what it answers is what the commands print with --json."""
import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import unittest
import urllib.parse

from project import ORDO, PATIENCE_S, Project

API = "/api/v1"


# It refuses unique pushes, and those with an Idempotency-Key.
IS_CLUSTER = os.environ.get("ORDO_E2E_STORE", "").startswith("redis-cluster")


class Http(Project):
    node_config = 'listen = "auto"'

    def setUp(self):
        super().setUp()
        self.config(queue="shards = 2", node=self.node_config)

    def serve(self, *arguments):
        """A process that serves; its port."""
        with open(self.folder / "node.log", "wb") as log:
            process = subprocess.Popen([ORDO, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log, env=self.environment())
        self.nodes.append(process)
        found = self.until("it listens", lambda: re.search(r"listening on http://[\d.]+:(\d+)", self.log()))
        self.port = int(found[1])
        return process

    def ask(self, method, path, body=None, headers=None, port=None):
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE_S)
        try:
            kind = {"Content-Type": "application/json"} if body is not None else {}
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
            connection.request(method, path, body=data, headers={**kind, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def call(self, method, path, body=None, status=200, **more):
        got, headers, text = self.ask(method, API + path, body, **more)
        self.assertEqual(got, status, f"{method} {path}: {text}")
        if status >= 400:
            self.assertEqual(headers["Content-Type"], "application/problem+json")
        return json.loads(text)

    def items(self, path):
        return self.call("GET", path)["items"]

    def raw(self, text, shut=False):
        """What comes back for bytes, until the other side ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection:
            connection.sendall(text)
            if shut:
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
            return answer

    def get(self, more="", target="/healthz", host=None):
        return f"GET {target} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n{more}\r\n".encode()


class Api(Http):
    def test_each_page_of_the_dashboard_is_served_with_its_files(self):
        self.serve("work")
        pages = ("/", "/queues", "/queues/orders", "/queues/orders/keys/customer%3A4711", "/queues/orders/jobs/a%2Fb?kind=k", "/jobs?queue=orders",
                 "/dead", "/why", "/limits", "/windows", "/responses", "/periodic", "/sources", "/nodes", "/audit", "/more")
        files = set()
        for page in pages:
            status, headers, body = self.ask("GET", page)
            self.assertEqual((status, headers["Content-Type"], headers["Cache-Control"]), (200, "text/html; charset=utf-8", "no-cache"), page)
            self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
            found = re.findall(rb' (?:src|href)="([^"]+)"', body)
            self.assertTrue(found, page)
            # As a browser reads them, from the folder of the page.
            files |= {urllib.parse.urljoin("http://here" + page, name.decode()) for name in found}
        self.assertTrue(all(name.startswith("http://here/assets/") for name in files), files)
        self.assertEqual({name.rsplit(".", 1)[1] for name in files}, {"js", "css", "svg", "woff2"})
        for name in files:
            path = name.removeprefix("http://here")
            status, headers, body = self.ask("GET", path)
            self.assertEqual(status, 200)
            self.assertIn("immutable", headers["Cache-Control"])
            self.assertEqual(self.ask("GET", path, headers={"If-None-Match": headers["ETag"]})[0], 304)
            if not path.endswith("woff2"):
                _, packed_headers, packed = self.ask("GET", path, headers={"Accept-Encoding": "gzip"})
                self.assertEqual((packed_headers["Content-Encoding"], gzip.decompress(packed)), ("gzip", body))
        for wrong in ("/assets/none.js", "/assets/..%2Findex.html", "/queues/orders/keys", "/nowhere"):
            self.assertEqual(self.ask("GET", wrong)[0], 404, wrong)

    def test_answers_what_the_commands_print(self):
        self.config(queue='shards = 2\nlimit = 5\nlock = "id"\nmax_retries = 0\nkeep = "1h"', node=self.node_config,
                    more='[periodic.nightly]\nqueue = "orders"\ncron = "0 5 * * *"\n')
        self.answer("""
if request["jobs"][0]["id"] == "dies":
    return {"ok": False, "error": "no route\\nto host"}
if request["jobs"][0]["id"] == "waits":
    return {"results": {"waits": {"wait": "answer", "timeout": 3600}}}
return {"ok": True}""".strip())
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": "dies", "payload": {"a": "ü"}}, {"id": "done"}, {"id": "waits"}], status=201)
        self.call("POST", "/queues/orders/jobs", [{"id": f"later-{n}", "run_at": "2035-01-01T00:00:00Z"} for n in range(30)], status=201)
        self.until_stats(dead=1, awaiting=1, scheduled=30, processed=1)
        same = [("/queues", ["queues"]), ("/nodes", ["nodes"]), ("/limits", ["limits"]), ("/locks", ["locks"]), ("/periodic", ["periodic"]),
                ("/queues/orders/waits", ["waits", "orders"]), ("/queues/orders/dead", ["dead", "orders", "list"]),
                ("/queues/orders/jobs?limit=1000", ["jobs", "orders"]), ("/queues/orders/jobs?state=done", ["jobs", "orders", "--state", "done"]),
                ("/queues/orders/jobs?id=later-7", ["jobs", "orders", "--id", "later-7"]),
                ("/queues/orders/jobs/dies", ["job", "orders", "dies"]), ("/queues/orders/jobs/waits", ["job", "orders", "waits"])]
        for path, command in same:
            # Clocks and heartbeats of nodes move on.
            def look(path=path, command=command):
                return [[{k: v for k, v in item.items() if k not in ("clock", "heartbeat_age")} for item in items] for items in (self.items(path), self.json(*command))]
            self.until(f"{path} and {command} say the same", lambda: len({json.dumps(side) for side in look()}) == 1)
            self.assertTrue(path == "/locks" or self.items(path), path)
        self.until("the stats are the same", lambda: self.call("GET", "/stats")["by_queue"]["orders"]["scheduled"] == self.stats()["scheduled"])
        self.assertEqual(self.call("GET", "/queues/orders")["state"], "running")
        self.assertEqual(self.items("/queues/orders/dead/groups")[0]["error"], "no route")

    def test_lists_go_on_where_they_were(self):
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": f"{n:03}", "run_at": "2035-01-01T00:00:00Z"} for n in range(25)], status=201)
        seen, cursor = [], ""
        while cursor is not None:
            page = self.call("GET", f"/queues/orders/jobs?sort=id&limit=10&cursor={cursor}")
            seen += [job["id"] for job in page["items"]]
            cursor = page["next"]
        self.assertEqual(seen, [f"{n:03}" for n in range(25)])

    def test_jobs_are_changed(self):
        self.serve("work")
        self.until("it owns the shards", lambda: [node["shards"] for node in self.items("/nodes")] == [2])
        self.call("POST", "/queues/orders/pause")
        self.assertEqual(self.call("POST", "/queues/orders/pause"), {"changed": False})
        self.until("the nodes obey", lambda: self.call("GET", "/queues/orders")["state"] == "paused")
        self.call("POST", "/queues/orders/jobs", [{"id": name, "run_at": "2035-01-01T00:00:00Z"} for name in ("a/b", "now", "killed", "m1", "m2")], status=201)
        self.assertEqual(self.call("POST", "/queues/orders/jobs/a%2Fb/cancel", status=202), {"requested": 1})
        self.call("POST", "/queues/orders/jobs/now/run-now", status=202)
        self.call("POST", "/queues/orders/jobs/killed/kill", status=202)
        self.call("POST", "/queues/orders/jobs/m1/reschedule", {"run_at": "2036-01-01T00:00:00Z"}, status=202)
        self.call("POST", "/queues/orders/jobs/none/cancel", status=404)
        self.until_stats(dead=1, scheduled=2, due=1)
        self.assertEqual(self.items("/queues/orders/jobs/m1")[0]["run_at"], "2036-01-01T00:00:00Z")
        asked = self.call("POST", "/queues/orders/jobs/cancel", {"filter": {"state": "scheduled"}, "dry_run": True}, status=202)
        self.assertEqual(asked, {"requested": 0, "count": 2})
        refused = self.call("POST", "/queues/orders/jobs/cancel", {"filter": {"state": "scheduled"}, "count": 7}, status=409)
        self.assertEqual(refused["count"], 2)
        self.call("POST", "/queues/orders/jobs/cancel", {"filter": {"state": "scheduled"}, "count": 2}, status=202)
        self.until_stats(scheduled=0)
        asked = self.call("POST", "/queues/orders/dead/delete", {"filter": {}, "dry_run": True})
        self.assertEqual((asked["changed"], asked["count"]), (0, 1))
        refused = self.call("POST", "/queues/orders/dead/retry", {"filter": {}}, status=409)
        self.assertEqual(refused["count"], 1)
        self.call("POST", "/queues/orders/dead/retry", {"ids": ["none"]}, status=404)
        self.assertEqual(self.call("POST", "/queues/orders/dead/retry", {"filter": {}, "as_of": refused["as_of"], "count": 1}),
                         {"changed": 1, "skipped": [], "missing": []})
        self.until_stats(dead=0, due=2)
        self.call("POST", "/queues/orders/resume")
        self.until_stats(processed=2)

    def test_lines_of_any_number_are_pushed_and_the_bad_one_is_named(self):
        self.serve("web", "--listen", "auto")
        lines = b"".join(b'{"id":"%d","payload":{"n":%d}}\n' % (n, n) for n in range(25_000))
        kind = {"Content-Type": "application/x-ndjson"}
        self.assertEqual(self.call("POST", "/queues/orders/jobs", lines, status=201, headers=kind), {"pushed": 25_000})
        cut = b'{"id":"x1"}\n\n{"id":"x2"}\n{"id":"x3","nonsense":1}\n{"id":"x4"}'
        problem = self.call("POST", "/queues/orders/jobs", cut, status=400, headers=kind)
        self.assertEqual((problem["pushed"], problem["line"]), (2, 4), problem)
        self.assertIn("nonsense", problem["detail"])
        self.until_stats(length=25_002)
        chunks = (lines[at:at + 777] for at in range(0, 77_700, 777))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("POST", API + "/queues/orders/jobs", body=chunks, headers=kind, encode_chunked=True)
        self.assertIn(connection.getresponse().status, (201, 400))  # the last line may be cut
        connection.close()
        self.call("DELETE", "/queues/orders", status=409)
        self.call("DELETE", "/queues/orders?with_jobs=true")
        self.assertEqual(self.stats()["length"], 0)

    def test_the_examples_of_the_page_are_answered(self):
        self.serve("work")
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/http.md").read_text()
        self.push("42"), self.push("44", None, "--at", "+1h")
        commands = re.findall(r"^(?:curl|printf) .*", page, re.M)
        self.assertGreater(len(commands), 20)
        for command in commands:
            with self.subTest(command):
                command = command.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
                done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
                answer = json.loads(done.stdout)
                # Jobs end while they are asked for.
                status = answer.get("status", 200) if isinstance(answer, dict) else 200
                refused = IS_CLUSTER and "Idempotency-Key" in command
                self.assertIn(status, (501,) if refused else (200, 404, 409, 410), done.stdout)

    def test_a_unique_push_that_is_rejected_names_the_job_that_is_there(self):
        self.config(queue='unique = { by = "id", scope = "queued", on_conflict = "reject" }', node=self.node_config)
        self.serve("web", "--listen", "auto")
        self.call("POST", "/queues/orders/jobs", {"id": "one"}, status=501 if IS_CLUSTER else 201)
        if IS_CLUSTER:
            return
        problem = self.call("POST", "/queues/orders/jobs", [{"id": "one"}, {"id": "two"}], status=409)
        self.assertEqual((problem["pushed"], problem["rejected"]), (1, [{"index": 0, "existing": "one"}]))

    def test_a_push_that_comes_twice_under_a_key_is_stored_once(self):
        self.serve("web", "--listen", "auto")

        def push(body, key, status=201, **more):
            return self.call("POST", "/queues/orders/jobs", body, status=status, headers={"Idempotency-Key": key, **more})
        jobs = [{"id": "1"}, {"payload": 7}, {"payload": 7}]
        if IS_CLUSTER:
            push(jobs, "k1", status=501)
            self.assertEqual(self.call("GET", "/stats")["total"]["length"], 0)
            return
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            answers = list(clients.map(lambda _: push(jobs, "k1"), range(8)))
        self.assertEqual((len({json.dumps(answer) for answer in answers}), answers[0]["pushed"], len(set(answers[0]["ids"]))), (1, 3, 3))
        self.assertEqual(self.call("GET", "/stats")["by_queue"]["orders"]["length"], 3)
        self.assertIn("another body", push([{"id": "2"}], "k1", status=422)["detail"])
        self.assertEqual(push({"id": "2"}, "k2"), {"pushed": 1, "ids": ["2"]})
        self.assertEqual(self.call("GET", "/stats")["by_queue"]["orders"]["length"], 4)
        self.end_nodes()
        self.serve("web", "--listen", "auto")
        self.assertEqual(push(jobs, "k1"), answers[0], "another process knows it, too")
        self.assertEqual(self.call("GET", "/stats")["by_queue"]["orders"]["length"], 4)
        push({"id": "3"}, "", status=400)
        push({"id": "3"}, "k" * 129, status=400)
        push([{}] * 1001, "k3", status=413)
        push(b'{"id":"3"}\n', "k3", status=400, **{"Content-Type": "application/x-ndjson"})
        push({"id": "3", "nonsense": 1}, "k3", status=400)
        self.assertEqual(push({"id": "3"}, "k3")["pushed"], 1)

    def test_responses_come_in(self):
        self.answer("return {'results': {job['id']: {'wait': 'k/' + job['id'], 'timeout': 3600}}} if 'response' not in (job := request['jobs'][0]) else {'ok': True}")
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", {"id": "1"}, status=201)
        self.until_stats(awaiting=1)
        answer = {"headers": {"Ordo-Message-Id": "m1"}}
        self.assertEqual(self.call("POST", "/responses/orders/k%2F1", {"paid": True}, status=202, **answer), {"response": "accepted"})
        self.until_stats(processed=1)
        self.assertEqual(self.call("POST", "/responses/orders/k%2F1", {"paid": True}, **answer), {"response": "duplicate"})
        self.call("POST", "/responses/orders/k%2F1", {"paid": False}, status=410)
        self.assertEqual(self.call("POST", "/responses/orders/early", {}, status=202), {"response": "buffered"})
        self.assertEqual([wait["key"] for wait in self.items("/responses/orders?state=buffered")], ["early"])
        status, _, _ = self.ask("POST", "/callbacks/nonsense", {"x": 1})
        self.assertEqual(status, 401)
        response = [job["response"] for request in self.requests() for job in request["jobs"] if "response" in job][0]
        self.assertEqual((response["body"], response["message_id"]), ({"paid": True}, "m1"))


class Door(Http):
    def test_strangers_are_refused(self):
        self.serve("web", "--listen", "auto")
        here = f"127.0.0.1:{self.port}"
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                        {"X-Forwarded-For": "1.2.3.4"}, {"Via": "1.1 proxy"}):
            for method, path in (("GET", "/"), ("GET", API + "/stats"), ("POST", API + "/queues/orders/jobs"), ("GET", "/healthz"), ("GET", "/nowhere")):
                with self.subTest(method=method, path=path, headers=headers):
                    self.assertEqual(self.ask(method, path, {"id": "x"} if method == "POST" else None, headers)[0], 403)
        status, headers, _ = self.ask("GET", "/", headers={"Origin": f"http://{here}", "Sec-Fetch-Site": "same-origin"})
        self.assertEqual(status, 200)
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertNotIn("Access-Control-Allow-Origin", headers)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            self.assertEqual(self.ask("POST", API + "/queues/orders/jobs", b'{"id":"x"}', {"Content-Type": kind})[0], 415)
        self.assertEqual(self.stats()["length"], 0)

    def test_other_addresses_are_refused_before_anything_starts(self):
        for address in ("0.0.0.0:8080", "[::]:8080", "example.com:80", "8080"):
            self.ordo("web", "--listen", address, code=2)
            self.config(node=f'listen = "{address}"')
            self.assertIn("ordo.toml:3", self.ordo("work", code=2).stderr)
        self.config(node=self.node_config)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.ordo("web", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", code=1)

    def test_wrong_requests_have_one_clear_problem(self):
        self.serve("web", "--listen", "auto")
        post = "/queues/orders/jobs"
        wrong = [("GET", "/nowhere", None, 404), ("GET", "/queues/nosuch/jobs", None, 404), ("GET", "/queues/nosuch", None, 404),
                 ("POST", "/queues/nosuch/jobs", {"id": "1"}, 404), ("DELETE", "/stats", None, 405), ("GET", "/queues/orders/jobs?nonsense=1", None, 400),
                 ("GET", "/queues/orders/jobs?limit=0", None, 400), ("GET", "/queues/orders/jobs?limit=x", None, 400), ("GET", "/queues/orders/jobs?limit=1001", None, 400),
                 ("POST", "/queues/orders/pause", {"x": 1}, 400), ("POST", "/queues/orders/jobs/x/cancel", {"state": "running"}, 400),
                 ("POST", "/queues/orders/dead/retry", {"ids": ["1"], "count": 7}, 400), ("POST", "/queues/orders/dead/retry", {"ids": ["1"], "dry_run": True}, 400), ("POST", "/responses/orders/k", b"{bad", 400),
                 ("POST", "/queues/orders/jobs/kill", {"filter": {"state": "running"}, "count": 0}, 400),
                 ("GET", "/queues/orders/jobs?state=nonsense", None, 400), ("GET", "/queues/orders/jobs?sort=x", None, 400),
                 ("GET", "/queues/orders/jobs?since=yesterday", None, 400), ("GET", "/queues/orders/jobs?cursor=nonsense", None, 400),
                 ("GET", "/queues/orders/jobs?state=done&cursor=nonsense", None, 400), ("GET", "/queues/orders/dead?cursor=nonsense", None, 400),
                 ("GET", "/limits?cursor=nonsense", None, 400), ("GET", "/queues/orders/waits?limit=0", None, 400),
                 ("GET", "/queues/orders/jobs/none", None, 404), ("GET", "/%zz", None, 400),
                 ("POST", post, b"{", 400), ("POST", post, b"\xff", 400), ("POST", post, b"[" * 100_000, 400), ("POST", post, b"1", 400),
                 ("POST", post, {"id": "x" * 256}, 400), ("POST", post, {"id": ""}, 400), ("POST", post, [{"id": "a"}, {"idd": "b"}], 400),
                 ("POST", post, {"id": "1", "payload": "x" * 1_100_000}, 400),
                 ("POST", "/queues/orders/dead/retry", {}, 400), ("POST", "/queues/orders/dead/retry", {"ids": 5}, 400),
                 ("POST", "/queues/orders/dead/retry", {"filter": {"nonsense": 1}}, 400), ("POST", "/queues/orders/jobs/cancel", {"filter": {}, "count": 0}, 400),
                 ("POST", "/queues/orders/jobs/x/reschedule", {}, 400), ("PUT", "/limits/orders", {"limit": "x"}, 400), ("PUT", "/limits/none", {"limit": 5}, 404),
                 ("POST", "/nodes/none/quiet", None, 404), ("POST", "/periodic/none/run", None, 404), ("POST", "/responses/orders/" + "k" * 300, {}, 400)]
        for method, path, body, status in wrong:
            with self.subTest(method=method, path=path[:60]):
                self.call(method, path, body, status=status)
        self.call("POST", "/queues/nosuch/jobs", b'{"id":"1"}', status=404, headers={"Content-Type": "application/x-ndjson"})
        self.assertEqual(self.call("GET", "/stats")["by_queue"]["orders"]["length"], 0)
        self.assertIsNone(self.nodes[0].poll())

    def test_short_lists_have_pages(self):
        names = [f"limit-{n:02}" for n in range(25)]
        self.config(node=self.node_config, more="".join(f"[limit.{name}]\nlimit = 1\n" for name in names))
        self.serve("web", "--listen", "auto")
        seen, cursor = [], ""
        while cursor is not None:
            page = self.call("GET", f"/limits?limit=10&cursor={cursor}")
            self.assertEqual(page["total"], 25)
            seen.append([item["name"] for item in page["items"]])
            cursor = page["next"]
        self.assertEqual((sum(seen, []), [len(page) for page in seen]), (names, [10, 10, 5]))


class Attacks(Http):
    def setUp(self):
        super().setUp()
        self.serve("web", "--listen", "auto")

    def statuses(self, answer):
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer)]

    def test_two_lengths_and_tricks_with_chunks_end_the_connection(self):
        head = f"POST {API}/queues/orders/jobs HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
        smuggled = self.get(target="/smuggled").decode()
        for lengths in ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
                        "Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 2, 3\r\n", "Content-Length: -2\r\n", "Content-Length: +2\r\n",
                        "Content-Length: 0x2\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "Transfer-Encoding: xchunked\r\n",
                        "Content-Length: 99999999999999999999\r\n", "Content-Length : 2\r\n", " Content-Length: 2\r\n"):
            with self.subTest(lengths=lengths):
                answer = self.raw((head + lengths + "\r\n{}" + smuggled).encode(), shut=True)
                self.assertEqual(len(self.statuses(answer)), 1, answer)
                self.assertGreaterEqual(self.statuses(answer)[0], 400)
        for chunks in ("zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}X0\r\n\r\n", "FFFFFFFFFFFFFFFFFF\r\n", "-1\r\n{}\r\n0\r\n\r\n"):
            answer = self.raw((head + "Transfer-Encoding: chunked\r\n\r\n" + chunks + smuggled).encode(), shut=True)
            self.assertLessEqual(len(self.statuses(answer)), 1, answer)

    def test_what_stands_between_chunks_is_bounded(self):
        head = f"POST {API}/queues/orders/jobs HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        for endless in ("2;a=", "2\r\n{}\r\n0\r\nA: "):
            self.assertEqual(self.statuses(self.raw((head + endless).encode() + b"x" * 40_000)), [431])
        big = f"POST {API}/queues/orders/dead/retry HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\nContent-Length: 3000000000\r\n\r\n"
        self.assertEqual(self.statuses(self.raw(big.encode())), [413])
        self.assertEqual(self.ask("POST", f"{API}/queues/orders/jobs", [{}] * 10_001)[0], 413)

    def test_headers_are_bounded_and_odd_bytes_are_refused(self):
        for text in (self.get("A: " + "x" * 20_000 + "\r\n"), self.get("".join(f"A{n}: x\r\n" for n in range(5_000))), b"G" * 40_000):
            self.assertIn(self.statuses(self.raw(text))[:1], ([431], [400]))
        for text in (b"\x16\x03\x01\x00\xa5", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"\r\n" * 100 + b"x\r\n\r\n", self.get("A: b\rc\r\n"), self.get("A\x00: b\r\n"),
                     b"GET / HTTP/1.1\r\n\r\n", self.get("A: \x00\r\n"), self.get(target="http://127.0.0.1/healthz"), self.get(target="/../../etc/passwd")):
            answer = self.raw(text, shut=True)
            self.assertTrue(all(status >= 400 for status in self.statuses(answer)), (text, answer))

    def test_requests_in_a_row_are_answered_in_their_order(self):
        answer = self.raw(self.get() + self.get(target="/nowhere") + self.get() + self.get("Connection: close\r\n"))
        self.assertEqual(self.statuses(answer), [200, 404, 200, 200])
        head = self.raw(f"HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())
        self.assertTrue(head.endswith(b"\r\n\r\n"))
        self.assertEqual(self.statuses(self.raw(self.get(), shut=True)), [200])

    def test_idle_and_half_open_connections_hold_up_nobody(self):
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(400)]
        for at, connection in enumerate(idle):
            connection.sendall(self.get()[:at % 30])
        with concurrent.futures.ThreadPoolExecutor(16) as clients:
            pushed = list(clients.map(lambda n: self.ask("POST", f"{API}/queues/orders/jobs", {"id": str(n)})[0], range(200)))
        self.assertEqual(set(pushed), {201})
        for connection in idle:
            connection.close()
        self.until_stats(length=200)

    def test_it_ends_when_it_is_told_although_clients_are_there(self):
        with socket.create_connection(("127.0.0.1", self.port)) as idle:
            self.assertEqual(self.ask("GET", "/readyz")[0], 200)
            self.nodes[0].send_signal(signal.SIGTERM)
            self.assertEqual(self.nodes[0].wait(PATIENCE_S), 0)
            self.assertEqual(idle.recv(1), b"")


if __name__ == "__main__":
    unittest.main()
