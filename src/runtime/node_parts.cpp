// Wires the parts of a node together; decides nothing.
#include "runtime/node_parts.h"

#include <algorithm>
#include <memory>
#include <ranges>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/redact.h"
#include "base/time_text.h"
#include "domain/fields.h"
#include "domain/gates.h"
#include "execute/command_worker.h"

namespace ordo::runtime {
namespace {

NodeFacts facts_of(const NodeOptions& options, const PartsPlan& plan) {
  auto facts = plan.facts;
  const auto in_default_pool = [](const QueueOptions& queue) { return !queue.threads; };
  facts.threads = std::ranges::any_of(plan.queues, in_default_pool) ? options.threads : 0;
  for (const auto& queue : plan.queues) {
    if (queue.threads) facts.threads += *queue.threads;
    for (auto& group : domain::groups_of(queue)) facts.groups.emplace_back(queue.name, std::move(group));
    if (queue.throttler) facts.throttled.push_back(queue.name);
  }
  for (const auto& [kind, worker] : plan.workers) {
    facts.kinds.push_back(kind);
    if (auto why = execute::why_no_program(worker))
      facts.unable.push_back({kind.first, kind.second, *std::move(why)});
  }
  return facts;
}

std::vector<store::QueueWish> wishes_of(const std::vector<QueueOptions>& queues) {
  std::vector<store::QueueWish> wishes;
  for (const auto& queue : queues) wishes.push_back(wish_of(queue));
  return wishes;
}

/// Where the workers of a queue stand, beside each other.
auto range_of(PartsPlan::Workers& workers, const std::string& queue) {
  const auto first = workers.lower_bound({queue, ""});
  auto last = first;
  while (last != workers.end() && last->first.first == queue) ++last;
  return std::ranges::subrange(first, last);
}

void forget_workers(PartsPlan::Workers& workers, const std::string& queue) {
  const auto [first, last] = range_of(workers, queue);
  workers.erase(first, last);
}

}  // namespace

std::vector<std::size_t> pool_sizes(const NodeOptions& options, const std::vector<QueueOptions>& queues) {
  std::vector<std::size_t> sizes{options.threads};
  for (const auto& queue : queues) {
    if (queue.threads) sizes.push_back(*queue.threads);
  }
  return sizes;
}

NodeParts::NodeParts(const NodeOptions& options, PartsPlan plan, store::Store& store, Clock& clock,
                     Random& random, RunSink& sink, PartsHooks hooks)
    : id_(plan.id),
      options_(options),
      store_(store),
      clock_(clock),
      hooks_(std::move(hooks)),
      plan_(std::move(plan)),
      lease_(clock, options.lease),
      engine_(options, store, clock, Random(random.next()), lease_, sink, engine_hooks()),
      follower_(store, engine_.inbox(), id_),
      fetcher_(store, engine_.inbox()),
      responses_(store, id_, hooks_.log),
      sweeper_(store, clock),
      heartbeat_(options, id_, store, clock, Random(random.next()), lease_, heartbeat_hooks()),
      keeper_(options, facts_of(options, plan_), wishes_of(plan_.queues), store, clock, Random(random.next()),
              lease_, heartbeat_, keeper_hooks()) {
  for (const auto& limit : plan_.limits) engine_.add_limit(limit);
  std::size_t own_pools = 0;
  for (const auto& queue : plan_.queues) {
    std::map<std::string, Worker*> workers;
    for (const auto& [name, worker] : range_of(plan_.workers, queue.name)) workers[name.second] = worker;
    engine_.serve(queue, queue.threads ? ++own_pools : 0, std::move(workers));
    responses_.serve(queue);
  }
}

EngineHooks NodeParts::engine_hooks() {
  EngineHooks hooks;
  hooks.fetch = [this](auto shard, auto epoch, auto run, auto seqs) {
    fetcher_.request(shard, epoch, run, std::move(seqs));
    poke(Part::fetcher);
  };
  hooks.close_wait = [this](auto shard, auto epoch, const auto& queue, auto wait) {
    fetcher_.close(shard, epoch, queue, std::move(wait));
    poke(Part::fetcher);
  };
  hooks.keep_response = [this](auto shard, auto epoch, const auto& queue, auto response) {
    fetcher_.keep(shard, epoch, queue, response);
    poke(Part::fetcher);
  };
  hooks.free_row = [this](auto shard, auto epoch, const auto& queue, auto row) {
    fetcher_.free(shard, epoch, queue, std::move(row));
    poke(Part::fetcher);
  };
  hooks.read_kept = [this](auto shard, auto epoch, auto from) {
    fetcher_.read_kept(shard, epoch, from);
    poke(Part::fetcher);
  };
  hooks.answer = [this](const auto& question, auto bytes) {
    fetcher_.answer(id_, question, std::move(bytes));
    poke(Part::fetcher);
  };
  hooks.events = hooks_.events;
  hooks.died = hooks_.died;
  hooks.lost = [this](auto shard, auto lease) {
    follower_.remove(shard, lease);
    keeper_.lost(shard, lease);
    poke(Part::keeper);
  };
  hooks.released = [this](const store::Release& end) {
    follower_.remove(end.shard, end.lease);
    keeper_.released(end);
    poke(Part::keeper);
  };
  hooks.refused = hooks.released;
  hooks.log = hooks_.log;
  hooks.facts_changed = [this] { poke(Part::keeper); };
  hooks.lent = [this] {
    keeper_.wake_others();
    poke(Part::keeper);
  };
  hooks.read_on = [this] { store_.wake(); };
  hooks.newer = [this](auto shard, std::uint16_t needs) {
    if (keeper_.leave_to_newer(shard, needs)) {
      say(LogLevel::warning,
          fmt::format("shard {} of queue '{}' waits for a newer node: what stands in it has format {}, "
                      "this version of Ordo knows {}",
                      shard.index, engine_.name_of(shard.queue), needs, domain::format_level()));
    }
    poke(Part::keeper);
  };
  hooks.lease_ending = [this](std::size_t runs) {
    const auto lost = heartbeat_.lost_for();
    const auto why = lost > Duration{0} ? fmt::format("the store could not be reached for {:.1f} s of that",
                                                      seconds_of(lost))
                                        : fmt::format("the store has let this node wait for {:.1f} s of that",
                                                      seconds_of(heartbeat_.asking_for()));
    say(LogLevel::warning,
        fmt::format("the leases could not be renewed and are about to end: they last for {:.1f} s; {}; {} "
                    "running {} stopped and put back, and none starts until they are renewed",
                    seconds_of(options_.lease), why, runs, runs == 1 ? "batch is" : "batches are"));
  };
  hooks.lease_lost = hooks_.lease_lost;
  return hooks;
}

// What differs by little is no news: it would be told all the time.
Duration NodeParts::stated_clock(std::optional<Duration> before) const {
  constexpr Duration kNews = std::chrono::milliseconds{500};
  const auto now = std::chrono::round<std::chrono::milliseconds>(clock_.wall() - store_.now());
  return before && now - *before < kNews && *before - now < kNews ? *before : now;
}

HeartbeatHooks NodeParts::heartbeat_hooks() {
  HeartbeatHooks hooks;
  hooks.renewed = hooks_.renewed;
  hooks.late = [this](const LateRenewal& late) { say(LogLevel::error, text_of(late, options_.lease)); };
  hooks.lapsed = [this] { poke(Part::keeper); };
  return hooks;
}

KeeperHooks NodeParts::keeper_hooks() {
  KeeperHooks hooks;
  hooks.granted = [this](std::vector<store::Grant> grants, std::uint64_t losses) {
    std::vector<Event> events;
    for (const auto& grant : grants) {
      events.push_back(
          {.type = EventType::shard_moved, .id = id_, .shard = grant.shard.index, .at = store_.now()});
    }
    follower_.add(std::move(grants), losses);
    store_.wake();
    publish(std::move(events));
  };
  hooks.give_back = [this](const std::vector<domain::ShardId>& shards) {
    post([&](News& news) { news.release.insert(news.release.end(), shards.begin(), shards.end()); });
  };
  hooks.gone = [this](auto shard, auto lease) {
    follower_.lose(shard, lease);
    store_.wake();
  };
  hooks.definitions = [this](const store::QueueList& list) {
    post([&](News& news) { news.definitions = list; });
  };
  hooks.limits = [this](LimitChanges limits) {
    post([&](News& news) {
      news.calls.push_back([this, limits = std::move(limits)] { engine_.set_limits(limits); });
    });
  };
  hooks.may_claim = [this] { return !lease_.lost() && engine_.zombies() == 0; };
  hooks.node_down = [this](const std::string& node) {
    say(LogLevel::warning, "node " + node + " is gone; its shards are taken over");
    publish({Event{.type = EventType::node_down, .id = node, .at = store_.now()}});
  };
  hooks.left_out = [this](const std::string& row) {
    say(LogLevel::error, row + "; it is left out, and the others go on");
  };
  hooks.danger = [this](const std::string& danger) { say(LogLevel::error, danger); };
  hooks.requested = [this](store::NodeRequest request) {
    const bool stop = request == store::NodeRequest::stop;
    say(LogLevel::info, std::string("asked to ") + (stop ? "stop" : "take no more jobs"));
    quiet();
    if (stop && hooks_.asked_to_stop) hooks_.asked_to_stop();
  };
  hooks.cluster = [this](ClusterView cluster) {
    follower_.looked(cluster.look);
    post([&](News& news) { news.cluster = std::move(cluster); });
  };
  hooks.rooms = [this] { return engine_.rooms(); };
  hooks.unable = [this] { return engine_.facts().unable; };
  hooks.complete = [this](NodeFacts& told) {
    auto known = engine_.facts();
    told.paused = std::move(known.paused);
    told.paused_at = known.paused_at;
    told.leapt_at = known.leapt_at;
    told.leap = known.leap;
    told.commit_error = redact(known.commits.error);
    told.commit_error_since = known.commits.since;
    told.stuck = std::move(known.stuck);
    told.clock = stated_clock(told.clock);
  };
  return hooks;
}

// The engine knows a queue before the keeper claims shards of it, and has let go of one before others are to
// claim them.
void NodeParts::change(ServedChange change) {
  const std::set<std::string_view> left(change.leave.begin(), change.leave.end());
  std::erase_if(plan_.queues, [&](const auto& queue) { return left.contains(queue.name); });
  for (const auto& name : change.leave) forget_workers(plan_.workers, name);
  std::unordered_map<std::string, std::size_t> places;
  for (const auto& queue : plan_.queues) places.emplace(queue.name, places.size());
  for (const auto& [options, workers, pool] : change.serve) {
    const auto [place, is_new] = places.emplace(options.name, plan_.queues.size());
    if (is_new) plan_.queues.emplace_back();
    plan_.queues[place->second] = options;
    responses_.serve(options);
    const auto& name = options.name;
    forget_workers(plan_.workers, name);
    for (const auto& [kind, worker] : workers) plan_.workers[{name, kind}] = worker;
  }
  if (change.schedules) plan_.facts.schedules = *change.schedules;
  const auto news = std::make_shared<ServedChange>(std::move(change));
  post([&](News& told) {
    told.calls.emplace_back(
        [this, news, facts = facts_of(options_, plan_), wishes = wishes_of(plan_.queues)]() mutable {
          change_engine(*news);
          keeper_.restate(facts, std::move(wishes));
          poke(Part::keeper);
        });
  });
}

void NodeParts::change_engine(ServedChange& news) {
  const auto stop_serving = [&](const std::string& name) {
    engine_.stop_serving(name, [over = news.over, name] {
      if (over) over(name);
    });
  };
  for (const auto& limit : news.limits) engine_.add_limit(limit);
  for (const auto& name : news.leave) stop_serving(name);
  for (auto& [options, workers, pool] : news.serve) {
    stop_serving(options.name);
    engine_.serve(options, pool ? pool() : 0, std::move(workers));
  }
  engine_.list(news.order);
}

void NodeParts::quiet() {
  post([this](News& news) {
    news.calls.emplace_back([this] {
      engine_.quiet();
      keeper_.say_quiet();  // only now it is so
      poke(Part::keeper);
    });
  });
}

void NodeParts::let_go(std::function<void()> done) {
  keeper_.stop_claiming();
  poke(Part::keeper);
  post([&](News& news) {
    news.calls.emplace_back([this, done = std::move(done)] {
      engine_.quiet();
      engine_.release_all();
      done();
    });
  });
}

void NodeParts::ask_runs_to_stop() {
  post(
      [this](News& news) { news.calls.emplace_back([this] { engine_.stop_runs(StopReason::node_stops); }); });
}

template <class Write>
void NodeParts::post(Write write) {
  engine_.inbox().post(write);
  poke(Part::engine);
}

void NodeParts::poke(Part part) const {
  if (hooks_.poke) hooks_.poke(part);
}

void NodeParts::say(LogLevel level, const std::string& line) const {
  if (hooks_.log) hooks_.log(level, line);
}

void NodeParts::publish(std::vector<Event> events) const {
  if (hooks_.events) hooks_.events(std::move(events));
}

}  // namespace ordo::runtime
