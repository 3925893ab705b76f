#include "runtime/engine.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace ordo::runtime {
namespace {

constexpr Duration kLongestWait = std::chrono::hours{1};  // the clocks of the system cannot add any number

}  // namespace

Engine::Engine(const NodeOptions& options, store::Store& store, Clock& clock, Random random,
               LeaseClock& lease, RunSink& sink, EngineHooks hooks)
    : scope_{options, store, clock, random, lease, std::move(hooks)},
      sink_(sink),
      runs_(scope_, codes_, sink),
      dispatcher_(scope_, codes_, host_, runs_, runner_, sink) {
  watch_events(false);
}

// ---------------------------------------------------------------------------------------- what it serves

ServedQueue& Engine::serve(const QueueOptions& options, std::size_t pool,
                           std::map<std::string, Worker*> workers) {
  const ServedQueue* before = nullptr;
  for (const auto& leaving : leaving_) {
    if (leaving.queue->options.name == options.name) before = leaving.queue.get();
  }
  auto& queue = queues_.serve(options, pool, before);
  queue.waits_for_rules = std::ranges::any_of(leaving_, [&](const Leaving& leaving) {
    return leaving.has_shards && leaving.queue->options.name == options.name;
  });
  for (auto& [kind, worker] : workers) codes_.add(queue, kind, worker, sink_.threads(pool));
  runs_.add_pools(pool + 1);
  runs_.fit(pool);
  dispatcher_.add_pools(pool + 1);
  board_.add(pool, options.name);
  auto facts = board_.facts();
  facts.unable = codes_.unable();
  board_.put_facts(std::move(facts));
  return queue;
}

void Engine::stop_serving(const std::string& name, std::function<void()> over) {
  auto queue = queues_.leave(name);
  if (queue == nullptr) {
    if (over) over();
    return;
  }
  codes_.leave(*queue);
  board_.remove(queue->pool, name);
  host_.release_all_of(*queue);
  runner_.recall([&](const Assignment& run) { return run.queue == &queue->options.name; });
  leaving_.push_back({std::move(queue), std::move(over)});
}

void Engine::list(const std::vector<std::string>& names) {
  queues_.list(names);
  host_.wake_all();
}

// Its limits are forgotten with its last shard: who serves it next may have others.
void Engine::look_at_leaving() {
  for (auto& leaving : leaving_) {
    const auto& queue = *leaving.queue;
    if (!leaving.has_shards || host_.has_shards_of(queue)) continue;
    leaving.has_shards = false;
    const bool is_last = std::ranges::none_of(leaving_, [&](const Leaving& other) {
      return other.has_shards && other.queue->options.name == queue.options.name;
    });
    if (is_last && queues_.rules_are_free(queue.options.name)) host_.forget_rules(queue.options.name);
  }
  std::erase_if(leaving_, [&](Leaving& leaving) {
    const auto& queue = *leaving.queue;
    const bool has_pool = queue.pool != 0;
    if (leaving.has_shards || runs_.has_runs_of(queue)) return false;
    if (has_pool && runs_.pools()[queue.pool].runs > 0) return false;
    dispatcher_.forget(queue);
    codes_.forget(queue);
    if (has_pool) {
      sink_.close(queue.pool);
      runs_.fit(queue.pool);
    }
    if (leaving.over) leaving.over();
    return true;
  });
}

Duration Engine::tick() {
  scope_.now = scope_.store.now();
  host_.look_at_clock();
  host_.begin_round();
  look_at_leases();
  read(scope_.inbox->take());
  host_.gather();
  dispatcher_.deal_threads();
  codes_.look();
  host_.wake_admitted();
  dispatcher_.look();
  if (scope_.lease.may_start()) {
    dispatcher_.dispatch();
    lender_.lend_what_waits();
    runs_.send_batches();
  }
  host_.free_rows();
  host_.look_at_kept();
  host_.keep_responses();
  borrower_.tell_ends();
  queues_.tell_pauses([this](const ServedQueue& queue) { return host_.runs_of(queue); });
  runner_.look_at_timeouts();
  lender_.share_suspects();
  ticker_.tick();
  questions_.tick();
  runs_.tell_company(scope_.company);
  writer_.flush();
  let_go();
  if (!leaving_.empty()) look_at_leaving();
  tell_lost();
  log_.look();
  const bool woke_some = !host_.wake_admitted().empty();
  host_.put_to_sleep([this](OwnedShard& shard) {
    dispatcher_.look(shard);
    return writer_.wakes_at(shard);
  });
  put_up();
  const bool woke_others = !host_.wake_admitted().empty();  // by a turn that was let go just now
  const bool goes_on = woke_some || woke_others || host_.has_next_round() || questions_.is_busy();
  return goes_on ? Duration{0} : next_tick();
}

