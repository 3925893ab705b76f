"""A name server that says nothing costs a call its own time, and no more: whatever the system's resolver would wait for."""
import signal
import socket
import subprocess
import time
import unittest

from topology import ORDO, Topology
import network  # (topology knows where it is)
import servers
from proxy import Proxy

NAME = "store.ordo.test"
SAYS_SO = f"the look-up of the name '{NAME}' has not ended within"
# The resolver's own patience: minutes for each look-up. Who waits for it is still there after SOON_S.
RESOLVER = "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n"
SOON_S = 90
COMMANDS = [["push", "orders"], ["stats"], ["doctor"]]


class SilentNames(Topology):
    def serve(self, store):
        """A server behind a port of a host with a name server of its own, which hears and says nothing."""
        self.server = self.started(servers.STORES[store](self.folder_of_its_own() / "server"))
        self.config(queue="shards = 1\n")
        self.push("1")
        self.host = network.Namespace()
        self.addCleanup(self.host.close)
        self.host.ip("link", "set", "lo", "up")
        self.resolver = self.host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.addCleanup(self.resolver.close)
        self.resolver.bind(("127.0.0.1", 53))
        self.proxy = self.host.call(lambda: Proxy(self.server.path))
        self.addCleanup(self.proxy.close)
        self.write("resolv.conf", RESOLVER)
        self.know(NAME)
        self.within = [*self.host.prefix, "unshare", "--mount", "sh", "-c",
                       'mount --bind resolv.conf /etc/resolv.conf && mount --bind hosts /etc/hosts && exec "$@"', "sh"]
        self.url = self.server.through(self.proxy.port, NAME)

    def know(self, *names):
        """These are in the host's file of names, at the server's address."""
        self.write("hosts", "".join(f"127.0.0.1 {name}\n" for name in names))

    def run_all(self, url):
        """Each command's exit code, and what it said."""
        calls = [subprocess.Popen([*self.within, ORDO, *words, "--store", url], cwd=self.folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment(), text=True)
                 for words in COMMANDS]
        for call in calls:
            self.addCleanup(call.communicate)
            self.addCleanup(call.kill)
        end = time.monotonic() + SOON_S
        return [(call.args[-3], *self.end_within(call, end)) for call in calls]

    def end_within(self, call, end):
        try:
            told = call.communicate(timeout=max(0, end - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            self.fail(f"{call.args} still waits after {SOON_S} s")
        return call.returncode, told

    def commands_end(self, store):
        self.serve(store)
        for name, code, told in self.run_all(self.url):
            self.assertEqual(code, 0, f"{name}: {told}")
        self.know()
        for name, code, told in self.run_all(self.url):
            self.assertEqual(code, 1, f"{name}: {told}")
            self.assertIn(SAYS_SO, told, name)

    def node_ends(self, store):
        self.serve(store)
        node = self.start("--store", self.url, within=self.within)
        self.until("its job has run", lambda: self.requests())
        self.know()
        self.proxy.drop_flows()
        self.proxy.close()
        self.until("it tells of the look-up", lambda: SAYS_SO in self.log())
        node.send_signal(signal.SIGTERM)
        try:
            node.wait(timeout=SOON_S)
        except subprocess.TimeoutExpired:
            self.fail(f"the node still waits after {SOON_S} s")

    def test_commands_on_redis(self):
        self.commands_end("redis:")

    def test_commands_on_postgres(self):
        self.commands_end("postgres:")

    def test_a_node_on_redis(self):
        self.node_ends("redis:")

    def test_a_node_on_postgres(self):
        self.node_ends("postgres:")

    def test_one_of_several_hosts_of_postgres(self):
        """Those that are known are tried all the same."""
        self.serve("postgres:")
        hosts = [f"{name}:{self.proxy.port}" for name in ("other.ordo.test", NAME)]
        self.url = self.url.replace(hosts[1], ",".join(hosts))
        for name, code, told in self.run_all(self.url):
            self.assertEqual(code, 0, f"{name}: {told}")


if __name__ == "__main__":
    unittest.main()
