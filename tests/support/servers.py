"""Real servers of a store, alone in a folder, that can be killed and started again.

A server listens on a unix socket only, the members of a cluster on loopback, too. Nodes and producers may come
through a proxy (proxy.py); whoever judges them asks the server directly, if it is one alone.
"""
import binascii
import functools
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import time

from proxy import Proxy


PATIENCE_S = 240  # until it is given up, on however busy a machine; nothing takes so long


def wait_until(what, holds, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def has_content(file):
    """An empty file is no store yet."""
    return file.exists() and file.stat().st_size > 0


ports = []  # what marks them as taken, as long as this process lives


def free_port():
    """Outside of what the kernel gives to outgoing connections, and no other test's: it stays free while its server is
    not there yet, or down."""
    while True:
        port = random.SystemRandom().randrange(11_000, 32_000)
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0ordo-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            continue
        ports.append(mark)
        return port


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Server:
    """Start it in the main thread: it dies with the thread that started it."""

    def __init__(self, folder):
        self.folder, self.process = pathlib.Path(folder), None
        self.folder.mkdir(mode=0o755)
        self.proxies = []
        self.members = [self]  # each has a process
        self.within, self.address = (), "127.0.0.1"  # of those that are reached by a port: what starts it there

    def settle(self, network):
        """Its processes will be where a network has its servers; so must be who wants to reach one by its port."""
        for member in {self, *self.members}:
            member.within, member.address = network.middle.prefix, network.ADDRESS

    def proxied(self):
        """The URL that leads through proxies, which are made here, before the start."""
        self.proxies = [Proxy(self.path)]
        return self.through(self.proxies[0].port)

    def close(self):
        """Ends it for good."""
        self.kill()
        for proxy in self.proxies:
            proxy.close()

    def command(self):
        """What starts it."""
        raise NotImplementedError

    def ready(self):
        """Whether it answers."""
        raise NotImplementedError

    def launch(self):
        """Starts it, on the data that are there; it answers later."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.die_with_us(), *self.within, *self.command()], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def die_with_us(self):
        return ["setpriv", "--pdeathsig", "KILL"]

    def start(self):
        self.launch()
        end = time.monotonic() + PATIENCE_S
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
        # Nor its memory, or the next postmaster does not start.
        while any(is_alive(child) for child in children.split()):
            time.sleep(0.002)

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
    password = None

    def __init__(self, folder):
        super().__init__(folder)
        self.path = self.folder / "redis.sock"
        self.direct = f"redis+unix://{self.path}"

    @property
    def announced(self):
        """Where others find it."""
        return self.proxies[0].port if self.proxies else self.port

    def through(self, port, host="127.0.0.1"):
        return f"redis://{host}:{port}"

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket", str(self.path), "--dir", str(self.folder),
                "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                "--auto-aof-rewrite-min-size", "1gb"]

    def ready(self):
        return self.answer(self.path, b"PING\r\n").startswith((b"+PONG", b"-NOAUTH"))

    def cli(self, commands):
        """What redis-cli prints when it reads `commands`."""
        return subprocess.run(["redis-cli", "-s", str(self.path)], input=commands, capture_output=True,
                              text=True, check=True, timeout=PATIENCE_S).stdout

    def ask(self, *words):
        """The reply to one command: text, a number, None or a list of these."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(self.path))
            parts = [str(word).encode() for word in words]
            sign_on = f"AUTH {self.password}\r\n".encode() if self.password else b""
            connection.sendall(sign_on + b"*%d\r\n" % len(parts) +
                               b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
            with connection.makefile("rb") as replies:
                return [self.reply(replies) for _ in range(2 if sign_on else 1)][-1]

    # Of a replica.

    def fall_behind(self):
        """Its master refuses it: what that one does from now on does not come here."""
        self.ask("CONFIG", "SET", "masteruser", "nobody", "masterauth", "x")
        self.ask("CLIENT", "KILL", "TYPE", "master")

    def keep_up(self):
        self.ask("CONFIG", "SET", "masteruser", "", "masterauth", "")

    def reply(self, replies):
        line = replies.readline().rstrip(b"\r\n").decode()
        kind, value = line[:1], line[1:]
        if kind in ("", "-"):
            raise OSError(f"{self.path} says {value or 'nothing'}")
        if kind == "+":
            return value
        if kind == ":" or int(value) < 0:
            return int(value) if kind == ":" else None
        if kind == "*":
            return [self.reply(replies) for _ in range(int(value))]
        return replies.read(int(value) + 2)[:-2].decode(errors="replace")

    def empty(self):
        self.cli("FLUSHALL")


def port_words(port, tls):
    """The settings by which a server listens on a port: with TLS alone if there is a folder with `cert` and `key`."""
    if tls is None:
        return ["--port", str(port), "--protected-mode", "no"]  # which serves nobody on a network
    return ["--port", "0", "--tls-port", str(port), "--tls-replication", "yes", "--tls-auth-clients", "no", "--tls-cert-file",
            str(tls / "cert"), "--tls-key-file", str(tls / "key"), "--tls-ca-cert-file", str(tls / "cert")]


class Guarded(Redis):
    """One of a master and its replicas, which sentinels watch; on loopback."""

    def __init__(self, folder, settings=(), tls=None):
        super().__init__(folder)
        self.port, self.settings, self.tls = free_port(), list(settings), tls

    def command(self):
        self.folder.joinpath("redis.conf").touch()  # a sentinel has it rewritten
        announced = ["--replica-announce-ip", self.address, "--replica-announce-port", str(self.announced)] if self.proxies else []
        return ["redis-server", str(self.folder / "redis.conf"), *super().command()[1:], *port_words(self.port, self.tls), "--bind",
                self.address, *announced, "--repl-diskless-sync-delay", "0", *self.settings]

    @property
    def role(self):
        return self.ask("ROLE")[0]

    def is_in_sync(self):
        try:
            facts = dict(line.partition(":")[::2] for line in self.ask("INFO", "replication").splitlines())
            return facts.get("master_link_status") == "up"
        except OSError:
            return False


class Sentinel(Redis):
    """Watches one master."""

    def __init__(self, folder, master, quorum, down_ms, settings=()):
        super().__init__(folder)
        self.port = free_port()
        self.master, self.quorum, self.down_ms, self.settings = master, quorum, down_ms, settings

    def configure(self):
        words = port_words(self.port, self.master.tls)
        lines = [*(f"{name[2:]} {value}" for name, value in zip(words[::2], words[1::2])), f"bind {self.address}",
                 f"unixsocket {self.path}", f"dir {self.folder}",
                 f"sentinel monitor {SentinelGroup.NAME} {self.address} {self.master.announced} {self.quorum}",
                 f"sentinel down-after-milliseconds {SentinelGroup.NAME} {self.down_ms}",
                 f"sentinel failover-timeout {SentinelGroup.NAME} 4000", *self.settings]
        (self.folder / "sentinel.conf").write_text("\n".join(lines) + "\n")

    def command(self):
        if not self.folder.joinpath("sentinel.conf").exists():  # which the sentinel writes anew
            self.configure()
        return ["redis-server", str(self.folder / "sentinel.conf"), "--sentinel"]


def some_time(chance):
    """Until a replica lacks something."""
    end = time.monotonic() + chance.uniform(0.5, 3)
    while time.monotonic() < end:
        yield


class SentinelGroup(Server):
    """Three sentinels, a master and two replicas; `?wait=1` is the stores'."""
    NAME = "jobs"

    def __init__(self, folder, down_ms=1000, settings=(), sentinel_settings=(), options="?wait=1", sign_on="",
                 tls=None, is_far=False):
        super().__init__(folder)
        self.tls = tls
        self.servers = [Guarded(self.folder / f"server{i}", settings, tls) for i in range(3)]
        self.sentinels = [Sentinel(self.folder / f"sentinel{i}", self.servers[0], 2, down_ms, sentinel_settings)
                          for i in range(3)]
        self.options, self.sign_on = options, sign_on
        self.members = [*self.servers, *self.sentinels]
        if is_far:  # all find them at proxies
            for member in self.members:
                member.proxied()
            self.proxies = [proxy for member in self.members for proxy in member.proxies]

    def proxied(self):
        """Nothing stands between: sentinels tell where the servers themselves are."""
        return self.direct

    @property
    def direct(self):
        hosts = ",".join(f"{self.address}:{sentinel.announced}" for sentinel in self.sentinels)
        secure = f"&ca={self.tls}/cert" * bool(self.tls)
        return f"redis{'s' * bool(self.tls)}+sentinel://{self.sign_on}{hosts}/{self.NAME}{self.options}{secure}"

    def start(self):
        for server in self.servers:
            alone, is_new = server.settings, not server.folder.joinpath("redis.conf").exists()
            if is_new and server is not self.servers[0]:
                server.settings = [*alone, "--replicaof", self.address, str(self.servers[0].announced)]
            server.start()
            server.settings = alone
        for replica in self.servers[1:]:
            wait_until("the replica follows", replica.is_in_sync)
            replica.ask("CONFIG", "REWRITE")  # it is one when it is started again, too
        for sentinel in self.sentinels:
            sentinel.start()
        wait_until("the sentinels know all", self.ready)

    def ready(self):
        """Whether all sentinels name one master, know each other and its replicas, and these follow it."""
        try:
            facts = [self.facts(sentinel) for sentinel in self.sentinels]
            master = self.master()
            return all(fact["flags"] == "master" and fact["num-other-sentinels"] == "2" and fact["num-slaves"] == "2" and
                       int(fact["port"]) == master.announced for fact in facts) and \
                all(server is master or server.is_in_sync() for server in self.servers)
        except (OSError, StopIteration):
            return False

    def facts(self, sentinel):
        words = sentinel.ask("SENTINEL", "MASTER", self.NAME)
        return dict(zip(words[::2], words[1::2]))

    def master(self):
        """As the sentinels say."""
        port = int(self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.NAME)[1])
        return next(server for server in self.servers if server.announced == port)

    def cut(self, choose):
        """`choose` gets the list of the clients of the master and returns those whose connections are to end. False: there
        is no master just now."""
        try:
            master = self.master()
            clients = [dict(word.partition("=")[::2] for word in line.split())
                       for kind in ("normal", "pubsub") for line in master.ask("CLIENT", "LIST", "TYPE", kind).splitlines()]
            for client in choose([client for client in clients if not client["name"].startswith("sentinel-")]):
                master.ask("CLIENT", "KILL", "ID", client["id"])
            return True
        except (OSError, StopIteration):
            return False

    def kill(self):
        for server in self.sentinels + self.servers:
            server.kill()

    def fail_over(self, chance, is_behind=False):
        """The master is killed; it comes back when the sentinels have given its place to another. Yields while it waits."""
        old = self.master()
        replicas = [server for server in self.servers if server is not old]
        if is_behind:
            for replica in replicas:
                replica.fall_behind()
            yield from some_time(chance)
        old.kill()
        while self.names(old):
            yield
        if is_behind:
            for replica in replicas:
                replica.keep_up()
        old.launch()
        while not self.ready():
            yield

    def names(self, server):
        """Whether a sentinel takes it for the master."""
        try:
            return any(int(self.facts(sentinel)["port"]) == server.announced for sentinel in self.sentinels)
        except OSError:
            return True

    def empty(self):
        self.master().ask("FLUSHALL", "SYNC")

    def log_text(self):
        return "\n".join(server.log_text()[-1000:] for server in self.sentinels + self.servers)


SLOTS = 16384


class Member(Redis):
    """A server of a cluster. Others and clients find it at its proxy, if it has one."""

    def __init__(self, folder, settings):
        super().__init__(folder)
        self.port, self.bus_port, self.settings, self.tls = free_port(), free_port(), settings, None

    def command(self):
        announced = ["--cluster-announce-port", str(self.proxies[0].port)] if self.proxies else []
        ports = [*port_words(self.port, self.tls), *["--tls-cluster", "yes"] * bool(self.tls)]
        return [*super().command(), *ports, "--bind", self.address, "--cluster-enabled", "yes",
                "--cluster-port", str(self.bus_port), "--repl-diskless-sync-delay", "0", *announced, *self.settings]

    def facts(self, *words):
        lines = (line.partition(":") for line in self.ask(*words).splitlines())
        return {name: value for name, _, value in lines}

    def master_ports(self):
        """[(first slot, last slot, announced port of the master)] as this one sees it."""
        return [(first, last, master[1]) for first, last, master, *_ in self.ask("CLUSTER", "SLOTS")]

    def first_slot(self):
        """Of its own."""
        return min(first for first, _, port in self.master_ports() if port == self.announced)


class RedisCluster(Server):
    """Three masters, each with a replica if they are to fail over; `?wait=1` is then the stores', unless nobody waits."""
    MASTERS = 3

    def __init__(self, folder, fails_over=False, settings=(), tls=None, waits=True):
        super().__init__(folder)
        self.waits = fails_over and waits
        self.fails_over, self.tls = fails_over, tls  # a folder with cert and key: nothing goes without TLS
        # Only who has a replica has a reason to hurry: a slow machine must not look like a dead one.
        timeout = ["--cluster-node-timeout", "1500" if fails_over else "30000",
                   "--cluster-replica-validity-factor", "0"]
        self.members = [Member(self.folder / f"member{i}", [*timeout, *settings])
                        for i in range(self.MASTERS * (2 if fails_over else 1))]
        for member in self.members:
            member.tls = tls
        self.is_formed = False

    @property
    def direct(self):
        hosts = ",".join(f"{self.address}:{member.announced}" for member in self.members)
        options = ["wait=1"] * self.waits + [f"ca={self.tls}/cert"] * bool(self.tls)
        return f"redis{'s' * bool(self.tls)}://{hosts}" + "?" * bool(options) + "&".join(options)

    def proxied(self):
        for member in self.members:
            member.proxied()
        self.proxies = [proxy for member in self.members for proxy in member.proxies]
        return self.direct

    def start(self):
        for member in self.members:
            member.launch()
        wait_until("all members answer", lambda: all([self.answers(member) for member in self.members]))
        if not self.is_formed:
            self.form()
        wait_until("the cluster is up", self.ready)

    def answers(self, member):
        if member.process.poll() is not None and not self.is_formed:
            member.port, member.bus_port = free_port(), free_port()  # somebody else was faster
            member.launch()
        return member.ready()

    def form(self):
        masters = self.members[:self.MASTERS]
        for i, member in enumerate(masters):
            member.ask("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            member.ask("CLUSTER", "ADDSLOTSRANGE", i * SLOTS // self.MASTERS, (i + 1) * SLOTS // self.MASTERS - 1)
        for member in self.members[1:]:
            masters[0].ask("CLUSTER", "MEET", self.address, member.port, member.bus_port)
        known = str(len(self.members))
        wait_until("all know all", lambda: all(member.facts("CLUSTER", "INFO")["cluster_known_nodes"] == known
                                               for member in self.members))
        for i, member in enumerate(self.members[self.MASTERS:]):
            wait_until("it can follow", lambda member=member, i=i: self.follow(member, masters[i]))
        self.is_formed = True

    @staticmethod
    def follow(replica, master):
        try:
            return replica.ask("CLUSTER", "REPLICATE", master.ask("CLUSTER", "MYID")) == "OK"
        except OSError:
            return False  # it has not yet heard what that one is

    def launch(self):
        for member in self.members:
            if member.process is None:
                member.launch()

    def ready(self):
        """Whether every slot is served, and every master has its replica."""
        try:
            facts = [member.facts("CLUSTER", "INFO") for member in self.members]
            views = [sorted(member.master_ports()) for member in self.members]
            masters = self.masters()
            return all(fact["cluster_state"] == "ok" for fact in facts) and len(masters) == self.MASTERS and \
                all(view == views[0] for view in views) and \
                all(self.has_replica(master) for master in masters if self.fails_over)
        except OSError:
            return False

    @staticmethod
    def has_replica(master):
        return "state=online" in master.facts("INFO", "replication").get("slave0", "")

    def kill(self):
        for member in self.members:
            member.kill()

    def close(self):
        for member in self.members:
            member.close()

    def log_text(self):
        return "\n".join(member.log_text()[-1000:] for member in self.members)

    def empty(self):
        for master in self.masters():
            master.ask("FLUSHALL", "SYNC")

    def fail_over(self, chance, is_behind=False):
        """A master is killed, or asked to step back, and its replica takes over. Yields while it waits."""
        old = chance.choice(self.masters())
        slot, is_planned = old.first_slot(), not is_behind and chance.random() < 0.3
        replica = next(member for member in self.members if member.ask("ROLE")[:3:2] == ["slave", old.announced])
        if is_behind:
            replica.fall_behind()
            yield from some_time(chance)
        if not is_planned:
            old.kill()
        asked = 0
        while self.master_of(slot) in (None, old):
            if is_planned and time.monotonic() > asked + 6:  # after 5 s it is given up
                replica.ask("CLUSTER", "FAILOVER")
                asked = time.monotonic()
            yield
        if is_behind:
            replica.keep_up()
        self.launch()
        while not self.ready():
            yield

    # Slots --------------------------------------------------------------------------------------------------

    @staticmethod
    def slot_of(place):
        """Of a shard ("3:0") or the registry ("ordo")."""
        return binascii.crc_hqx(place.encode(), 0) % SLOTS

    def masters(self):
        """Those that have slots by their own account."""
        return [member for member in self.members if member.process is not None and
                any(port == member.announced for _, _, port in member.master_ports())]

    def master_of(self, slot):
        """The member that says it has the slot, if there is one."""
        for member in self.members:
            try:
                if any(first <= slot <= last and port == member.announced
                       for first, last, port in member.master_ports()):
                    return member
            except OSError:
                continue
        return None

    def begin_move(self, slot, to):
        """The slot's keys may be on either side from now on. Returns what move_keys() and end_move() want."""
        source = self.master_of(slot)
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.ask("CLUSTER", "MYID"))
        return slot, source, to

    @staticmethod
    def move_keys(move, most=1_000_000):
        slot, source, to = move
        for _ in range(most):
            keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1)
            if not keys:
                break
            source.ask("MIGRATE", "127.0.0.1", to.port, keys[0], 0, 10000)

    def end_move(self, move):
        slot, source, to = move
        self.move_keys(move)
        node_id = to.ask("CLUSTER", "MYID")
        for member in (to, source):
            member.ask("CLUSTER", "SETSLOT", slot, "NODE", node_id)
        # Without the highest epoch everywhere, what the old owner said before may still be believed.
        wait_until("all know who has the slot", lambda: self.agree(slot, to, node_id))

    def agree(self, slot, to, node_id):
        wanted = to.facts("CLUSTER", "INFO")
        agreed = wanted["cluster_my_epoch"] == wanted["cluster_current_epoch"]
        if not agreed:
            to.ask("CLUSTER", "BUMPEPOCH")
        for master in self.masters():
            agreed &= master.facts("CLUSTER", "INFO")["cluster_current_epoch"] == wanted["cluster_current_epoch"]
            if not any(first <= slot <= last and port == to.announced for first, last, port in master.master_ports()):
                master.ask("CLUSTER", "SETSLOT", slot, "NODE", node_id)
                agreed = False
        return agreed

    def move(self, slot, to):
        self.end_move(self.begin_move(slot, to))


