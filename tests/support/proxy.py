"""A proxy before a server: its connections can be cut, or stay open while nothing passes."""
import collections
import select
import selectors
import socket
import struct
import threading
import time


class End:
    """One side of a connection through the proxy."""

    def __init__(self, connection):
        self.socket, self.other = connection, None
        self.unsent = b""
        self.is_over = False  # the other side has closed: so will this, once all is sent
        self.is_dropped = False

    def events(self):
        if self.is_dropped:
            return 0
        reads = not self.other.unsent and not self.other.is_over
        return selectors.EVENT_READ * reads | selectors.EVENT_WRITE * bool(self.unsent)


class Proxy:
    """Hands everything on between a port of `address` and `target`, the path of a unix socket or (host, port), until it
    is told otherwise."""

    def __init__(self, target, address="127.0.0.1"):
        self.target = target if isinstance(target, tuple) else str(target)
        self.listener = socket.create_server((address, 0), backlog=200)
        self.port = self.listener.getsockname()[1]
        self.ends = {}               # of clients, as they came
        self.orders = collections.deque()
        self.refuse_until = 0
        self.silent_until = 0        # nothing passes, in no direction; nobody is told
        self.orphans = []            # ends of clients that nobody reads
        self.wires, self.tripped = collections.deque(), 0
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

    def cut_at(self, text, reaches_server):
        """The next connection on which a client says `text` is cut: before the server has heard it, or behind."""
        self.wires.append((text, reaches_server))

    def forget(self):
        """Connections that are there stay open for their clients, and nothing passes there any more."""
        def choose(ends):
            for end in ends:
                self.orphans.append(end.socket)
                for side in (end, end.other):
                    self.ends.pop(side, None)
                    if side.socket in self.selector.get_map():
                        self.selector.unregister(side.socket)
                end.other.socket.close()
            return []
        self.cut(choose)

    def be_silent(self, seconds):
        """Like a network that has lost its way: connections stay open, new ones are taken, nothing passes."""
        self.silent_until = time.monotonic() + seconds
        self.bell.send(b"!")

    def drop_flows(self):
        """Like a router that has forgotten them: connections stay open, nothing passes; new ones are served."""
        self.orders.append((self.drop, 0))
        self.bell.send(b"!")

    def drop(self, ends):
        for end in ends:
            for side in (end, end.other):
                side.is_dropped = True
                self.watch(side)
        return []

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
                elif min(key.data.socket.fileno(), key.data.other.socket.fileno()) >= 0 and not key.data.is_dropped:  # not just now
                    self.move(key.data, events)
        for end in list(self.ends):
            self.end(end)
        for orphan in self.orphans:
            orphan.close()

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
        server = socket.socket(socket.AF_INET if isinstance(self.target, tuple) else socket.AF_UNIX)
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
                if self.wires and end in self.ends and self.wires[0][0] in end.other.unsent:
                    if self.wires.popleft()[1]:
                        end.other.socket.send(end.other.unsent)
                    self.tripped += 1
                    return self.end(end, hard=True)
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
