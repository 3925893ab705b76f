"""Prometheus' own tool reads /metrics, and the alerts in packaging/prometheus with their tests."""
import pathlib
import subprocess
import unittest

from http_test import Http
from project import PATIENCE_S

ALERTS = pathlib.Path(__file__).resolve().parents[2] / "packaging/prometheus"


class Promtool(Http):
    def promtool(self, *arguments, text=None):
        done = subprocess.run(["promtool", *arguments], cwd=ALERTS, input=text, capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_takes_the_metrics(self):
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", {"id": "42"}, status=201)
        self.until_stats(processed=1)
        status, _, text = self.ask("GET", "/metrics")
        self.assertEqual(status, 200)
        self.promtool("check", "metrics", text=text)

    def test_it_takes_the_alerts(self):
        self.promtool("check", "rules", "alerts.yml")
        self.promtool("test", "rules", "alerts_test.yml")


if __name__ == "__main__":
    unittest.main()
