"""Who may use the HTTP API (docs/http.md): tokens, roles, TLS, sessions, and what is noted of changes."""
import http.client
import json
import re
import resource
import signal
import socket
import ssl
import subprocess
import unittest

from http_events_test import Stream
from http_test import API, Http
from project import ORDO, PATIENCE_S

ROLES = ("viewer", "operator", "admin", "producer", "worker", "responder")


class Guarded(Http):
    """A server with a token of each role, and one of each that is for `orders` alone."""
    web = ""

    def setUp(self):
        super().setUp()
        made = [self.json("token", role, "--role", role) for role in ROLES]
        made += [self.json("token", f"some-{role}", "--role", role, "--queues", "orders,none") for role in ROLES]
        self.secrets = {token["name"]: token["secret"] for token in made}
        lines = ",\n".join(token["config"] for token in made)
        self.tokens = f"[web]\ntokens = [\n{lines}\n]\n"
        self.guard()

    def guard(self, queue="shards = 2", more='[queue.mails]\nshards = 1\n[periodic.nightly]\nqueue = "mails"\ncron = "0 5 * * *"\n'):
        self.config(queue=queue, node=self.node_config, more=self.tokens + self.web + "\n" + more)

    def as_role(self, name):
        return {"Authorization": f"Bearer {self.secrets[name]}"}

    def by(self, name, method, path, body=None, status=200):
        return self.call(method, path, body, status=status, headers=self.as_role(name))


