"""Nodes and producers far from their store, on a network that loses packets: all is slow, and nothing else."""
import time
import unittest

from topology import Topology
from proxy import Proxy
from redis_tls_test import TlsRedis
import servers  # (topology knows where it is)

DELAY_S, LOSS = 0.1, 0.05
JOBS = 40
LEASE_S, RENEWALS = 60, 2  # leases are renewed every 3 s: only who cannot renew at all loses them


class BadNetwork(Topology):
    def serve(self, server):
        self.server = self.started(server)
        self.config(queue="shards = 4\n", node=f"threads = 2\nlease = '{LEASE_S}s'\n")

    def work(self, urls, within=((), ()), lost=lambda: 0):
        nodes = [self.start("--store", url, within=prefix) for url, prefix in zip(urls, within)]
        self.wait_for_nodes(2)
        self.until("both have shards", lambda: all(node["shards"] == 2 for node in self.json("nodes")))
        before, start = self.renewals(), time.monotonic()
        self.produce(within=within[0], ORDO_STORE=urls[0])
        self.reach(JOBS)
        pushes = JOBS / 10
        self.assertGreater(time.monotonic() - start, pushes * DELAY_S, "nothing is far away")
        self.until("something is lost", lost)
        for _ in range(RENEWALS):
            self.until("leases are renewed", lambda: all(self.renewals()[node] > count for node, count in before.items()))
            before = self.renewals()
        # No run is repeated: leases that are renewed in time are kept.
        self.finish(nodes)
        for said in ("leases could not be renewed", " runs are stopped"):
            self.assertNotIn(said, self.log())

    def renewals(self):
        """Of each node, as the store has them."""
        if isinstance(self.server, servers.Postgres):
            rows = (line.split("|") for line in self.server.psql("SELECT id, renewals FROM ordo_living_node").splitlines())
        else:
            words = self.registry().ask("HGETALL", "ordo:{ordo}:nodes")
            rows = zip(words[::2], words[1::2])
        return {node: int(count) for node, count in rows}

    def registry(self):
        if isinstance(self.server, servers.RedisCluster):
            return self.server.master_of(self.server.slot_of("ordo"))
        return self.server.master() if isinstance(self.server, servers.SentinelGroup) else self.server

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

    def behind_proxies(self, server, proxies, url=None):
        self.serve(server)
        for proxy in proxies:
            proxy.worsen(DELAY_S / 2, LOSS)
        self.work([url or server.direct] * 2, lost=lambda: sum(proxy.lost for proxy in proxies))

    def test_redis_cluster(self):
        """Its members are where they say they are: behind proxies."""
        server = servers.RedisCluster(self.folder_of_its_own() / "cluster")
        server.proxied()
        self.behind_proxies(server, server.proxies)

    def test_redis_behind_sentinels(self):
        """They, and its replica, are as far from it as the nodes are from all of them; so they take their time to give it up."""
        server = servers.SentinelGroup(self.folder_of_its_own() / "group", down_ms=60_000, is_far=True)
        self.behind_proxies(server, server.proxies)

    def test_redis_over_tls(self):
        server = TlsRedis(self.folder_of_its_own() / "server")
        proxy = Proxy(("127.0.0.1", server.port))
        self.addCleanup(proxy.close)
        self.behind_proxies(server, [proxy], server.through(proxy.port))


if __name__ == "__main__":
    unittest.main()
