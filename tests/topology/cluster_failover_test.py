"""A Redis Cluster whose masters die, and whose replicas take over: up to date or behind, from idle and busy nodes."""
import signal
import unittest

from topology import Topology
import servers  # (topology knows where it is)

SHARDS = 6


class Failover(Topology):
    def begin(self, options):
        self.server = self.started(servers.RedisCluster(self.folder_of_its_own() / "cluster", fails_over=True))
        self.config(queue=f"shards = {SHARDS}\n", node="threads = 2\nlease = '8s'\n")
        url = self.server.direct
        self.write("ordo.toml", (self.folder / "ordo.toml").read_text().replace(url, url.replace("?wait=1", options)))
        nodes = [self.start() for _ in range(2)]
        self.wait_for_nodes(2)
        return nodes

    def master_of(self, place):
        return self.server.master_of(self.server.slot_of(place))

    def replica_of(self, master):
        return next(member for member in self.server.members
                    if member.ask("ROLE")[0] == "slave" and member.ask("ROLE")[2] == master.announced)

    def fail_over(self, place, is_behind, meanwhile):
        """`meanwhile` is done while the replica gets nothing, if it is to be behind."""
        old = self.master_of(place)
        if is_behind:
            replica = self.replica_of(old)
            replica.process.send_signal(signal.SIGSTOP)
            old.ask("CLIENT", "KILL", "TYPE", "replica")
        meanwhile()
        old.kill()
        if is_behind:
            replica.process.send_signal(signal.SIGCONT)
        self.until("the replica has taken over", lambda: self.master_of(place) not in (None, old))
        old.launch()
        self.until("all have replicas again", self.server.ready)

    def a_shard(self):
        """One whose master has not the registry."""
        registry = self.master_of("ordo")
        [queue] = registry.ask("HVALS", "ordo:{ordo}:queues")
        places = [f"{queue.split(':')[0]}:{shard}" for shard in range(SHARDS)]
        return next(place for place in places if self.master_of(place) is not registry)

    def idle(self, is_behind, options):
        nodes = self.begin(options)
        pushed = []

        def push_and_run():
            pushed.extend(range(len(pushed), len(pushed) + 24))
            self.push_lines([{"id": str(n), "key": f"k{n % 24}"} for n in pushed[-24:]])
            wanted = set(map(str, pushed))
            self.until("all have run", lambda: {job for job, _, _ in self.runs()} == wanted)
        push_and_run()
        for place in ("ordo", self.a_shard()):
            self.fail_over(place, is_behind, push_and_run)
            push_and_run()
        for node in nodes:
            self.assertIsNone(node.poll(), self.log()[-2000:])

    def test_idle_nodes_and_replicas_up_to_date(self):
        self.idle(is_behind=False, options="?wait=1")

    def test_idle_nodes_and_replicas_behind(self):
        self.idle(is_behind=True, options="")

    def test_busy_nodes_and_a_replica_behind(self):
        nodes = self.begin(options="")
        self.produce()
        self.reach(50)
        self.fail_over(self.a_shard(), True, lambda: self.reach(50))
        self.reach(100)
        self.finish(nodes, repeats=True, loses=True)


if __name__ == "__main__":
    unittest.main()