class Tokens(Guarded):
    def test_a_token_is_shown_once_and_the_config_has_its_hash(self):
        text = self.ordo("token", "ci", "--role", "producer", "--queues", "orders,mails").stdout
        secret = re.search(r"^ordo_[\w-]{43}$", text, re.M)[0]
        line = re.search(r'\{ name = "ci", role = "producer", queues = \["orders", "mails"\], sha256 = "([0-9a-f]{64})" \}', text)
        self.assertNotIn(secret, (self.folder / "ordo.toml").read_text())
        hashed = subprocess.run(["sha256sum"], input=secret.encode(), capture_output=True, check=True).stdout.split()[0].decode()
        self.assertEqual(line[1], hashed)
        self.assertIn("ROLE", self.ordo("token", "--help").stdout)
        self.ordo("token", "ci", "--role", "root", code=2)
        self.ordo("token", "ci", code=2)
        self.ordo("token", "No Name", "--role", "viewer", code=2)

    def test_each_role_may_what_it_is_for(self):
        self.serve("web", "--listen", "auto")
        asked = [("GET", "/stats", None, "viewer operator admin"), ("GET", "/audit", None, "viewer operator admin"),
                 ("POST", "/queues/orders/jobs", {"id": "1"}, "operator admin producer"), ("POST", "/queues/orders/pause", None, "operator admin"),
                 ("POST", "/responses/orders/k", {}, "operator admin responder"), ("PUT", "/limits/orders", {"limit": 7}, "admin"),
                 ("DELETE", "/limits/orders", None, "admin"), ("DELETE", "/queues/orders", None, "admin")]
        for method, path, body, allowed in asked:
            for role in ROLES:
                with self.subTest(method=method, path=path, role=role):
                    status = self.ask(method, API + path, body, self.as_role(role))[0]
                    if role in allowed.split():
                        self.assertNotIn(status, (401, 403))
                    else:
                        self.assertEqual(status, 403)
            status, headers, _ = self.ask(method, API + path, body)
            self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(self.ask("GET", "/healthz")[0], 200)
        for path in ("/readyz", "/metrics", "/openapi.json"):
            self.assertEqual(self.ask("GET", path)[0], 401)
            self.assertEqual(self.ask("GET", path, headers=self.as_role("viewer"))[0], 200)
        status, headers, page = self.ask("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))  # it shows nothing by itself
        self.assertNotIn(b"orders", page)
        for wrong in ("Bearer x", "Bearer ", "Basic abc", "Bearer " + self.secrets["admin"] + "x"):
            self.assertEqual(self.ask("GET", API + "/stats", headers={"Authorization": wrong})[0], 401, wrong)

    def test_a_token_for_some_queues_sees_no_other(self):
        self.serve("work")
        for queue in ("orders", "mails"):
            self.by("admin", "POST", f"/queues/{queue}/jobs", {"id": queue, "run_at": "2035-01-01T00:00:00Z"}, status=201)
            self.until_stats(queue, scheduled=1)
        self.assertEqual(list(self.by("some-viewer", "GET", "/stats")["by_queue"]), ["orders"])
        self.assertEqual(self.by("some-viewer", "GET", "/stats")["total"]["scheduled"], 1)
        self.assertEqual(list(self.by("some-viewer", "GET", "/stats?queue=*")["by_queue"]), ["orders"])
        self.by("some-viewer", "GET", "/stats?queue=mails", status=403)
        self.assertEqual([queue["name"] for queue in self.by("some-viewer", "GET", "/queues")["items"]], ["orders"])
        self.assertEqual(self.by("some-viewer", "GET", "/periodic")["items"], [])
        self.assertEqual([node["queues"] for node in self.by("some-viewer", "GET", "/nodes")["items"]], [["orders"]])
        self.assertEqual(self.by("some-viewer", "GET", "/locks")["items"], [])
        self.by("some-viewer", "GET", "/locks?queue=mails", status=403)
        self.assertNotIn("mails", self.ask("GET", "/metrics", headers=self.as_role("some-viewer"))[2].decode())
        self.assertIn("mails", self.ask("GET", "/metrics", headers=self.as_role("viewer"))[2].decode())
        for method, path in (("GET", "/queues/mails/jobs"), ("GET", "/queues/mails/jobs/mails"), ("POST", "/queues/mails/pause"),
                             ("DELETE", "/queues/mails"), ("POST", "/periodic/nightly/run"), ("DELETE", "/limits/mails"), ("POST", "/nodes/x/stop"),
                             ("POST", "/sources/x/reset")):
            self.by("some-admin", method, path, status=403)
        self.by("some-admin", "POST", "/queues/orders/pause")
        self.by("admin", "POST", "/queues/mails/pause")
        seen = self.by("some-viewer", "GET", "/audit")["items"]
        self.assertEqual([(change["who"], change["action"], change["queue"]) for change in seen], [("some-admin", "pause", "orders")])

    def test_addresses_that_others_reach_need_tokens_and_tls(self):
        for web, why in (("[web]\n", "tokens"), (self.tokens, "TLS")):
            self.config(node='listen = "0.0.0.0:0"', more=web)
            refused = self.ordo("work", code=2).stderr
            self.assertRegex(refused, rf"ordo\.toml:3: .*0\.0\.0\.0.*{why}")
            self.config(more=web)
            self.assertRegex(self.ordo("web", "--listen", "0.0.0.0:0", code=2).stderr, why)
        self.config(more="[web]\nbehind_proxy = true")
        self.assertIn("tokens", self.ordo("web", code=2).stderr)
        self.config(more=self.tokens + "behind_proxy = true")
        self.serve("web", "--listen", "0.0.0.0:0")
        forwarded = {"Host": "jobs.example.com", "X-Forwarded-For": "1.2.3.4", "Via": "1.1 proxy"}
        self.assertEqual(self.ask("GET", API + "/stats", headers={**forwarded, **self.as_role("viewer")})[0], 200)
        self.assertEqual(self.ask("GET", API + "/stats", headers=forwarded)[0], 401)

    def test_a_hup_brings_other_tokens(self):
        for command in (["work"], ["web", "--listen", "auto"]):
            with self.subTest(command=command):
                self.guard()
                node = self.serve(*command)
                stream = Stream(self.port, headers="".join(f"{name}: {value}\r\n" for name, value in self.as_role("viewer").items()))
                self.addCleanup(stream.close)
                _, headers, _ = self.ask("POST", API + "/login", {"token": self.secrets["viewer"]})
                cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
                self.assertEqual(self.ask("GET", API + "/stats", headers=cookie)[0], 200)
                made = self.json("token", "fresh", "--role", "viewer")
                self.secrets["fresh"] = made["secret"]
                self.config(queue="shards = 2", node=self.node_config, more=f"[web]\nread_only = true\ntokens = [{made['config']}]\n")
                node.send_signal(signal.SIGHUP)
                self.until("it is read", lambda: self.ask("GET", API + "/stats", headers=self.as_role("fresh"))[0] == 200)
                for old in (cookie, self.as_role("viewer"), self.as_role("admin")):
                    self.assertEqual(self.ask("GET", API + "/stats", headers=old)[0], 401)
                self.assertTrue(self.by("fresh", "GET", "/me")["read_only"])
                self.assertIsNotNone(list(stream.events()), "the stream of a token that is gone ends")
                self.config(queue="shards = 2", node=self.node_config, more="[web]\nbehind_proxy = true\n")
                node.send_signal(signal.SIGHUP)
                self.until("it is refused", lambda: "nothing was changed: " in self.log())
                self.by("fresh", "GET", "/stats")
                node.terminate()
                self.assertEqual(self.end_of(node), 0)

    def test_guessing_is_slowed_down(self):
        self.serve("web", "--listen", "auto")
        guess = self.get("Authorization: Bearer guess\r\n", target=API + "/stats")
        answers = self.raw(guess * 40, shut=True)  # in one go: one is forgiven every 6 s
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answers)]
        self.assertEqual((len(statuses), statuses[:10]), (40, [401] * 10))
        self.assertIn(429, statuses)
        self.assertRegex(answers, rb"Retry-After: [1-9]")
        self.assertEqual(self.ask("GET", "/healthz")[0], 200)