void Engine::look_at_leases() {
  using Leases = LeaseWatch::Leases;
  const auto leases = leases_.look(host_.size() == 0 && borrower_.is_idle(), runs_.size() + lender_.size());
  if (leases == Leases::ending) stop_runs(StopReason::lease_lost);
  if (leases == Leases::over) {
    drop_all();
    leases_.dropped(runs_.zombies());
  }
  leases_.look_at_late_runs(runs_.zombies());
}

void Engine::read(News news) {
  for (const auto& call : news.calls) call();
  // A grant comes behind the definition that it was claimed by.
  if (news.definitions) {
    for (const auto* changed : queues_.define(*news.definitions)) {
      host_.wake_all_of(*changed);
      if (changed->is_paused())
        runner_.recall([&](const Assignment& run) { return run.queue == &changed->options.name; });
    }
  }
  // Before what is adopted: the look was older than the grant.
  if (news.cluster) look_at_cluster(std::move(*news.cluster));
  // In their order: what was read for an earlier ownership of a shard comes before its next adoption.
  for (auto& piece : news.log) {
    if (auto* loaded = std::get_if<LoadedShard>(&piece)) host_.adopt(std::move(*loaded));
    if (const auto* chunk = std::get_if<store::LogChunk>(&piece)) {
      host_.apply(*chunk);
      for (const auto& [id, lease] : chunk->lost) lose(id, lease);
    }
    if (const auto* all = std::get_if<AllRead>(&piece)) lender_.all_read(*all);
    if (auto* asked = std::get_if<std::vector<store::Question>>(&piece)) questions_.take(std::move(*asked));
  }
  host_.wake_due();
  host_.wake_for_positions();
  for (auto& end : news.ends) runner_.ended(std::move(end));
  for (const auto& end : news.commits) settle(end);
  for (const auto& end : news.told) borrower_.told(end);
  for (const auto& fetched : news.fetched) runner_.provide(fetched);
  for (const auto id : news.release) {
    if (OwnedShard* shard = host_.owned(id)) host_.release(*shard);
  }
  if (!news.release.empty()) {
    runner_.recall([&](const Assignment& run) {
      const OwnedShard* shard = host_.owned(run.shard, run.epoch);
      return shard != nullptr && shard->releasing_since;
    });
  }
  for (const auto& closed : news.closed) host_.wait_closed(closed);
  for (const auto& kept : news.kept_responses) host_.response_kept(kept);
  for (auto& freed : news.freed) host_.row_freed(std::move(freed));
  for (const auto& read : news.kept) host_.kept_read(read);
  host_.expire();
  host_.close_waits();
  for (auto& [id, shard] : host_.awake()) {
    host_.look_at_kinds(*shard);
    runner_.stop_cancelled(*shard);
    runner_.take_anew(*shard);
    lender_.note_declined(*shard);
    host_.tell_unreadable(*shard);
  }
}

void Engine::look_at_cluster(ClusterView view) {
  if (view.losses != scope_.lease.losses()) return;  // seen before the leases lapsed
  if (view.setbacks != scope_.cluster.setbacks) host_.doubt_all();
  scope_.cluster = std::move(view);
  host_.forget_groups();
  ticker_.look();
  for (const auto& [id, dead] : scope_.cluster.dead) static_cast<void>(host_.owned(id));
  lender_.take_back();
  borrower_.look(std::exchange(scope_.cluster.borrowed, {}));
}

// Deaths are told once they are durable, those of one run together.
void Engine::settle(const CommitEnd& end) {
  const auto settled = writer_.settle(end);
  for (auto* shard : settled.durable) {
    for (auto& dead : shard->machine.deaths()) {
      for (const auto& job : dead) log_.died(job);
      if (scope_.hooks.died) scope_.hooks.died(shard->queue->options.name, std::move(dead));
    }
    for (auto& run : shard->machine.released()) runner_.launch(*shard, std::move(run));
    runner_.look_at_shared(*shard);
  }
  if (!settled.stale.empty()) drop(settled.stale);
}

// The news may be older than the next lease of the shard. Who waits for its end hears of it in any case.
void Engine::lose(domain::ShardId id, store::Lease lease) {
  const auto* shard = host_.find(id);
  if (shard != nullptr && shard->lease == lease) {
    drop({id});
  } else {
    note_lost(id, lease);
  }
}

