"""One node of two is cut off from its store, and nobody tells it."""
import sys
import unittest

from topology import Topology
import servers  # (topology knows where it is)

LEASE_S = 2


class Partition(Topology):
    def begin(self, store, **how):
        self.server = self.started(servers.STORES[store](self.folder_of_its_own() / "server"))
        self.config(queue="shards = 4\n", node=f"threads = 2\nlease = '{LEASE_S}s'\n")
        self.hosts = [self.network(**how).host() for _ in range(2)]
        nodes = [self.start_on(host, host.url(self.server)) for host in self.hosts]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: all(node["shards"] == 2 for node in self.json("nodes")))
        self.produce()
        self.reach(20)
        return nodes

    def one_is_cut_off(self, store, **how):
        nodes = self.begin(store, **how)
        self.hosts[0].cut_off()
        # The other takes its shards: every key goes on.
        before = dict(self.producer.pushed)
        self.until("all keys go on", lambda: self.producer.acknowledged >= 400 and before)
        self.until("the other has all shards", lambda: any(node["shards"] == 4 for node in self.json("nodes")))
        self.reach(100)
        self.hosts[0].join()
        self.until("both have shards again", lambda: sorted(node["shards"] for node in self.json("nodes")) == [2, 2])
        self.reach(50)
        self.finish(nodes, repeats=True)  # what ran as the node was cut off

    def test_redis(self):
        self.one_is_cut_off("redis:")

    def test_redis_without_namespaces(self):
        self.one_is_cut_off("redis:", is_real=False)


if __name__ == "__main__":
    unittest.main()