class Callbacks(Http):
    def test_guessing_tokens_of_callbacks_is_slowed_down(self):
        self.answer("return {'results': {job['id']: {'wait': 'k', 'timeout': 3600}}} if 'response' not in (job := request['jobs'][0]) else {'ok': True}")
        self.serve("work")
        guess = f"POST /callbacks/nonsense HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Length: 0\r\n\r\n".encode()
        answers = self.raw(guess * 40, shut=True)
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answers)]
        self.assertEqual((len(statuses), statuses[:10]), (40, [401] * 10))
        self.assertIn(429, statuses)
        self.call("POST", "/queues/orders/jobs", {"id": "1"}, status=201)  # the others go on


class ReadOnly(Guarded):
    web = "read_only = true"

    def test_nothing_is_changed(self):
        self.make_store()
        self.serve("web", "--listen", "auto")
        for method, path, body in (("POST", "/queues/orders/jobs", {"id": "1"}), ("POST", "/queues/orders/pause", None), ("DELETE", "/queues/orders", None),
                                   ("POST", "/queues/orders/dead/delete", {"filter": {}, "count": 0}), ("PUT", "/limits/orders", {"limit": 5})):
            self.assertIn("read_only", self.by("admin", method, path, body, status=403)["detail"])
        self.assertTrue(self.by("admin", "GET", "/me")["read_only"])
        self.assertEqual(self.stats()["length"], 0)


