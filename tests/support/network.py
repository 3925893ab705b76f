"""Networks of our own: each host is a network namespace, so what is lost on the way is lost as on a real one, without
a word to anybody. Where namespaces may not be made, each host has a proxy of its own instead, which falls silent.

A network can be slow, too, and lose some of what is sent: packets are dropped at both ends of each host's wire, and TCP sends
them again; the delay is that of the proxies which lead to the servers.

Servers stay on their unix sockets, which all namespaces see: whoever judges asks them there.
"""
import ctypes
import itertools
import subprocess
import threading

from proxy import Proxy

CLONE_NEWNET = 0x40000000
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL"]

# Words of a classic BPF program, which every kernel knows, as `tc` wants them; netem is not everywhere.
LOAD_RANDOM, DROP, PASS = "32 0 0 4294963256", "6 0 0 2", "6 0 0 0"


def run(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=240)


class Namespace:
    """Lives as long as this process, at most."""

    def __init__(self):
        self.keeper = subprocess.Popen([*DIE_WITH_US, "unshare", "--net", "sh", "-c", "echo made; exec sleep 100000"],
                                       stdout=subprocess.PIPE)
        self.path = f"/proc/{self.keeper.pid}/ns/net"
        if self.keeper.stdout.readline() != b"made\n":
            raise OSError("a network namespace cannot be made")

    @property
    def prefix(self):
        """Before a command that is to run there."""
        return ["nsenter", f"--net={self.path}", "--"]

    def ip(self, *words):
        run(*self.prefix, "ip", *words)

    def call(self, function):
        """The result of `function`, in a thread of its own that is in there: its sockets stay so."""
        result = []

        def inside():
            with open(self.path, "rb") as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) == 0:
                    result.append(function())
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        if not result:
            raise OSError("a network namespace cannot be entered")
        return result[0]

    def close(self):
        self.keeper.kill()
        self.keeper.communicate()


class Network:
    """Servers are reached at one address of it, from hosts that can be cut off one by one."""
    ADDRESS = "10.77.0.1"

    def __init__(self, is_real=None):
        self.numbers = itertools.count(2)
        self.middle, self.hosts, self.proxies = None, [], {}
        self.delay_s = 0
        if is_real is not False:
            try:
                self.middle = Namespace()
                self.middle.ip("link", "set", "lo", "up")
                self.middle.ip("link", "add", "name", "switch", "type", "bridge")
                self.middle.ip("link", "set", "dev", "switch", "up")
                self.middle.ip("addr", "add", f"{self.ADDRESS}/24", "dev", "switch")
            except (OSError, subprocess.CalledProcessError):
                if self.middle:
                    self.middle.close()
                self.middle = None

    @property
    def is_real(self):
        return self.middle is not None

    def host(self):
        host = (Host if self.is_real else ProxiedHost)(self, next(self.numbers))
        self.hosts.append(host)
        return host

    def listen(self, path):
        """The port of ADDRESS that leads to the unix socket."""
        if path not in self.proxies:
            self.proxies[path] = self.middle.call(lambda: Proxy(path, self.ADDRESS))
            self.proxies[path].worsen(self.delay_s)
        return self.proxies[path].port

    def worsen(self, delay_s, loss):
        """For the hosts that are there: so long is the way to a server and back, and this part of it does not arrive."""
        self.delay_s = delay_s / 2
        for proxy in self.proxies.values():
            proxy.worsen(self.delay_s)
        for host in self.hosts:
            host.worsen(self.delay_s, loss)

    def close(self):
        for host in self.hosts:
            host.close()
        for proxy in self.proxies.values():
            proxy.close()
        if self.middle:
            self.middle.close()


class Host:
    """A machine of the network. `prefix` stands before what is to run there."""

    def __init__(self, network, number):
        self.network, self.port = network, f"port{number}"
        self.namespace = Namespace()
        network.middle.ip("link", "add", "name", self.port, "type", "veth", "peer", "name", "eth0", "netns",
                          str(self.namespace.keeper.pid))
        network.middle.ip("link", "set", "dev", self.port, "master", "switch", "up")
        self.namespace.ip("addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self.namespace.ip("link", "set", "dev", device, "up")

    @property
    def prefix(self):
        return self.namespace.prefix

    def url(self, server):
        """The store's, as it is reached from here."""
        return server.through(self.network.listen(server.path), self.network.ADDRESS)

    def cut_off(self):
        """Nothing comes nor goes, and nobody is told."""
        self.set_state("disabled")

    def join(self):
        self.set_state("forwarding")

    def set_state(self, state):
        number = {"disabled": "0", "forwarding": "3"}[state]
        run(*self.network.middle.prefix, "bridge", "link", "set", "dev", self.port, "state", number)

    def worsen(self, _, loss):
        for within, device in ((self.network.middle, self.port), (self.namespace, "eth0")):
            self.filter(within, device, "all", f"4,{LOAD_RANDOM},53 0 1 {2**32 - int(loss * 2**32)},{DROP},{PASS}")

    def deafen(self):
        """Nothing that is sent to it arrives, while all that it sends does."""
        # But ARP: who does not know the way any more sends nothing.
        self.filter(self.network.middle, self.port, "ip", f"1,{DROP}")

    def hear(self):
        self.filter(self.network.middle, self.port, "ip", f"1,{PASS}")

    @staticmethod
    def filter(within, device, protocol, program):
        """What leaves there passes the program."""
        run(*within.prefix, "tc", "qdisc", "replace", "dev", device, "clsact")
        run(*within.prefix, "tc", "filter", "replace", "dev", device, "egress", "protocol", protocol, "handle", "1", "pref", "1",
            "bpf", "da", "bytecode", program)

    @property
    def lost(self):
        """How often it had to send something again."""
        tcp = [line.split() for line in subprocess.check_output([*self.prefix, "cat", "/proc/self/net/snmp"], text=True).splitlines()
               if line.startswith("Tcp:")]
        return int(dict(zip(*tcp))["RetransSegs"])

    def close(self):
        self.namespace.close()


class ProxiedHost:
    """The same on loopback."""
    prefix = ()

    def __init__(self, _network, _number):
        self.proxies, self.badness = {}, (0, 0)

    def url(self, server):
        proxy = self.proxies.setdefault(server.path, None) or Proxy(server.path)
        proxy.worsen(*self.badness)
        self.proxies[server.path] = proxy
        return server.through(proxy.port)

    def cut_off(self):
        for proxy in self.proxies.values():
            proxy.be_silent(1e6)

    def join(self):
        for proxy in self.proxies.values():
            proxy.be_silent(0)

    def worsen(self, delay_s, loss):
        self.badness = (delay_s, loss)
        for proxy in self.proxies.values():
            proxy.worsen(delay_s, loss)

    @property
    def lost(self):
        return sum(proxy.lost for proxy in self.proxies.values())

    def close(self):
        for proxy in self.proxies.values():
            proxy.close()
