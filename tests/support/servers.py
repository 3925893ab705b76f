"""Real servers of a store, alone in a folder, that can be killed and started again; and a proxy before one.

A server listens on a unix socket only. Nodes and producers come through the proxy, whose connections can be
cut, or stay open while nothing passes; whoever judges them asks the server directly.
"""
import collections
import os
import pathlib
import pwd
import select
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time


class Server:
    """Start it in the main thread: it dies with the thread that started it."""

    def __init__(self, folder):
        self.folder, self.process = pathlib.Path(folder), None
        self.folder.mkdir(mode=0o755)

    def command(self):
        """What starts it."""
        raise NotImplementedError

    def ready(self):
        """Whether it answers."""
        raise NotImplementedError

    def launch(self):
        """Starts it, on the data that are there; it answers later."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.die_with_us(), *self.command()], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def die_with_us(self):
        return ["setpriv", "--pdeathsig", "KILL"]

    def start(self):
        self.launch()
        end = time.monotonic() + 60
        while not self.ready():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"the server does not start: {self.log_text()[-2000:]}")
            time.sleep(0.01)

    def kill(self):
        """kill -9; what is on disk stays."""
        if self.process is None:
            return
        # No process of it may be left: a backend of PostgreSQL outlives its postmaster for a moment.
        self.process.send_signal(signal.SIGSTOP)
        try:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except OSError:
            children = ""
        for child in map(int, children.split()):
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.wait()
        self.process = None

    def log_text(self):
        return (self.folder / "log").read_text(errors="replace")

    def empty(self):
        """Forgets everything."""
        raise NotImplementedError

    def answer(self, path, question):
        """The first bytes that come back on a new connection; empty if none do."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(0.2)
            try:
                connection.connect(str(path))
                connection.sendall(question)
                return connection.recv(64)
            except OSError:
                return b""


class Redis(Server):
    """What it acknowledges is on disk."""

    def __init__(self, folder):
        super().__init__(folder)
        self.path = self.folder / "redis.sock"
        self.direct = f"redis+unix://{self.path}"

    def through(self, port):
        return f"redis://127.0.0.1:{port}"

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket", str(self.path), "--dir", str(self.folder),
                "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                "--auto-aof-rewrite-min-size", "1gb"]

    def ready(self):
        return self.answer(self.path, b"PING\r\n").startswith(b"+PONG")

    def cli(self, commands):
        """What redis-cli prints when it reads `commands`."""
        return subprocess.run(["redis-cli", "-s", str(self.path)], input=commands, capture_output=True,
                              text=True, check=True, timeout=120).stdout

    def empty(self):
        self.cli("FLUSHALL")


