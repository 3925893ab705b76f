"""One node of two is cut off from its store, wholly or in one direction, and nobody tells it."""
import collections
import unittest

from topology import Topology
import servers  # (topology knows where it is)

LEASE_S = 2


class Partition(Topology):
    def begin(self, network, url):
        """`url`: the store's, for a host."""
        self.config(queue="shards = 4\n", node=f"threads = 2\nlease = '{LEASE_S}s'\n")
        self.hosts = [network.host() for _ in range(2)]
        self.working = [self.start_on(host, url(host)) for host in self.hosts]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: [node["shards"] for node in self.json("nodes")] == [2, 2])
        self.produce()
        self.reach(20)

    def serve(self, store, network):
        """A server alone, that is reached through the network."""
        self.server = self.started(servers.STORES[store](self.folder_of_its_own() / "server"))
        self.begin(network, lambda host: host.url(self.server))

    def serve_many(self, group):
        """Servers that tell where the others are: on the network, where all find them."""
        network = self.real_network()
        group.settle(network)
        self.server, self.within = self.started(group), network.middle.prefix
        self.begin(network, lambda host: group.direct)

    def one_is_lost_and_comes_back(self, lose, join):
        lose()
        # The other takes its shards: every key goes on.
        self.until("the other has all shards", lambda: any(node["shards"] == 4 for node in self.json("nodes")))
        before = self.runs_of_keys()
        self.until("all keys go on", lambda: all(self.runs_of_keys()[key] > count for key, count in before.items()))
        self.reach(100)
        join()
        self.until("both have shards again", lambda: [node["shards"] for node in self.json("nodes")] == [2, 2])
        self.reach(50)
        self.finish(self.working, repeats=True)  # what ran as the node was cut off

    def runs_of_keys(self):
        return collections.Counter(job["key"] for request in self.requests() for job in request["jobs"])

    def one_is_cut_off(self):
        host = self.hosts[0]
        self.one_is_lost_and_comes_back(host.cut_off, host.join)

    def one_is_deaf(self):
        """What it says arrives: the store does it, and the node never hears of it."""
        host = self.hosts[0]
        self.one_is_lost_and_comes_back(host.deafen, host.hear)

    def test_redis(self):
        self.serve("redis:", self.network())
        self.one_is_cut_off()

    def test_redis_without_namespaces(self):
        self.serve("redis:", self.network(is_real=False))
        self.one_is_cut_off()

    def test_postgres(self):
        self.serve("postgres:", self.network())
        self.one_is_cut_off()

    def test_redis_behind_sentinels(self):
        self.serve_many(servers.SentinelGroup(self.folder_of_its_own() / "group"))
        self.one_is_cut_off()

    def test_redis_cluster(self):
        self.serve_many(servers.RedisCluster(self.folder_of_its_own() / "cluster"))
        self.one_is_cut_off()

    def test_redis_is_heard_no_more(self):
        self.serve("redis:", self.real_network())
        self.one_is_deaf()

    def test_postgres_is_heard_no_more(self):
        self.serve("postgres:", self.real_network())
        self.one_is_deaf()


if __name__ == "__main__":
    unittest.main()
