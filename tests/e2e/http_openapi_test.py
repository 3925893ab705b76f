"""/openapi.json says what there is: each of its examples is sent, and each answer is held against its schema."""
import json
import pathlib
import re
import unittest
import urllib.parse

import jsonschema

from http_test import Http

# Of somebody else's token, or of what ends the node: they are asked for a name that nobody has. There is nothing to log in to.
REFUSED = {("/api/v1/login", "post"): 400, ("/callbacks/{token}", "post"): 401, ("/api/v1/nodes/{id}/quiet", "post"): 404, ("/api/v1/nodes/{id}/stop", "post"): 404,
           ("/api/v1/sources/{name}/reset", "post"): 404}
# Last, as others need what they take away.
LAST = [("/api/v1/queues/{queue}/jobs/{id}/kill", "post"), ("/api/v1/queues/{queue}", "delete")]


class OpenApi(Http):
    def document(self):
        status, _, text = self.ask("GET", "/openapi.json")
        self.assertEqual(status, 200)
        return json.loads(text)

    def test_it_lists_every_route_of_the_sources_with_its_schemas(self):
        self.serve("web", "--listen", "auto")
        document = self.document()
        self.assertEqual(document["openapi"], "3.1.0")
        listed = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
        sources = "".join(file.read_text() for file in (pathlib.Path(__file__).resolve().parents[2] / "src/web").glob("*.cpp") if not file.name.endswith("_test.cpp"))
        written = set(re.findall(r'"(/(?:api|callbacks)/[^"]*)"', sources))
        self.assertEqual({path for _, path in listed if path.startswith(("/api", "/callbacks"))}, written)
        self.assertGreater(len(listed), 45)
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                with self.subTest(path=path, method=method):
                    self.assertIn("application/problem+json", operation["responses"]["default"]["content"])
                    self.assertEqual(len(operation["responses"]), 2)
                    names = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
                    self.assertEqual(names, set(re.findall(r"{(\w+)}", path)))
        for name, schema in document["components"]["schemas"].items():
            with self.subTest(schema=name):
                jsonschema.Draft202012Validator.check_schema(schema)
        used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
        self.assertEqual(used, set(document["components"]["schemas"]))

    def check(self, document, schema, value):
        jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(value)

    def send(self, document, path, method, parameters):
        """Asks with these parameters of the query, and holds the answer against what is promised."""
        operation = document["paths"][path][method]
        target = re.sub(r"{(\w+)}", lambda name: urllib.parse.quote(next(
            each["example"] for each in operation["parameters"] if (each["in"], each["name"]) == ("path", name[1])), safe=""), path)
        if parameters:
            target += "?" + urllib.parse.urlencode(parameters)
        body = None
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]
            self.check(document, content["schema"], content["example"])
            body = content["example"]
        status, headers, text = self.ask(method.upper(), target, body)
        kind = headers["Content-Type"].split(";")[0]
        promised = next(name for name in operation["responses"] if name != "default")
        self.assertEqual(status, REFUSED.get((path, method), int(promised)), f"{method} {target}: {text}")
        content = operation["responses"][promised if str(status) == promised else "default"]["content"]
        self.assertIn(kind, content)
        if kind == "application/x-ndjson":
            for line in text.splitlines():
                self.check(document, document["components"]["schemas"]["NewJob"], json.loads(line))
        elif kind.endswith("json"):
            self.check(document, content[kind]["schema"], json.loads(text))

    def test_every_example_is_answered_as_its_schema_says(self):
        self.config(queue='shards = 2\nmax_retries = 0\nlimit = 5\nlock = "key"\nkeep = "1h"\nrate = { limit = 100, per = "1s" }\nwindows = [{ start = "00:00", end = "24:00" }]',
                    node=self.node_config, more='[periodic.nightly]\nqueue = "orders"\ncron = "0 5 * * *"\n')
        self.answer("""
job = request["jobs"][0]
if job["id"] == "dies":
    return {"ok": False, "error": "no route"}
if job["id"] == "waits":
    return {"results": {"waits": {"wait": "answer", "timeout": 3600}}}
return {"ok": True}""".strip())
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": "dies"}, {"id": "waits"}, {"id": "ends"}], status=201)
        self.until_stats(dead=1, awaiting=1, processed=1)
        self.call("POST", "/queues/orders/jobs", {"id": "42", "payload": {"total": 7}, "run_at": "2035-01-01T00:00:00Z"}, status=201)
        document = self.document()
        operations = [(path, method) for path, methods in document["paths"].items() for method in methods]
        order = {"get": 0, "put": 1, "post": 2, "delete": 3}
        ones = sorted(operations, key=lambda each: (each in LAST and 1 + LAST.index(each), order[each[1]], "cancel" in each[0]))
        sent = 0
        for path, method in ones:
            operation = document["paths"][path][method]
            if path == "/api/v1/events":  # it does not end
                continue
            if path.endswith("/jobs/{id}/cancel") or path.endswith("/{id}/kill") or path.endswith("/{id}/reschedule"):
                self.until("no earlier one runs", lambda: all(job["run_at"] > "2034" for job in self.items("/queues/orders/jobs?id=42")))
                self.call("POST", "/queues/orders/jobs", {"id": "42", "run_at": "2035-01-01T00:00:00Z"}, status=201)
            if path.endswith("/dead/{id}/payload"):
                self.call("POST", "/queues/orders/jobs/42/kill", None, status=202)
                self.until("it is dead", lambda: self.items("/queues/orders/dead?id=42"))
            if path.endswith("/jobs/{id}/payload") and not self.items("/queues/orders/jobs?id=42"):
                self.call("POST", "/queues/orders/jobs", {"id": "42", "run_at": "2035-01-01T00:00:00Z"}, status=201)
            single = [{}] if method != "get" else [{}] + [{each["name"]: each["example"]} for each in operation["parameters"]
                                                         if each["in"] == "query" and "example" in each]
            if path == "/api/v1/queues/{queue}" and method == "delete":
                single = [{"with_jobs": "true"}]
            for parameters in single:
                parameters = {name: str(value).lower() if isinstance(value, bool) else value for name, value in parameters.items()}
                with self.subTest(path=path, method=method, parameters=parameters):
                    self.send(document, path, method, parameters)
                    sent += 1
        self.assertGreater(sent, 80)


if __name__ == "__main__":
    unittest.main()
