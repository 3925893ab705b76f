"""The shop of the demonstration (examples/shop): each of its queues is held by what it is there to show."""
import http.client
import json
import pathlib
import signal
import subprocess
import sys
import unittest

from project import ORDO, PATIENCE_S, Project

SHOP = pathlib.Path(__file__).resolve().parents[2] / "examples/shop/shop.py"


class Shop(Project):
    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/api/v1" + path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def queues(self):
        return self.get("/stats")["by_queue"]

    def held(self, queue, gate, number):
        self.until(f"{number} jobs of {queue} are held by its {gate}", lambda: self.queues()[queue][gate] >= number)

    def test_every_page_has_something_to_show(self):
        shop = subprocess.Popen([sys.executable, "-B", SHOP, self.folder / "shop", "--listen", "auto"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**self.environment(), "ORDO": ORDO})
        self.nodes.append(shop)
        address = shop.stdout.readline().strip()
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+$")
        self.port = int(address.rpartition(":")[2])

        self.held("calls", "blocked_by_window", 260)
        self.held("thumbnails", "without_code", 192)
        self.held("orders", "blocked_by_key", 22)
        self.held("orders", "blocked_by_lock", 1)
        self.held("crm-sync", "blocked_by_limit", 100)
        self.held("webhooks", "blocked_by_limit", 100)
        self.held("emails", "blocked_by_rate", 1)
        self.assertTrue(self.queues()["refunds"]["paused"])
        self.assertEqual(self.get("/queues/invoices/dead/groups")["items"][0]["count"], 38)
        self.assertEqual(self.get("/queues/orders/waits")["items"][0]["key"], "bank:tx-88120")
        [sick] = self.get("/stats")["failing_nodes"]
        self.assertEqual([each["queue"] for each in sick["cannot_start"]], ["reports"])
        [problem] = [each for each in self.get("/problems") if each["what"].startswith(f"node {sick['id']} cannot start")]
        self.assertEqual((problem["severity"], problem["action"]["href"]), ("person", "/nodes"))
        gate = self.get("/queues/orders/jobs/4711")["items"][0]["waits_for"][0]
        self.assertEqual((gate["what"], gate["held_by"]), ("lock", ["order-90001"]))

        shop.send_signal(signal.SIGTERM)
        self.assertEqual(shop.wait(PATIENCE_S), 0)


if __name__ == "__main__":
    unittest.main()