class Sessions(Guarded):
    def log_in(self, name):
        status, headers, _ = self.ask("POST", API + "/login", {"token": self.secrets[name]})
        self.assertEqual(status, 200)
        cookie = headers["Set-Cookie"]
        self.assertRegex(cookie, r"^ordo_session=[\w.-]+; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$")
        return {"Cookie": cookie.split(";")[0]}

    def test_a_session_looks_and_changes_with_the_word_of_its_page(self):
        self.serve("web", "--listen", "auto")
        self.call("GET", "/me", status=401)
        session = self.log_in("operator")
        me = self.call("GET", "/me", headers=session)
        self.assertEqual({**me, "csrf": None}, {"name": "operator", "role": "operator", "queues": None, "read_only": False, "csrf": None})
        self.assertEqual(self.by("some-viewer", "GET", "/me")["queues"], ["orders", "none"])
        self.assertIsNone(self.by("some-viewer", "GET", "/me")["csrf"])
        self.call("GET", "/stats", headers=session)
        self.call("POST", "/queues/orders/pause", headers=session, status=403)
        self.call("POST", "/queues/orders/pause", headers={**session, "X-Ordo-Csrf": "x"}, status=403)
        self.call("POST", "/queues/orders/pause", headers={**session, "X-Ordo-Csrf": me["csrf"]})
        self.call("DELETE", "/queues/orders", headers={**session, "X-Ordo-Csrf": me["csrf"]}, status=403)
        other = self.call("GET", "/me", headers=self.log_in("operator"))["csrf"]
        self.call("POST", "/queues/orders/resume", headers={**session, "X-Ordo-Csrf": other}, status=403)
        status, headers, _ = self.ask("POST", API + "/logout", headers=session)
        self.assertEqual(status, 200)
        self.assertIn("Max-Age=0", headers["Set-Cookie"])
        self.call("POST", "/login", {"token": "wrong"}, status=401)
        self.call("POST", "/login", {}, status=400)

    def test_a_session_is_known_to_all_processes_and_ends_with_its_token(self):
        first = self.serve("web", "--listen", "auto")
        session = self.log_in("viewer")
        first.send_signal(signal.SIGTERM)
        self.end_of(first)
        self.serve("web", "--listen", "auto")
        self.call("GET", "/stats", headers=session)
        self.nodes[-1].send_signal(signal.SIGTERM)
        self.end_of(self.nodes[-1])
        self.tokens = "\n".join(line for line in self.tokens.splitlines() if '"viewer", role' not in line) + "\n"
        self.guard()
        self.serve("web", "--listen", "auto")
        self.call("GET", "/stats", headers=session, status=401)

    def test_the_form_of_the_page_logs_in(self):
        self.serve("web", "--listen", "auto")
        status, headers, page = self.ask("GET", "/login")
        self.assertEqual(status, 200)
        for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'", "connect-src 'self'",
                     "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
            self.assertIn(rule, headers["Content-Security-Policy"])
        self.assertEqual((headers["X-Content-Type-Options"], headers["Referrer-Policy"]), ("nosniff", "no-referrer"))
        self.assertIn(b'method="post"', page)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        status, headers, page = self.ask("POST", "/login", b"token=%3Cwrong%3E", form)
        self.assertEqual((status, headers["Content-Type"]), (401, "text/html; charset=utf-8"))
        self.assertIn(b"no token has this secret", page)
        status, headers, _ = self.ask("POST", "/login", f"token={self.secrets['viewer']}".encode(), form)
        self.assertEqual((status, headers["Location"]), (303, "./"))
        self.assertIn("orders", self.call("GET", "/stats", headers={"Cookie": headers["Set-Cookie"].split(";")[0]})["by_queue"])
        self.assertEqual(self.ask("POST", "/login", b"token=x", {**form, "Origin": "http://evil.example"})[0], 403)


class Loopback(Http):
    def test_without_tokens_all_of_this_machine_are_admins(self):
        self.serve("web", "--listen", "auto")
        self.assertEqual(self.call("GET", "/me"), {"name": "loopback", "role": "admin", "queues": None, "read_only": False, "csrf": None})
        self.call("POST", "/login", {"token": "x"}, status=400)
        self.call("POST", "/queues/orders/jobs", {"id": "1"}, status=201)


