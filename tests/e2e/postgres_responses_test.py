"""Responses from inside a transaction, as docs/responses.md has them."""
import os
import pathlib
import re
import unittest

from project import Project

DOCS = pathlib.Path(os.environ.get("ORDO_SOURCE_DIR", ".")) / "docs"

WAITS = """
job = request["jobs"][0]
if "response" in job:
    return {"ok": True}
return {"results": {job["id"]: {"wait": "call-" + job["id"], "timeout": 600}}}
"""


class FromTransactions(Project):
    store = "postgres:"

    def setUp(self):
        super().setUp()
        self.config()
        self.answer(WAITS)

    def waiting(self, count):
        self.push_lines([{"id": str(job_id)} for job_id in range(1, count + 1)])
        node = self.start()
        self.until_stats(awaiting=count, running=0)
        return node

    def responses(self):
        return {job["id"]: job["response"] for request in self.requests() for job in request["jobs"] if "response" in job}

    def test_as_documented(self):
        blocks = re.findall(r"(?ms)^```sql\n(.*?)^```$", (DOCS / "responses.md").read_text())
        [transaction] = [block for block in blocks if "COMMIT;" in block]
        transaction = transaction.replace("'calls'", "'orders'").replace("call-42", "call-1")
        self.server.psql("CREATE TABLE answers(call int, answered boolean);")
        self.waiting(1)
        self.server.psql(transaction.replace("COMMIT;", "ROLLBACK;"))
        self.assertEqual(self.server.psql("SELECT count(*) FROM ordo_response"), "0\n")
        self.assertEqual(self.server.psql(transaction), "7f3a\n")
        self.until_stats(awaiting=0, processed=1)
        self.assertEqual(self.responses(), {"1": {"key": "call-1", "body": {"answered": True}, "message_id": "7f3a"}})
        self.assertEqual(self.server.psql("SELECT * FROM answers"), "42|t\n")
        self.server.psql(transaction)
        self.until("it is said", lambda: "1 duplicate" in (self.folder / "node.log").read_text())
        self.assertEqual(self.stats()["processed"], 1)

    def test_a_node_is_killed_among_them(self):
        node = self.waiting(20)
        self.server.psql("SELECT ordo_respond('orders', 'call-' || i, i::text) FROM generate_series(1, 20) i;")
        self.until("the first is there", self.responses)
        node.kill()
        node.wait()
        self.server.psql("SELECT ordo_respond('orders', 'call-' || i, '\"late\"') FROM generate_series(1, 20) i;")
        self.start()
        self.until_stats(awaiting=0, processed=20)
        self.assertEqual({job: response["body"] for job, response in self.responses().items()},
                         {str(n): n for n in range(1, 21)})
        self.until("the inbox is empty", lambda: self.server.psql("SELECT count(*) FROM ordo_response") == "0\n")
        self.assertEqual(self.stats()["dead"], 0)


if __name__ == "__main__":
    unittest.main()