class Postgres(Server):
    """With the settings it comes with; it refuses to run as root. `of`: a standby of that one, which must run."""

    def __init__(self, folder, of=None, connections=300):
        super().__init__(folder)
        self.connections = connections
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
        if self.make(of).wait(PATIENCE_S) != 0:
            raise AssertionError("the data cannot be made")

    def make(self, of=None):
        """What makes the data anew."""
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        make = ["initdb", "-A", "trust", "-U", "postgres", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8"]
        if of is not None:
            make = ["pg_basebackup", "-R", "-U", "postgres", "-h", str(of.folder), "--checkpoint=fast", "--no-sync"]
        return subprocess.Popen([*self.die_with_us(), f"{self.programs}/{make[0]}", *make[1:], "-D", str(data)],
                                stdout=subprocess.DEVNULL, cwd=self.folder)

    def through(self, port, host="127.0.0.1"):
        return f"postgres://postgres@{host}:{port}/postgres"

    def die_with_us(self):
        user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return ["setpriv", *user, "--pdeathsig", "KILL"]

    def command(self):
        return [f"{self.programs}/postgres", "-D", str(self.folder / "data"), "-c", "listen_addresses=", "-c",
                f"unix_socket_directories={self.folder}", "-c", f"max_connections={self.connections}", "-c", "wal_keep_size=256MB",
                "-c", "wal_retrieve_retry_interval=200ms"]

    def ready(self):
        settings = b"user\0postgres\0database\0postgres\0\0"
        return self.answer(self.path, struct.pack("!II", 8 + len(settings), 3 << 16) + settings)[:1] == b"R"

    def psql(self, statements):
        """What psql prints when it reads `statements`: values without decoration."""
        return subprocess.run([f"{self.programs}/psql", "-XqtA", "-v", "ON_ERROR_STOP=1", self.direct],
                              input=statements, capture_output=True, text=True, check=True,
                              timeout=PATIENCE_S).stdout

    # Of a standby.

    def follow(self, primary):
        """Everything the primary acknowledges is here, too, from now on."""
        wait_until("it follows", lambda: primary.psql("SELECT count(*) FROM pg_stat_replication") != "0\n")
        primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();")
        wait_until("commits wait for it", lambda: "sync\n" in primary.psql("SELECT sync_state FROM pg_stat_replication"))

    def fall_behind(self):
        """What the primary does from now on does not come here."""
        self.psql("ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf();")
        wait_until("it is cut off", lambda: self.psql("SELECT count(*) FROM pg_stat_wal_receiver") == "0\n")

    def take_over(self):
        self.psql("SELECT pg_promote();")
        wait_until("it is the primary", self.is_primary)

    def is_primary(self):
        return self.ready() and self.psql("SELECT pg_is_in_recovery()") == "f\n"

    def empty(self):
        self.psql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")


class Pair(Server):
    """A primary and its replica behind one address. What is acknowledged both have, and the second takes the place of the
    first when it dies."""

    def __init__(self, folder, kind):
        super().__init__(folder)
        self.folder.parent.chmod(0o711)  # PostgreSQL's user must get there
        self.members = [kind(self.folder / "a")]

    def proxied(self):
        self.proxies = [Proxy(self.members[0].path)]
        self.for_judges = Proxy(self.members[0].path)
        self.direct = self.through(self.for_judges.port)
        return self.through(self.proxies[0].port)

    def lead_to(self, member):
        for proxy in (*self.proxies, self.for_judges):
            proxy.target = str(member.path)

    def kill(self):
        for member in self.members:
            member.kill()

    def close(self):
        super().close()
        self.for_judges.close()

    def log_text(self):
        return "\n".join(member.log_text()[-1000:] for member in self.members)

    def fail_over(self, chance, is_behind=False):
        """The primary is killed, the other takes its place, and it follows that one from then on. Yields while it waits."""
        if is_behind:
            self.fall_behind()
            yield from some_time(chance)
        is_early = chance.random() < 0.5  # clients find the new one before it is a primary
        self.members[0].kill()
        self.members.reverse()
        if is_early:
            self.lead_to(self.members[0])
        yield from self.promote(*self.members)
        self.lead_to(self.members[0])
        yield from self.follow(*self.members)
        while not self.ready():
            yield


class PostgresPair(Pair):
    def __init__(self, folder):
        super().__init__(folder, Postgres)
        self.through, self.programs = self.members[0].through, self.members[0].programs

    def start(self):
        self.members[0].start()
        self.members.append(Postgres(self.folder / "b", of=self.members[0]))
        self.members[1].start()
        self.members[1].follow(self.members[0])

    def ready(self):
        primary, standby = self.members
        return primary.ready() and standby.ready() and "sync\n" in primary.psql("SELECT sync_state FROM pg_stat_replication")

    def fall_behind(self):
        """Nobody waits for the standby any more, which gets nothing more."""
        primary, standby = self.members
        primary.psql("ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf();")
        standby.fall_behind()

    @staticmethod
    def promote(primary, _):
        primary.psql("SELECT pg_promote(false)")
        while not primary.is_primary():
            yield

    @staticmethod
    def follow(primary, standby):
        making = standby.make(of=primary)
        while making.poll() is None:
            yield
        standby.launch()
        while not standby.ready():
            yield
        primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();")


class RedisPair(Pair):
    """`?wait=1` is the stores', or nobody waits for the replica."""

    def __init__(self, folder, options="?wait=1"):
        super().__init__(folder, Guarded)
        self.options = options
        self.members.append(Guarded(self.folder / "b", self.replica_of(self.members[0])))

    @staticmethod
    def replica_of(primary):
        return ["--replicaof", "127.0.0.1", str(primary.port)]

    def through(self, port, host="127.0.0.1"):
        return f"redis://{host}:{port}{self.options}"

    def start(self):
        for member in self.members:
            member.start()
        wait_until("the replica follows", self.ready)

    def ready(self):
        primary, replica = self.members
        return primary.ready() and replica.ready() and replica.is_in_sync()

    def fall_behind(self):
        self.members[1].fall_behind()

    @staticmethod
    def promote(primary, _):
        primary.ask("REPLICAOF", "NO", "ONE")
        primary.settings = []
        return ()

    def follow(self, primary, replica):
        replica.settings = self.replica_of(primary)
        replica.launch()
        return ()


STORES = {"redis:": Redis, "redis-cluster:": RedisCluster, "postgres:": Postgres}
FAILING_OVER = {"redis-cluster:": functools.partial(RedisCluster, fails_over=True), "postgres:": PostgresPair,
                "redis-replica:": RedisPair, "redis-sentinel:": SentinelGroup}
FALLING_BEHIND = {"postgres:": PostgresPair, "redis-replica:": functools.partial(RedisPair, options=""),
                  "redis-sentinel:": functools.partial(SentinelGroup, options=""),
                  "redis-cluster:": functools.partial(RedisCluster, fails_over=True, waits=False)}