class Tls(Guarded):
    web = 'tls_cert = "ordo.crt"\ntls_key = "ordo.key"'

    def make_certificate(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.folder / f"{name}.key", "-out", self.folder / f"{name}.crt"],
                       check=True, capture_output=True, timeout=PATIENCE_S)

    def setUp(self):
        super().setUp()
        self.make_certificate("ordo")
        self.make_certificate("other")
        self.trust = ssl.create_default_context(cafile=str(self.folder / "ordo.crt"))

    def serve(self, *arguments):
        with open(self.folder / "node.log", "ab") as log:
            process = subprocess.Popen([ORDO, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log, env=self.environment())
        self.nodes.append(process)
        self.port = int(self.until("it listens", lambda: re.search(r"listening on https://[\d.]+:(\d+)", self.log()))[1])
        return process

    def ask(self, method, path, body=None, headers=None, port=None):
        connection = http.client.HTTPSConnection("localhost", port or self.port, timeout=PATIENCE_S, context=self.trust)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
            kind = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body=data, headers={**kind, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def test_everything_goes_through_tls(self):
        self.serve("web", "--listen", "0.0.0.0:0")
        self.by("operator", "POST", "/queues/orders/jobs", {"id": "1", "payload": "x" * 900_000}, status=201)
        lines = b"".join(b'{"id":"%d"}\n' % n for n in range(5000))
        status, _, _ = self.ask("POST", API + "/queues/orders/jobs", lines, {"Content-Type": "application/x-ndjson", **self.as_role("producer")})
        self.assertEqual(status, 201)
        self.assertEqual(len(self.by("viewer", "GET", "/queues/orders/jobs?limit=1000")["items"]), 1000)
        status, headers, _ = self.ask("POST", API + "/login", {"token": self.secrets["viewer"]})
        self.assertTrue(headers["Set-Cookie"].endswith("; Secure"))
        self.assertEqual(self.ask("GET", API + "/stats", headers={"Origin": f"https://localhost:{self.port}", **self.as_role("viewer")})[0], 200)
        self.assertEqual(self.ask("GET", API + "/stats", headers={"Origin": f"http://localhost:{self.port}", **self.as_role("viewer")})[0], 403)
        # Two requests on one connection; then one that is refused while its body is on its way.
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE_S, context=self.trust)
        for _ in range(2):
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().read(), b'{"ok":true}\n')
        connection.close()
        self.assertEqual(self.ask("POST", API + "/queues/orders/pause", b"x" * 30_000, self.as_role("operator"))[0], 400)

    def test_a_hup_brings_the_certificate_that_is_there_by_then(self):
        node = self.serve("web", "--listen", "0.0.0.0:0")

        def shown():
            return ssl.get_server_certificate(("127.0.0.1", self.port), timeout=PATIENCE_S)

        before = shown()
        self.make_certificate("ordo")
        self.assertEqual(shown(), before)
        node.send_signal(signal.SIGHUP)
        self.until("the new one is shown", lambda: shown() != before)
        (self.folder / "ordo.crt").write_text("nonsense")
        node.send_signal(signal.SIGHUP)
        self.until("it is refused", lambda: "nothing was changed: " in self.log())
        self.assertNotEqual(shown(), before)

    def test_old_versions_and_plain_text_are_refused(self):
        self.serve("web", "--listen", "0.0.0.0:0")
        self.assertEqual(self.raw(self.get()), b"")
        old = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertNotEqual(old.returncode, 0)
        for version in ("-tls1_2", "-tls1_3"):
            new = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", version], stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(new.returncode, 0, new.stderr)
        self.assertEqual(self.ask("GET", "/healthz")[0], 200)

    def test_what_is_wrong_with_a_certificate_names_the_file(self):
        text = (self.folder / "ordo.toml").read_text()
        for cert, key, named in (("none.crt", "ordo.key", "none.crt"), ("ordo.crt", "none.key", "none.key"), ("ordo.key", "ordo.key", "ordo.key"),
                                 ("ordo.crt", "other.key", "other.key"), ("ordo.crt", "ordo.crt", "ordo.crt")):
            self.write("ordo.toml", text.replace("ordo.crt", cert).replace("ordo.key", key))
            for command in (["web"], ["work"]):
                with self.subTest(cert=cert, key=key, command=command):
                    self.assertIn(named, self.ordo(*command, code=2).stderr)

    def test_connections_of_one_address_are_bounded(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 3000:
            self.skipTest("this process may not open enough files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.serve("web", "--listen", "0.0.0.0:0")
        held = []
        self.addCleanup(lambda: [each.close() for each in held])

        def is_taken(source):
            """Whether a connection of that address is kept: one that is not wanted is closed at once."""
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S, source_address=(source, 0))
            with self.trust.wrap_socket(connection, server_hostname="localhost", do_handshake_on_connect=False) as wrapped:
                try:
                    wrapped.do_handshake()
                except (ssl.SSLError, ConnectionError, OSError):
                    return False
                return True

        self.assertTrue(is_taken("127.0.0.9"))

        def is_full():
            """Connections whose handshake has not begun hold their places for 10 s."""
            while held:
                held.pop().close()
            held.extend(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S, source_address=("127.0.0.9", 0)) for _ in range(1100))
            return not is_taken("127.0.0.9")

        self.until("no more are taken", is_full)
        self.assertTrue(is_taken("127.0.0.8"))
        for each in held:
            each.close()
        self.until("there is room again", lambda: is_taken("127.0.0.9"))


