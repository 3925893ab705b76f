"""The workers of the example shop: one process for each thread of a queue. Sleeping stands for calls to other systems."""
import json
import random
import sys
import time


def order(job, last):
    time.sleep(random.uniform(0.05, 0.3))
    if "response" not in job and last.get("transfer"):
        return {"wait": last["transfer"], "timeout": 3600}  # the bank answers later, by another way
    return {"ok": True}


def call(job, last):
    if "response" in job:
        return {"ok": True}
    return {"wait": f"tel:{job['id']}", "timeout": 1800}


def invoice(job, last):
    time.sleep(0.2)
    if last.get("template") == "invoice-v7":
        return {"error": "TemplateNotFound: invoice-v7\n  in templates/monthly.html, line 12"}
    if random.random() < 0.3:
        return {"error": "SMTP 451: mailbox of the accountant is busy"}
    return {"ok": True}


def webhook(job, last):
    time.sleep(1.6 if last["host"] == "hooks.parcelo.example" else 0.05)
    if random.random() < 0.02:
        return {"error": f"POST https://{last['host']}/events: 503 Service Unavailable"}
    return {"ok": True}


def takes(least, most):
    def work(job, last):
        time.sleep(random.uniform(least, most))
        return {"ok": True}

    return work


WORK = {
    "orders": order,
    "calls": call,
    "search-index": takes(0.02, 0.06),
    "emails": takes(0.01, 0.03),
    "invoices": invoice,
    "webhooks": webhook,
    "crm-sync": takes(0.5, 2.0),
    "thumbnails": takes(0.1, 0.4),
    "refunds": takes(0.1, 0.2),
    "reports": takes(0.1, 0.2),
}

if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        work = WORK[request["queue"]]
        results = {job["id"]: work(job, job["payloads"][-1]) for job in request["jobs"]}
        print(json.dumps({"results": results}), flush=True)
