"""A proxy before a server: its connections can be cut, be slow, or stay open while nothing passes."""
import collections
import heapq
import itertools
import random
import select
import selectors
import socket
import struct
import threading
import time


FOR_EVER_S = 1e6
UNDER_WAY = 64   # pieces of a slow connection
RESENT_S = 0.2   # at first; twice as long each time


class End:
    """One side of a connection through the proxy."""

    def __init__(self, connection):
        self.socket, self.other = connection, None
        self.unsent = b""
        self.late = collections.deque()  # (when, what) is still on its way to it
        self.is_ending = False  # the other side has closed: nothing more is read there
        self.is_over = False  # and this will close, too, once all is sent
        self.is_dropped = False

    def events(self):
        if self.is_dropped:
            return 0
        reads = not self.other.unsent and not self.other.is_ending and len(self.other.late) < UNDER_WAY
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
        self.heard, self.silent_at = 0, None  # pieces of clients, and with which one silence begins
        self.silent_until = 0        # nothing passes, in no direction; nobody is told
        self.orphans = []            # ends of clients that nobody reads
        self.wires, self.tripped = collections.deque(), 0
        self.delay_s, self.loss, self.lost = 0, 0, 0
        self.due, self.tickets = [], itertools.count()  # ends to which something is under way: (when, ticket, end)
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
                    side.is_dropped = True
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

    def worsen(self, delay_s, loss=0):
        """From now on each piece is so long under way, in either direction. As one that is lost it comes as late as if it
        had been sent again, and what was sent behind it waits."""
        self.delay_s, self.loss = delay_s, loss

    def be_silent_after(self, pieces):
        """For ever, once clients have said so much: what they say then nobody hears."""
        self.silent_at = self.heard + pieces + 1
        if pieces == 0:
            self.be_silent(FOR_EVER_S)

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
        if self.is_closed:
            return
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
            self.arrive()
            wait_s = self.due[0][0] - time.monotonic() if self.due else 1
            for key, events in self.selector.select(max(0, min(wait_s, 1))):
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
                text = end.socket.recv(1 << 16)
                self.heard += end in self.ends
                if self.heard == self.silent_at:
                    self.silent_until = time.monotonic() + FOR_EVER_S
                    return None
                if self.wires and end in self.ends and self.wires[0][0] in text:
                    if self.wires.popleft()[1]:
                        end.other.socket.send(text)
                    self.tripped += 1
                    return self.end(end, hard=True)
                end.other.is_ending = not text
                self.hand_on(text, end.other)
        except BlockingIOError:
            pass
        except OSError:
            return self.end(end)
        if any(side.is_over and not side.unsent for side in (end, end.other)):
            return self.end(end)
        for side in (end, end.other):
            self.watch(side)

    def hand_on(self, text, end):
        """Empty: its other side has closed."""
        if not (self.delay_s or self.loss or end.late):
            end.unsent, end.is_over = text, not text
            return
        when, again_s = time.monotonic() + self.delay_s, RESENT_S
        while random.random() < self.loss:
            self.lost += 1
            when, again_s = when + again_s, 2 * again_s
        when = max(when, end.late[-1][0]) if end.late else when
        end.late.append((when, text))
        heapq.heappush(self.due, (when, next(self.tickets), end))

    def arrive(self):
        """What is slow, and was long enough under way."""
        while self.due and self.due[0][0] <= time.monotonic():
            end = heapq.heappop(self.due)[2]
            if min(end.socket.fileno(), end.other.socket.fileno()) < 0 or end.is_dropped:
                continue
            text = end.late.popleft()[1]
            end.unsent, end.is_over = end.unsent + text, not text
            if end.is_over and not end.unsent:
                self.end(end)
                continue
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