class Veiled(Guarded):
    web = 'redact = ["/card/number"]'

    def test_what_is_redacted_is_shown_nowhere(self):
        self.answer("return {'ok': False, 'error': 'card 4111222233334444 refused'}")
        self.guard(queue='max_retries = 0\nkeep = "1h"', more='[periodic.nightly]\nqueue = "orders"\ncron = "0 5 * * *"\npayload = { card = { number = "4111222233334444" } }\n')
        self.serve("work")
        payload = {"card": {"number": "4111222233334444", "owner": "Ann"}}
        self.by("producer", "POST", "/queues/orders/jobs", [{"id": "dies", "payload": payload}, {"id": "later", "payload": payload, "run_at": "2035-01-01T00:00:00Z"}], status=201)
        self.until_stats(dead=1, scheduled=1)
        for path, shown in (("/queues/orders/jobs", '"owner":"Ann"'), ("/queues/orders/jobs/later", '"owner":"Ann"'), ("/queues/orders/dead", '"owner":"Ann"'),
                            ("/queues/orders/dead/groups", "card [redacted] refused"), ("/queues/orders/jobs/dies", "withheld"),
                            ("/queues/orders/jobs?state=ended", "withheld"), ("/periodic", "[redacted]")):
            status, _, text = self.ask("GET", API + path, headers=self.as_role("admin"))
            self.assertEqual(status, 200)
            self.assertIn(shown, text.decode(), path)
            self.assertNotIn("41112222", text.decode(), path)
        self.assertEqual(self.by("viewer", "GET", "/queues/orders/dead?error=41112222")["items"], [], "nor by guessing")
        self.assertEqual(len(self.by("viewer", "GET", "/queues/orders/dead?error=refused")["items"]), 1)
        self.assertIn("4111222233334444", self.ordo("dead", "orders", "list", "--json").stdout)


    def test_pages_go_on_behind_what_is_not_shown(self):
        self.answer("return {'ok': False, 'error': 'card ' + request['jobs'][0]['payloads'][0]['card']['number'] + request['jobs'][0]['payloads'][0]['more']}")
        self.serve("work")
        hidden = [{"id": f"a{n:02}", "payload": {"card": {"number": "refused"}, "more": ""}} for n in range(30)]
        shown = [{"id": f"b{n}", "payload": {"card": {"number": "4111 2222"}, "more": " refused"}} for n in range(7)]
        self.by("producer", "POST", "/queues/orders/jobs", hidden + shown, status=201)
        self.until_stats(retrying=37)
        first = self.by("viewer", "GET", "/queues/orders/jobs?error=refused&sort=id&limit=5")
        self.assertEqual([job["id"] for job in first["items"]], ["b0", "b1", "b2", "b3", "b4"])
        rest = self.by("viewer", "GET", f"/queues/orders/jobs?error=refused&sort=id&limit=5&cursor={first['next']}")
        self.assertEqual(([job["id"] for job in rest["items"]], rest["next"]), (["b5", "b6"], None))


