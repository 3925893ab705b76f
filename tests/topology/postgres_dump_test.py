"""A dump of PostgreSQL is restored into another cluster, as operators do it, and all work goes on there."""
import itertools
import signal
import subprocess
import unittest

from topology import PATIENCE_S, Topology
import servers  # (topology knows where it is)

# So far ahead are the numbers of the old server's transactions.
AGE = """DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$;
"""
GRANT = """GRANT USAGE ON SCHEMA {schema} TO shop;
GRANT EXECUTE ON FUNCTION
  ordo_push(text, text, text, text, text, float8, timestamptz, interval, int, interval, jsonb),
  ordo_push(text, bytea, text, text, text, float8, timestamptz, interval, int, interval, jsonb) TO shop;
"""


class Shop:
    """A session of a role that may push and nothing else. It says when each statement is done."""

    def __init__(self, test, server, schema):
        self.psql = subprocess.Popen([f"{server.programs}/psql", "-XqtA", "-v", "ON_ERROR_STOP=1",
                                      f"postgres://shop@/postgres?host={server.folder}"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        test.addCleanup(self.psql.communicate)
        self.said = itertools.count()
        self.do(f"SET search_path = {schema}")

    def do(self, statement):
        word = f"done {next(self.said)}"
        self.psql.stdin.write(f"{statement};\n\\echo {word}\n")
        self.psql.stdin.flush()
        told = ""
        for line in self.psql.stdout:
            if line.strip() == word:
                return
            told += line
        raise AssertionError(f"{statement}: {told}")

    def push(self, job_id, key="sql"):
        self.do(f"SELECT ordo_push('orders', '\"sql\"', id => '{job_id}', key => '{key}')")


class Dump(Topology):
    def begin(self, schema):
        self.schema, self.pushed = schema, {"sql": ["late-in-dump"]}
        self.server, self.other = (self.started(servers.Postgres(self.folder_of_its_own() / "server")) for _ in range(2))
        for server in (self.server, self.other):
            server.psql("CREATE ROLE shop LOGIN;")  # a dump has the rights of roles, and not the roles
        if schema != "public":
            self.server.psql(f"CREATE SCHEMA {schema}; ALTER ROLE postgres SET search_path = {schema};")
            self.other.psql(f"ALTER ROLE postgres SET search_path = {schema};")
        self.configure()

    def configure(self):
        self.config(queue="shards = 2\n", node="threads = 2\nlease = '2s'\n")

    def ran(self):
        return [job for job, _, _ in self.runs()]

    def push_all(self, name, count=24):
        """To both shards; the ids."""
        ids = [f"{name}{n}" for n in range(count)]
        jobs = [{"id": i, "key": f"k{n % 12}"} for n, i in enumerate(ids)]
        self.push_lines(jobs)
        for job in jobs:
            self.pushed.setdefault(job["key"], []).append(job["id"])
        return ids

    def order(self, behind=0):
        """Of each key: what ran, behind so many requests."""
        order = {}
        for run in self.requests()[behind:]:
            for job in run["jobs"]:
                order.setdefault(job["key"], []).append(job["id"])
        return order

    def restore(self):
        """As the manuals say."""
        programs = self.server.programs
        dump = subprocess.run([f"{programs}/pg_dump", self.server.direct], capture_output=True, check=True,
                              timeout=PATIENCE_S).stdout.decode()
        self.server.kill()
        self.other.psql(dump)
        self.server = self.other
        self.configure()

    def goes_on(self, schema):
        self.begin(schema)
        self.server.psql(AGE)
        node = self.start()
        self.wait_for_nodes(1)
        done = self.push_all("done")
        self.until("the first have run", lambda: len(self.ran()) >= len(done))
        self.server.psql(GRANT.format(schema=schema))

        # What the node has read past, and is in the dump all the same.
        late = Shop(self, self.server, schema)
        late.do("BEGIN")
        late.push("late-in-dump")
        done += self.push_all("past")
        self.until_stats(length=0, running=0, processed=len(done))
        node.send_signal(signal.SIGTERM)
        self.assertEqual(self.end_of(node), 0)
        late.do("COMMIT")
        waiting = self.push_all("waiting")
        self.restore()

        # Pushed behind what waits: it comes behind it, though numbers of transactions are small here.
        waiting += self.push_all("behind")
        nodes = [self.start() for _ in range(2)]
        self.wait_for_nodes(2)
        self.until("all have run", lambda: {*waiting, "late-in-dump"} <= set(self.ran()))
        self.until_stats(length=0, running=0)
        self.assertEqual(self.order(), self.pushed)  # each once: nothing disturbed anybody

        # A transaction that stays open while later ones are read.
        late = Shop(self, self.server, schema)
        late.do("BEGIN")
        late.push("late", "sql-late")
        before = len(self.ran())
        more = self.push_all("more")
        self.until("these have run", lambda: len(self.ran()) >= before + len(more))
        late.do("COMMIT")
        self.until("the late one has, too", lambda: "late" in self.ran())
        with self.assertRaisesRegex(AssertionError, "permission denied"):
            late.do("SELECT count(*) FROM ordo_entry")  # the shop still may push, and nothing else

        # And producers in both ways, while a node is replaced.
        self.work_is_done_by_who_comes(nodes)
        self.assertFalse(self.overlaps.exists(), "two runs of one key at once")

    def work_is_done_by_who_comes(self, nodes):
        before = len(self.requests())
        shop = Shop(self, self.server, self.schema)
        self.produce()
        wanted = []
        for n in range(60):
            wanted.append(f"sql-{n}")
            shop.push(wanted[-1])
            if n == 20:
                nodes.pop(0).kill()
                nodes.append(self.start())
        self.reach(100)
        self.producer.stop()
        self.until_stats(length=0, running=0)
        order = {key: list(dict.fromkeys(ids)) for key, ids in self.order(before).items()}  # the killed node's are repeated
        self.assertEqual(order, {"sql": wanted, **self.producer.pushed})

    def test_in_the_public_schema(self):
        self.goes_on("public")

    def test_in_a_schema_of_its_own(self):
        self.goes_on("jobs")


if __name__ == "__main__":
    unittest.main()
