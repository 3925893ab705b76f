"""/metrics for Prometheus, and what of it the alerts and the Grafana dashboard in packaging/ ask for."""
import json
import pathlib
import re
import unittest

from http_test import Http

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"


class Metrics(Http):
    def metrics(self):
        """Values by (name, labels)."""
        status, headers, text = self.ask("GET", "/metrics")
        self.assertEqual((status, headers["Content-Type"].split(";")[0]), (200, "text/plain"))
        self.text = text.decode()
        return {(name, tuple(sorted(re.findall(r'(\w+)="([^"]*)"', labels or "")))): float(value)
                for name, labels, value in re.findall(r"^(\w+)(?:{(.*)})? (\S+)$", self.text, re.M)}

    def value(self, found, name, **labels):
        return found.get((name, tuple(sorted(labels.items()))))

    def setUp(self):
        super().setUp()
        self.config(queue="max_retries = 0\nlimit = 3", node=self.node_config, more='[queue.orders.kind.bill]\n')
        self.answer('return {"ok": request["kind"] == "bill", "error": "no"}')
        self.serve("work")
        self.call("POST", "/queues/orders/jobs", [{"id": str(n), "kind": "bill" if n < 5 else "orders"} for n in range(7)], status=201)
        self.call("POST", "/queues/orders/jobs", {"id": "later", "run_at": "2035-01-01T00:00:00Z"}, status=201)
        self.until("all are told", lambda: self.value(found := self.metrics(), "ordo_kind_jobs_done_total", queue="orders", kind="bill") == 5 and
                   self.value(found, "ordo_kind_jobs_dead_total", queue="orders", kind="orders") == 2 and
                   self.value(found, "ordo_jobs_processed_total", queue="orders") == 5)

    def test_queues_and_kinds_are_counted_and_timed(self):
        found = self.metrics()
        self.assertEqual(self.value(found, "ordo_jobs", queue="orders", state="scheduled"), 1)
        self.assertEqual(self.value(found, "ordo_dead_payloads", queue="orders"), 2)
        self.assertEqual(self.value(found, "ordo_kind_runs_failed_total", queue="orders", kind="orders"), 0)  # they are not tried again
        self.assertEqual(self.value(found, "ordo_limit", limit="orders"), 3)
        self.assertEqual(self.value(found, "ordo_jobs_pushed_total", queue="orders"), 8)
        self.call("POST", "/queues/orders/jobs", b'{"id":"9"}\n{"id":"10"}\n{', status=400, headers={"Content-Type": "application/x-ndjson"})
        self.assertEqual(self.value(self.metrics(), "ordo_jobs_pushed_total", queue="orders"), 10)
        for name in ("ordo_run_seconds", "ordo_wait_seconds"):
            buckets = [(float(labels["le"]), value) for (metric, pairs), value in found.items()
                       if metric == name + "_bucket" and (labels := dict(pairs))["kind"] == "bill"]
            self.assertEqual(sorted(buckets)[-1], (float("inf"), 5))
            self.assertEqual([value for _, value in sorted(buckets)], sorted(value for _, value in buckets))
            self.assertEqual(self.value(found, name + "_count", queue="orders", kind="bill"), 5)
            self.assertGreaterEqual(self.value(found, name + "_sum", queue="orders", kind="bill"), 0)
        self.assertEqual(len([name for name, _ in found if name == "ordo_build_info"]), 1)

    def test_what_alerts_and_the_dashboard_ask_for_is_there(self):
        there = set(re.findall(r"^# TYPE (\w+)", (self.metrics() and self.text), re.M))
        there |= {"ordo_node_cannot_write", "ordo_node_stuck_runs"}  # of nodes that have trouble alone
        there |= {"ordo_oldest_due_seconds"}  # of jobs that are due
        dashboard = json.loads((PACKAGING / "grafana/ordo.json").read_text())
        asked = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
        asked += (PACKAGING / "prometheus/alerts.yml").read_text()
        names = {re.sub("_bucket$", "", name) for name in re.findall(r"\bordo_\w+", asked)}
        self.assertGreater(len(names), 12)
        self.assertLessEqual(names, there)


if __name__ == "__main__":
    unittest.main()