class Audit(Guarded):
    def test_changes_are_noted_whoever_makes_them(self):
        self.guard(queue="limit = 5", more='[periodic.nightly]\nqueue = "orders"\ncron = "0 5 * * *"\n')
        self.serve("work")
        self.by("admin", "POST", "/queues/orders/jobs", [{"id": name, "payload": "secret", "run_at": "2035-01-01T00:00:00Z"} for name in "abcd"], status=201)
        self.until_stats(scheduled=4)
        self.by("operator", "POST", "/queues/orders/jobs/a/cancel", status=202)
        self.until_stats(scheduled=3)
        self.by("operator", "POST", "/queues/orders/jobs/kill", {"filter": {"state": "scheduled", "key": "b"}, "count": 1}, status=202)
        self.until_stats(dead=1)
        self.by("operator", "POST", "/queues/orders/dead/delete", {"ids": ["b"]})
        self.by("admin", "PUT", "/limits/orders", {"limit": 7})
        self.by("operator", "POST", "/periodic/nightly/pause")
        self.by("viewer", "POST", "/queues/orders/pause", status=403)
        self.by("operator", "POST", "/responses/orders/k", {"paid": "secret"}, status=202)
        self.by("responder", "POST", "/responses/orders/k2", {"paid": "secret"}, status=202)
        self.ordo("pause", "orders")
        self.ordo("pause", "orders")
        self.ordo("job", "orders", "c", "reschedule", "--at", "+2h")
        self.ordo("respond", "orders", "k3", "--body", '"secret"')
        self.ordo("pause", "nosuch", code=1)
        changes = self.json("audit")
        self.assertEqual(changes, self.by("viewer", "GET", "/audit")["items"])
        self.assertNotIn("secret", json.dumps(changes))
        user = changes[0]["who"]
        self.assertTrue(user.startswith("unix:"))
        told = [(change["who"], change["action"], change["queue"], change["filter"], change["count"], change["result"].split(":")[0]) for change in changes]
        self.assertEqual(told[::-1], [
            ("operator", "cancel", "orders", {"id": "a"}, None, "done"),
            ("operator", "kill", "orders", {"state": "scheduled", "key": "b"}, 1, "done"),
            ("operator", "delete_dead", "orders", {"ids": ["b"]}, 1, "done"),
            ("admin", "set_limit", None, {"limit": "orders", "value": 7}, None, "done"),
            ("operator", "pause_periodic", None, {"schedule": "nightly"}, None, "done"),
            ("operator", "respond", "orders", {"key": "k"}, None, "buffered"),
            (user, "pause", "orders", {}, None, "done"),
            (user, "pause", "orders", {}, None, "unchanged"),
            (user, "reschedule", "orders", {"id": "c"}, None, "done"),
            (user, "respond", "orders", {"key": "k3"}, None, "buffered"),
            (user, "pause", "nosuch", {}, None, "failed")])
        page = self.by("viewer", "GET", "/audit?limit=4")
        rest = self.by("viewer", "GET", f"/audit?limit=1000&cursor={page['next']}")
        self.assertEqual(page["items"] + rest["items"], changes)
        self.assertIsNone(rest["next"])
        self.by("viewer", "GET", "/audit?cursor=nonsense", status=400)
        self.assertEqual(len(self.json("audit", "--limit", "2")), 2)
        self.assertIn("unix:", self.ordo("audit").stdout)


if __name__ == "__main__":
    unittest.main()
