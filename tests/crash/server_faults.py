"""What the chaos does to servers, and to the connections to them."""
import random
import time

FAIL_OVER_S = 120  # until who failed follows


class ServerFaults:
    """Each fault tells whether it hit anything. What it does later waits for do_what_is_due()."""

    def __init__(self, cluster, seed):
        self.cluster, self.random = cluster, random.Random(seed)
        self.is_down = False    # the server, or a member of the cluster
        self.is_silent = False  # a proxy
        self.moves = []         # slots that are on their way
        self.problems = []
        self.later = []         # (when, what to do)

    def after(self, seconds, action):
        self.later.append((time.monotonic() + seconds, action))

    def do_what_is_due(self, now):
        due = [action for when, action in self.later if when <= now]
        self.later = [(when, action) for when, action in self.later if when > now]
        for action in due:
            action()

    def cut_connections(self):
        """All or one; now and then none comes back for a while. Being cut alone excuses nobody. In a cluster it may
        be a replica that is cut off: nothing is confirmed until it is back."""
        self.cluster.note("cut")
        all_of_them, which = self.random.random() < 0.4, self.random.random()
        refuse_s = self.random.uniform(0.1, 1) if self.random.random() < 0.3 else 0

        def choose(connections):
            if all_of_them or not connections:
                return connections
            return [connections[int(which * len(connections))]]
        if not self.cluster.server.proxies:
            return self.cluster.server.cut(choose)
        since = time.monotonic_ns()
        proxies = self.cluster.server.proxies
        for proxy in proxies if all_of_them else [proxies[int(which * len(proxies))]]:
            proxy.cut(choose, refuse_s)

        def over():
            if self.cluster.is_redis_cluster and not self.cluster.server.ready():
                self.after(0.05, over)
            else:
                self.cluster.note("stall", since=since)
        if refuse_s or self.cluster.is_redis_cluster:
            self.after(max(refuse_s, 0.05), over)
        return True

    def black_hole(self):
        """Connections stay open and nothing passes: mostly for less than a lease, now and then for longer."""
        if self.is_silent or (self.cluster.is_redis_cluster and self.is_down):
            return False
        self.cluster.note("black hole")
        self.is_silent = True
        seconds, since = self.random.choice((0.2, 0.5, 1.4)) * self.cluster.lease_ms / 1000, time.monotonic_ns()
        self.random.choice(self.cluster.server.proxies).be_silent(seconds)

        def over():
            self.is_silent = False
            self.cluster.note("stall", since=since)
        self.after(seconds, over)
        return True

    def restart_server(self):
        """kill -9 of it, or of its replica, and after up to a second it is started on what is on its disk; a member of a
        cluster also when its replica has had the time to take over."""
        if self.is_down or self.moves:
            return False
        self.cluster.note("restart")
        self.is_down, since = True, time.monotonic_ns()
        server = self.cluster.server
        killed = self.random.choice(server.members)
        killed.kill()

        def until_it_answers():
            if killed.process.poll() is not None:
                self.note_problem(f"the server ended: {killed.log_text()[-2000:]}")
            elif server.ready():
                self.is_down = False
                self.cluster.note("stall", since=since)
            else:
                self.after(0.05, until_it_answers)

        def start():
            killed.launch()
            until_it_answers()
        self.after(self.random.uniform(0, 6 if self.cluster.is_redis_cluster else 1), start)
        return True

    def fail_over(self, is_behind=False):
        """Who took the place of another died stays there; the other follows it. `is_behind`: it lacks the last seconds."""
        server = self.cluster.server
        if self.is_down or self.moves or not server.ready():
            return False
        self.cluster.note("fail over")
        self.is_down, since, end = True, time.monotonic_ns(), time.monotonic() + FAIL_OVER_S
        steps = server.fail_over(self.random, is_behind) if is_behind else server.fail_over(self.random)

        def go_on():
            if next(steps, "over") == "over":
                self.is_down = False
                self.cluster.note("stall", since=since)
                if is_behind:
                    self.cluster.note("behind", since=since)
            else:
                if time.monotonic() > end:
                    self.too_late(f"nobody takes over: {server.log_text()}")
                self.after(0.05, go_on)
        go_on()
        return True

    def move_slot(self):
        """Of a shard or the registry. For a moment its keys are on both sides: commits to it wait, no longer than
        a lease."""
        server = self.cluster.server
        if self.is_down or self.moves or not server.ready():
            return False
        registry = server.master_of(server.slot_of("ordo"))
        queues = [text.split(":") for text in registry.ask("HVALS", "ordo:{ordo}:queues")]
        places = ["ordo", *(f"{number}:{shard}" for number, shards, _ in queues for shard in range(int(shards)))]
        slot = server.slot_of(self.random.choice(places))
        source = server.master_of(slot)
        self.cluster.note("move")
        move = server.begin_move(slot, self.random.choice([other for other in server.masters() if other is not source]))
        server.move_keys(move, self.random.randint(0, 3))
        self.moves.append(move)

        def finish():
            server.end_move(move)
            self.moves.remove(move)
        self.after(self.random.uniform(0, 0.8), finish)
        return True
