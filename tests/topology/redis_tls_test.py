"""Redis over TLS when the network is at its worst: cut in a handshake, silent in one, half-open behind it."""
import socket
import subprocess
import threading
import unittest

from topology import Topology
from proxy import Proxy
import servers  # (topology knows where it is)


class TlsRedis(servers.Redis):
    """Speaks TLS on a port of loopback, and plainly on the socket that the judge asks."""

    def __init__(self, folder):
        super().__init__(folder)
        self.port, self.certificate = servers.free_port(), self.folder / "cert"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ordo",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.folder / "key", "-out",
                        self.certificate], check=True, capture_output=True)

    def command(self):
        return [*super().command(), "--tls-port", str(self.port), "--bind", "127.0.0.1", "--tls-auth-clients", "no",
                "--tls-cert-file", str(self.certificate), "--tls-key-file", str(self.folder / "key"),
                "--tls-ca-cert-file", str(self.certificate)]

    def through(self, port, host="127.0.0.1"):
        return f"rediss://{host}:{port}?ca={self.certificate}"


class Tls(Topology):
    def begin(self):
        self.server = self.started(TlsRedis(self.folder_of_its_own() / "server"))
        self.proxy = Proxy(("127.0.0.1", self.server.port))
        self.addCleanup(self.proxy.close)
        self.config(queue="shards = 4\n", node="threads = 2\nlease = '5s'\n")
        url = self.server.through(self.proxy.port)
        nodes = [self.start_on(None, url) for _ in range(2)]
        self.wait_for_nodes(2)
        self.produce(ORDO_STORE=url)
        self.reach(20)
        return nodes

    def test_cut_in_a_handshake(self):
        nodes = self.begin()
        for reaches_server in (False, True):
            for _ in range(6):  # a ClientHello begins so
                self.proxy.cut_at(b"\x16\x03\x01", reaches_server)
            self.proxy.cut(lambda all_of_them: all_of_them)
            self.reach(20)
        self.assertGreaterEqual(self.proxy.tripped, 12)
        self.finish(nodes, repeats=True)

    def test_silent_for_less_and_for_longer_than_patience(self):
        nodes = self.begin()
        for seconds in (1, 7):
            self.proxy.be_silent(seconds)
            self.reach(20)
        self.finish(nodes, repeats=True)

    def test_half_open(self):
        """Connections whose other end is gone without a word: nothing is said there ever again."""
        nodes = self.begin()
        self.proxy.forget()
        self.reach(20)
        self.finish(nodes, repeats=True)

    def test_a_server_that_takes_connections_and_says_nothing(self):
        """Said in time, by its name."""
        self.server = None
        with socket.create_server(("127.0.0.1", 0)) as listener:
            held = []
            taker = threading.Thread(target=lambda: held.append(listener.accept()), daemon=True)
            taker.start()
            url = f"rediss://127.0.0.1:{listener.getsockname()[1]}"
            said = self.ordo("stats", "--store", url, code=1).stderr
            self.assertIn("does not answer in TLS", said)
            for connection, _ in held:
                connection.close()


if __name__ == "__main__":
    unittest.main()
