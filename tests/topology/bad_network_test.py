"""Nodes and producers far from their store, on a network that loses packets: all is slow, and nothing else."""
import time
import unittest

from topology import Topology
import servers  # (topology knows where it is)

DELAY_S, LOSS = 0.1, 0.05
JOBS = 80


class BadNetwork(Topology):
    def serve(self, server):
        self.server = self.started(server)
        self.config(queue="shards = 4\n", node="threads = 2\nlease = '20s'\n")  # time for more than one attempt to renew

    def work(self, urls, within=((), ()), lost=lambda: 0):
        nodes = [self.start("--store", url, within=prefix) for url, prefix in zip(urls, within)]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: all(node["shards"] == 2 for node in self.json("nodes")))
        start = time.monotonic()
        self.produce(within=within[0], ORDO_STORE=urls[0])
        self.reach(JOBS)
        pushes = JOBS / 10
        self.assertGreater(time.monotonic() - start, pushes * DELAY_S, "nothing is far away")
        self.until("something is lost", lost)
        # No run is repeated: leases that are renewed in time are kept.
        self.finish(nodes)
        for said in ("could not be renewed", "the lease of shard", "Z error "):
            self.assertNotIn(said, self.log())

    def on_hosts(self, store, **how):
        self.serve(servers.STORES[store](self.folder_of_its_own() / "server"))
        network = self.network(**how)
        hosts = [network.host() for _ in range(2)]
        urls = [host.url(self.server) for host in hosts]
        network.worsen(DELAY_S, LOSS)
        self.work(urls, [host.prefix for host in hosts], lambda: all(host.lost for host in hosts))

    def test_redis(self):
        self.on_hosts("redis:")

    def test_redis_without_namespaces(self):
        self.on_hosts("redis:", is_real=False)

    def test_postgres(self):
        self.on_hosts("postgres:")

    def test_redis_cluster(self):
        """Its members are where they say they are: behind proxies."""
        server = servers.RedisCluster(self.folder_of_its_own() / "cluster")
        server.proxied()
        self.serve(server)
        for proxy in server.proxies:
            proxy.worsen(DELAY_S / 2, LOSS)
        self.work([server.direct] * 2, lost=lambda: sum(proxy.lost for proxy in server.proxies))


if __name__ == "__main__":
    unittest.main()