class Postgres(Server):
    """With the settings it comes with; it refuses to run as root."""

    def __init__(self, folder):
        super().__init__(folder)
        self.path = self.folder / ".s.PGSQL.5432"
        self.direct = f"postgres://postgres@/postgres?host={self.folder}"
        places = ["/usr/lib/postgresql/15/bin", os.path.dirname(shutil.which("initdb") or "")]
        self.programs = next((place for place in places if os.path.exists(f"{place}/initdb")), None)
        if self.programs is None:
            raise AssertionError("PostgreSQL 15 is not installed; ./dev setup does it")
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.folder.parent.chmod(0o711)  # it must get there
        subprocess.run([*self.die_with_us(), f"{self.programs}/initdb", "-D", str(self.folder / "data"), "-A",
                        "trust", "-U", "postgres", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8"],
                       check=True, stdout=subprocess.DEVNULL, timeout=120, cwd=self.folder)

    def through(self, port):
        return f"postgres://postgres@127.0.0.1:{port}/postgres"

    def die_with_us(self):
        user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return ["setpriv", *user, "--pdeathsig", "KILL"]

    def command(self):
        return [f"{self.programs}/postgres", "-D", str(self.folder / "data"), "-c", "listen_addresses=", "-c",
                f"unix_socket_directories={self.folder}", "-c", "max_connections=300"]

    def ready(self):
        settings = b"user\0postgres\0database\0postgres\0\0"
        return self.answer(self.path, struct.pack("!II", 8 + len(settings), 3 << 16) + settings)[:1] == b"R"

    def psql(self, statements):
        """What psql prints when it reads `statements`: values without decoration."""
        return subprocess.run([f"{self.programs}/psql", "-XqtA", "-v", "ON_ERROR_STOP=1", self.direct],
                              input=statements, capture_output=True, text=True, check=True,
                              timeout=120).stdout

    def empty(self):
        self.psql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")


STORES = {"redis:": Redis, "postgres:": Postgres}


class End:
    """One side of a connection through the proxy."""

    def __init__(self, connection):
        self.socket, self.other = connection, None
        self.unsent = b""
        self.is_over = False  # the other side has closed: so will this, once all is sent

    def events(self):
        reads = not self.other.unsent and not self.other.is_over
        return selectors.EVENT_READ * reads | selectors.EVENT_WRITE * bool(self.unsent)


class Proxy:
    """Hands everything on between a port of loopback and a unix socket, until it is told otherwise."""

    def __init__(self, target):
        self.target = str(target)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self.listener.getsockname()[1]
        self.ends = {}               # of clients, as they came
        self.orders = collections.deque()
        self.refuse_until = 0
        self.silent_until = 0        # nothing passes, in no direction; nobody is told
        self.is_closed = False
        self.bell, self.ear = socket.socketpair()
        self.selector = selectors.DefaultSelector()
        for waiting in (self.listener, self.ear):
            waiting.setblocking(False)
            self.selector.register(waiting, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run, name="proxy", daemon=True)
        self.thread.start()

    def cut(self, choose, refuse_s=0):
        """`choose` gets the list of connections and returns those to end; new ones are refused for a time."""
        self.orders.append((choose, time.monotonic() + refuse_s))
        self.bell.send(b"!")

    def be_silent(self, seconds):
        """Like a network that has lost its way: connections stay open, new ones are taken, nothing passes."""
        self.silent_until = time.monotonic() + seconds
        self.bell.send(b"!")

    def close(self):
        self.is_closed = True
        self.bell.send(b"!")
        self.thread.join(10)
        for waiting in (self.listener, self.ear, self.bell, self.selector):
            waiting.close()

    def run(self):
        while not self.is_closed:
            silent_s = self.silent_until - time.monotonic()
            if silent_s > 0:
                select.select([self.ear], [], [], silent_s)  # the kernel takes what comes meanwhile
                self.hear()
                continue
            for key, events in self.selector.select(1):
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj is self.ear:
                    self.hear()
                elif key.data.socket.fileno() >= 0:  # not closed just now
                    self.move(key.data, events)
        for end in list(self.ends):
            self.end(end)

    def hear(self):
        if not select.select([self.ear], [], [], 0)[0]:
            return
        self.ear.recv(4096)
        while self.orders:
            choose, refuse_until = self.orders.popleft()
            self.refuse_until = max(self.refuse_until, refuse_until)
            for end in choose(list(self.ends)):
                self.end(end, hard=True)

    def accept(self):
        try:
            client = self.listener.accept()[0]
        except OSError:
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            if time.monotonic() < self.refuse_until:
                raise ConnectionRefusedError
            server.connect(self.target)
        except OSError:
            server.close()
            self.reset(client)
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one, other = End(client), End(server)
        one.other, other.other = other, one
        self.ends[one] = None
        for end in (one, other):
            end.socket.setblocking(False)
            self.selector.register(end.socket, end.events(), end)

    def move(self, end, events):
        try:
            if events & selectors.EVENT_WRITE:
                end.unsent = end.unsent[end.socket.send(end.unsent):]
            elif events & selectors.EVENT_READ:
                end.other.unsent = end.socket.recv(1 << 16)
                end.other.is_over = not end.other.unsent
        except BlockingIOError:
            pass
        except OSError:
            return self.end(end)
        if any(side.is_over and not side.unsent for side in (end, end.other)):
            return self.end(end)
        for side in (end, end.other):
            self.watch(side)

    def watch(self, end):
        events, known = end.events(), end.socket in self.selector.get_map()
        if events and known:
            self.selector.modify(end.socket, events, end)
        elif events:
            self.selector.register(end.socket, events, end)
        elif known:
            self.selector.unregister(end.socket)

    def end(self, end, hard=False):
        for side in (end, end.other):
            self.ends.pop(side, None)
            if side.socket in self.selector.get_map():
                self.selector.unregister(side.socket)
            (self.reset if hard else socket.socket.close)(side.socket)

    def reset(self, connection):
        if connection.family == socket.AF_INET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