void Engine::note_lost(domain::ShardId id, store::Lease lease) {
  lost_.push_back(id);
  if (scope_.hooks.lost) scope_.hooks.lost(id, lease);
}

// One line, however many there are.
void Engine::tell_lost() {
  const auto lost = std::exchange(lost_, {});
  if (lost.empty()) return;
  LogLine line{.level = LogLevel::warning};
  if (lost.size() == 1) {
    line.queue = name_of(lost.front().queue);
    line.shard = lost.front().index;
    line.message = fmt::format("the lease of shard {} of queue '{}' is lost; its runs are stopped",
                               *line.shard, line.queue);
    return scope_.say(line);
  }
  std::map<std::uint32_t, std::size_t> by_queue;
  for (const auto id : lost) ++by_queue[id.queue];
  std::string queues;
  for (const auto& [queue, shards] : by_queue)
    queues += fmt::format("{}{} {}", queues.empty() ? "" : ", ", name_of(queue), shards);
  line.message =
      fmt::format("the leases of {} shards are lost ({}); their runs are stopped", lost.size(), queues);
  scope_.say(line);
}

void Engine::drop(const std::set<domain::ShardId>& ids) {
  runner_.drop(ids);
  for (const auto id : ids) {
    const auto end = host_.remove(id);
    if (end) note_lost(id, end->lease);
  }
}

// Tells of what happened in the shards, and gives back those that are ready for it.
void Engine::let_go() {
  std::vector<domain::ShardId> idle;
  for (auto& [id, shard] : host_.awake()) {
    if (auto events = shard->machine.events(); !events.empty()) tell(id, std::move(events));
    if (!shard->releasing_since) continue;
    lender_.keep_runs_of(*shard);
    if (shard->is_free()) idle.push_back(id);
  }
  for (const auto id : idle) {
    const auto end = host_.remove(id);
    if (scope_.hooks.released) scope_.hooks.released(*end);
  }
}

void Engine::tell(domain::ShardId id, std::vector<Event> events) {
  for (auto& event : events) {
    event.shard = id.index;
    log_.tell(event);
  }
  if (scope_.watch && scope_.hooks.events) scope_.hooks.events(std::move(events));
}

void Engine::put_up() {
  if (const auto steady = scope_.steady(); steady >= first_shards_at_) {
    first_shards_at_ = steady + std::chrono::seconds{1};
    std::vector<std::string> queues;
    for (const auto& [id, shard] : host_.all()) {
      if (id.index == 0) queues.push_back(shard->queue->options.name);
    }
    board_.put_first_shards(std::move(queues));
  }
  const bool is_closed =
      runs_.is_quiet() || host_.is_releasing() || runs_.marks().has_suspect() || runs_.zombies() > 0;
  board_.put_rooms([&](std::size_t pool) { return is_closed ? 0 : runs_.idle_threads(pool); });
  const bool is_news = board_.put_facts({writer_.trouble(), codes_.unable(), queues_.paused(), runs_.stuck(),
                                         queues_.paused_at(), host_.leapt_at(), host_.leap()});
  if (is_news && scope_.hooks.facts_changed) scope_.hooks.facts_changed();
}

Duration Engine::next_tick() const {
  auto wait = std::min<Duration>(scope_.options.poll_interval, kLongestWait);
  if (runs_.size() + lender_.size() > 0 && scope_.lease.valid()) wait = std::min(wait, scope_.lease.left());
  for (const auto next :
       {host_.next_due(), runs_.next_look(), borrower_.next_telling(), lender_.next_lending(),
        leases_.next_look(), scope_.until(codes_.next_look()), dispatcher_.next_overdue(),
        writer_.next_retry(), ticker_.next(), host_.next_close(), log_.next()}) {
    wait = std::min(wait, next);
  }
  return wait;
}

void Engine::quiet() {
  runs_.quiet();
  runner_.recall_all();
}

void Engine::release_all() {
  host_.release_all();
  runner_.recall_all();
}

void Engine::drop_all() {
  std::set<domain::ShardId> all;
  for (const auto& [id, shard] : host_.all()) all.insert(id);
  drop(all);
  borrower_.drop_all();
  tell_lost();
}

void Engine::abandon() {
  runs_.recall([](const Assignment&) { return true; });
  runs_.stop_all(StopReason::node_stops);
}

}  // namespace ordo::runtime
