"""A node with [source.NAME] runs the jobs that clients of Sidekiq, Verk and Resque push to their Redis."""
import contextlib
import json
import re
import socket
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from project import ORDO, PATIENCE_S, Project, server_of


class SilentToMirrors:
    """A way to a Redis, over sockets of files. It never answers who asks which dead jobs are shown."""

    def __init__(self, server, path):
        self.server, self.asked = server, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            threading.Thread(target=self.pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, False), daemon=True).start()

    def pass_on(self, source, target, heeds):
        is_silent = False
        try:
            while part := source.recv(65536):
                if heeds and not is_silent and b"HKEYS" in part:
                    is_silent = True
                    self.asked += 1
                if not is_silent:
                    target.sendall(part)
        except OSError:
            pass  # the other end is closed
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Source(Project):
    def setUp(self):
        super().setUp()
        self.redis = server_of("redis:")
        if self.store != "redis:":
            self.redis.empty()

    def configure(self, source="", maps='{ class = "Ship", id = "/0", key = "/1" }', key_order="strict"):
        self.config(queue=f"shards = 1\nkey_order = '{key_order}'", more=f"""
[source.rails]
type = "sidekiq"
url = "{self.redis.direct}"
queues = ["default", "low"]
queue = "orders"
{f"map = [{maps}]" if maps else ""}
{source}
""")

    def lpush(self, queue, *jobs):
        self.redis.ask("LPUSH", f"queue:{queue}", *jobs)

    def doctor(self):
        done = subprocess.run([ORDO, "doctor"], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S,
                              env=self.environment(), check=False)
        return done.stdout

    def start_taking(self):
        self.start()
        self.until("it takes", lambda: self.redis.ask("EXISTS", "ordo:taker:rails"))

    def test_jobs_of_a_key_run_in_the_order_of_the_pushes(self):
        self.configure()
        jobs = [json.dumps({"class": "Ship", "args": [f"o{i}", f"k{i % 2}"], "jid": f"j{i}", "n": i}) for i in range(20)]
        self.lpush("default", *jobs[:10])
        self.start_taking()
        self.lpush("default", *jobs[10:])
        self.until_stats(processed=20, length=0, running=0)
        runs = [job for request in self.requests() for job in request["jobs"]]
        for key in ("k0", "k1"):
            self.assertEqual([run["id"] for run in runs if run["key"] == key],
                             [f"o{i}" for i in range(20) if f"k{i % 2}" == key])
        self.assertEqual([run["payloads"] for run in sorted(runs, key=lambda run: run["payloads"][0]["n"])],
                         [[json.loads(job)] for job in jobs])
        self.assertEqual(self.redis.ask("LLEN", "queue:default"), 0)

    def test_jobs_of_verk_and_of_the_sets(self):
        self.configure()
        verk = ('{"args":"[\\"o1\\",\\"k\\"]","class":"Ship","created_at":null,"enqueued_at":1795266824,"error_backtrace":null,'
                '"error_message":null,"failed_at":null,"finished_at":null,"jid":"12","max_retry_count":25,"queue":"low",'
                '"retried_at":null,"retry_count":0}')
        self.lpush("low", verk)
        self.redis.ask("ZADD", "schedule", 1, '{"class":"Other","args":[],"queue":"low","jid":"due"}')
        self.redis.ask("ZADD", "retry", 2, '{"class":"Other","args":[],"queue":"theirs","jid":"other"}')
        self.start_taking()
        self.until_stats(processed=2)
        self.assertEqual(sorted(job for job, _, _ in self.runs()), ["due", "o1"])
        self.assertEqual(self.redis.ask("LRANGE", "queue:theirs", 0, -1), ['{"class":"Other","args":[],"queue":"theirs","jid":"other"}'])

    def test_jobs_of_resque(self):
        self.configure('dialect = "resque"')
        self.redis.ask("RPUSH", "resque:queue:default", '{"class":"Ship","args":["o1","k"]}', '{"class":"Ship","args":["o2","k"]}')
        self.start_taking()
        self.until_stats(processed=2)
        self.assertEqual([job for job, _, _ in self.runs()], ["o1", "o2"])

    def test_what_is_malformed_is_dead_with_the_reason(self):
        self.configure()
        self.lpush("default", "garbage", '{"class":"Ship","args":[]}', '{"class":"Ship","args":["o1","k"]}')
        self.start_taking()
        self.until_stats(processed=1, dead=2)
        dead = self.json("dead", "orders", "list")
        self.assertEqual({job["error_kind"] for job in dead}, {"invalid-push"})
        errors = "\n".join(job["error"] for job in dead)
        self.assertIn("it is no job of Sidekiq: it is no JSON", errors)
        self.assertIn("its arguments have no id at /0", errors)
        said = self.doctor()
        self.assertIn("2 payloads of queue 'orders' died within the last hour", said)
        self.assertNotIn("could not be read", said)  # no version of Ordo could

    def test_retries_are_those_of_the_job(self):
        self.configure()
        self.answer("return {'ok': False, 'error': 'boom'}")
        self.lpush("default", '{"class":"Ship","args":["o1","k"],"retry":0}')
        self.start_taking()
        self.until_stats(dead=1, failed=1)
        self.assertEqual(self.json("dead", "orders", "list")[0]["error"], "boom")

    def test_dead_jobs_that_cannot_be_shown_hold_up_nothing(self):
        self.configure("mirror_dead = true", maps="")
        self.redis.ask("SET", "ordo:mirrored:rails", "not a hash")
        self.start_taking()
        self.until("it says so", lambda: "source 'rails' cannot show its dead jobs to Sidekiq" in self.log())
        self.lpush("default", '{"class":"Note","args":[],"jid":"j"}')
        self.until_stats(processed=1)
        self.assertNotIn("takes nothing", self.log())
        self.redis.ask("DEL", "ordo:mirrored:rails")
        self.until("it goes on", lambda: "it goes on" in self.log())
        self.assertEqual(self.log().count("cannot show its dead jobs to Sidekiq: "), 1)

    def test_a_server_that_does_not_answer_the_mirror_holds_up_no_taking(self):
        server = SilentToMirrors(str(self.redis.path), str(self.folder / "silent.sock"))
        self.addCleanup(server.close)
        self.configure("mirror_dead = true", maps="")
        text = (self.folder / "ordo.toml").read_text()
        store, section, source = text.partition("[source.rails]")
        self.write("ordo.toml", store + section + source.replace(self.redis.direct, f"redis+unix://{self.folder}/silent.sock"))
        pushed = 0

        def runs_meanwhile():
            nonlocal pushed
            asked = server.asked
            self.start()
            self.until("it asks", lambda: server.asked > asked)
            pushed += 1
            self.lpush("default", f'{{"class":"Note","args":[],"jid":"j{pushed}"}}')
            self.until_stats(processed=pushed)
            has_given_up = "cannot show its dead jobs to Sidekiq" in self.log()  # after some seconds: then it is tried again
            self.nodes[-1].kill()
            self.nodes[-1].wait()
            (self.folder / "node.log").unlink()
            return not has_given_up
        self.until("a job runs while it waits", runs_meanwhile)

    def test_a_queue_that_does_not_keep_up_leaves_the_rest_in_redis(self):
        self.configure("ahead = 50", maps="")
        self.lpush("default", *(f'{{"class":"Note","args":[{i}],"jid":"j{i}"}}' for i in range(500)))
        self.make_store()
        self.ordo("pause", "orders")
        self.start_taking()
        self.until_stats(length=50)
        self.assertEqual((self.redis.ask("LLEN", "queue:default"), self.json("sources")[0]["waiting"]), (450, 450))
        self.assertIn("source 'rails' takes nothing more: 50 jobs or more of its queues are due or run", self.doctor())
        listed = self.ordo("sources").stdout
        self.assertRegex(listed, r"rails +\S+ +full ")
        self.assertRegex(listed, r"\d+ [sm] ago")
        self.assertTrue(self.json("sources")[0]["full"])
        self.ordo("resume", "orders")
        self.until_stats(processed=500, length=0)

    def test_failed_jobs_that_redis_does_not_take_wait_through_a_reshard_and_a_copy(self):
        self.configure('retries = "sidekiq"', maps="", key_order="exclusive")
        self.make_store()
        self.ordo("pause", "orders")
        self.answer("return {'ok': False, 'error': 'boom'}")
        jobs = (f'{{"class":"Note","args":[{i}],"jid":"j{i}","retry":25,"retry_count":9}}' for i in range(30))
        self.lpush("default", *jobs)  # the next retry is hours away
        self.start_taking()
        self.until_stats(length=30)
        self.redis.ask("SET", "retry", "not a set")
        self.ordo("resume", "orders")
        self.until_stats(failed=30, retrying=30, due=0, running=0)
        self.until("it says so", lambda: "source 'rails' cannot bring its retries to Sidekiq" in self.log())
        self.nodes[-1].kill()
        self.nodes[-1].wait()
        self.assertEqual(self.json("sources")[0]["hand_overs"], 30)
        self.redis.ask("DEL", "ordo:taker:rails")
        self.assertIn("30 failed jobs wait for source 'rails'", self.doctor())
        self.ordo("reshard", "orders", "3")
        config = (self.folder / "ordo.toml").read_text().replace("shards = 1\n", "")
        if not self.server:
            self.write("ordo.toml", config)
            self.ordo("copy", "sqlite:ordo.db", "sqlite:other.db")
            config = config.replace("sqlite:ordo.db", "sqlite:other.db")
        self.write("ordo.toml", config)
        self.assertEqual(self.stats()["length"], 30)
        self.redis.ask("DEL", "retry")
        self.start()
        if not self.server:
            self.ordo("resume", "orders")
        self.until_stats(length=0, running=0, failed=30, dead=0)
        brought = [json.loads(job) for job in self.redis.ask("ZRANGE", "retry", 0, -1)]
        self.assertEqual(sorted((job["args"][0], job["retry_count"]) for job in brought), [(i, 10) for i in range(30)])

    def test_a_killed_node_loses_and_doubles_nothing(self):
        self.configure(maps="")
        jobs = [f'{{"class":"Note","args":[{i}],"jid":"j{i}"}}' for i in range(2000)]
        self.lpush("default", *jobs)
        self.start()
        self.until("some are taken", lambda: self.redis.ask("LLEN", "queue:default") < 2000)
        node = self.nodes[-1]
        node.kill()
        node.wait()
        self.start()
        self.until_stats(processed=2000, length=0, running=0)
        ran = [job for job, _, _ in self.runs()]
        self.assertEqual(set(ran), {f"j{i}" for i in range(2000)})

    def test_import(self):
        self.configure()
        self.lpush("mail", *(f'{{"class":"Ship","args":["o{i}","k"],"jid":"j{i}"}}' for i in range(500)))
        self.redis.ask("ZADD", "schedule", 4000000000, '{"class":"Note","args":[],"queue":"mail","jid":"later"}')
        self.redis.ask("ZADD", "retry", 1, '{"class":"Note","args":[],"queue":"mail","jid":"again"}')
        self.redis.ask("ZADD", "dead", 1, '{"class":"Note","args":[],"queue":"mail","jid":"dead","error_message":"boom"}')
        self.make_store()
        asked = ["import", "sidekiq", self.redis.direct, "--source", "rails"]
        self.assertEqual(self.json(*asked, "--dry-run"), {"waiting": 500, "scheduled": 1, "retrying": 1, "dead": 1})
        self.assertEqual(self.json(*asked), {"imported": 503, "refused": {}})
        self.assertEqual(self.json(*asked), {"imported": 503, "refused": {}})
        self.start()
        self.until_stats(processed=501, dead=1, scheduled=1, length=1)
        self.assertEqual([job for job, _, _ in self.runs() if job.startswith("o")], [f"o{i}" for i in range(500)])
        self.ordo("dead", "orders", "retry", "dead")
        self.until_stats(processed=502, dead=0)
        [later] = self.json("jobs", "orders", "--state", "scheduled")
        self.assertEqual((later["id"], later["run_at"]), ("later", "2096-10-02T07:06:40Z"))
        self.ordo("import", "sidekiq", self.redis.direct, code=2)

    def test_a_server_that_is_away_holds_up_nothing_else(self):
        self.configure(maps="")
        text = (self.folder / "ordo.toml").read_text()
        store, section, source = text.partition("[source.rails]")
        self.write("ordo.toml", store + section + source.replace(self.redis.direct, "redis+unix:///nowhere/redis.sock"))
        self.start()
        self.push("a", 1)
        self.until_stats(processed=1)
        self.until("it says so", lambda: "source 'rails' takes nothing" in self.log())
        self.assertEqual(self.log().count("takes nothing"), 1)

    def test_sources_are_seen(self):
        self.configure(maps="")
        self.lpush("default", *(f'{{"class":"Note","args":[],"jid":"{i}","enqueued_at":1.5}}' for i in range(3)), "garbage")
        self.make_store()
        [view] = self.json("sources")
        self.assertEqual((view["name"], view["waiting"], view["taken"], view["active"]), ("rails", 4, 0, False))
        self.assertGreater(view["lag"], 1e9)
        self.assertIn("4 jobs wait for source 'rails', and no node takes them", self.doctor())
        self.start_taking()
        self.until_stats(processed=3, dead=1)
        [view] = self.json("sources")
        self.assertEqual((view["taken"], view["refused"], view["waiting"], view["lag"], view["active"], view["trouble"]),
                         (3, {"malformed": 1}, 0, None, True, None))
        self.assertIn("source 'rails' has taken 3 jobs", self.doctor())
        self.assertIn("rails", self.ordo("sources").stdout)
        self.assertEqual({name: counts["taken"] for name, counts in self.json("stats")["sources"].items()}, {"rails": 3})
        self.assertIn("source rails: taken 3, refused 1", self.ordo("stats").stdout)
        [node] = self.json("nodes")
        self.assertEqual(node["sources"], ["rails"])
        self.assertIn(f"sources of {node['id']}: rails", self.ordo("nodes").stdout)

    def test_they_are_seen_over_http(self):
        self.configure(maps="")
        self.lpush("default", "garbage", '{"class":"Note","args":[]}')
        self.start("-o", "node.listen=auto")
        self.until_stats(processed=1, dead=1)
        address = self.until("it listens", lambda: re.search(r"listening on (http://\S+)", self.log()))[1]

        def get(path):
            with urllib.request.urlopen(address.rstrip("/") + path, timeout=PATIENCE_S) as answer:
                return answer.read().decode()
        self.until("the API says what the command does", lambda: json.loads(get("/api/v1/sources"))["items"] == self.json("sources"))
        text = get("/metrics")
        for line in ('ordo_source_up{source="rails"} 1', 'ordo_source_taken_total{source="rails"} 1',
                     'ordo_source_waiting{source="rails"} 0', 'ordo_source_lag_seconds{source="rails"} 0'):
            self.assertIn(line, text)
        self.redis.ask("DEL", "ordo:taken:rails")
        self.until("it says so", lambda: "ordo sources reset rails" in self.log())

        def problem():
            return [each for each in json.loads(get("/api/v1/problems")) if "source 'rails' takes nothing" in each["what"]]
        [told] = self.until("the pages say so", problem)
        self.assertEqual((told["severity"], told["action"]["href"]), ("person", "/sources"))
        for name, status in (("rail", 404), ("rails", 200)):
            request = urllib.request.Request(address.rstrip("/") + f"/api/v1/sources/{name}/reset", method="POST")
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    self.assertEqual(answer.status, status)
            except urllib.error.HTTPError as refusal:
                self.assertEqual(refusal.code, status)
        self.lpush("default", '{"class":"Note","args":[2]}')
        self.until_stats(processed=2)
        self.assertIn("reset_source", self.ordo("audit").stdout)
        self.assertRegex(text, r'ordo_source_refused_total{(source="rails",reason="malformed"|reason="malformed",source="rails")} 1')

    def test_the_doctor_finds_a_sidekiq_that_takes_from_the_same_lists(self):
        self.configure(maps="")
        self.start_taking()
        self.redis.ask("SADD", "processes", "vm:1:abc")
        self.redis.ask("HSET", "vm:1:abc", "info", '{"queues":["mail","low"]}')
        self.assertEqual(self.json("sources")[0]["others"], ["vm:1:abc"])
        self.assertIn("Sidekiq takes jobs from lists of source 'rails', too: vm:1:abc", self.doctor())

    def test_a_source_whose_server_lost_writes_stops_until_it_is_reset(self):
        self.configure(maps="")
        self.start_taking()
        self.lpush("default", '{"class":"Note","args":[],"jid":"a"}')
        self.until_stats(processed=1)
        self.assertIn("needs no reset", self.ordo("sources", "reset", "rails", code=1).stderr)
        self.redis.ask("DEL", "ordo:taken:rails")
        self.lpush("default", '{"class":"Note","args":[],"jid":"b"}')
        self.until("it says so", lambda: "ordo sources reset rails" in self.log())
        self.assertIn("has lost jobs that were taken", self.json("sources")[0]["trouble"])
        self.assertEqual(self.redis.ask("LLEN", "queue:default"), 1)
        self.ordo("sources", "reset", "rails")
        self.until_stats(processed=2)
        self.assertEqual([job for job, _, _ in self.runs()], ["a", "b"])
        self.assertIn("did you mean 'rails'?", self.ordo("sources", "reset", "rail", code=1).stderr)


if __name__ == "__main__":
    unittest.main()
