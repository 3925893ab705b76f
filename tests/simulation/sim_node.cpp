#include "simulation/sim_node.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "domain/gates.h"
#include "domain/shard_view_harness.h"

namespace ordo::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

class NoWorker final : public Worker {
 public:
  void perform(Batch&) override {}
};
NoWorker no_worker;

}  // namespace

SimNode::SimNode(NodePlan plan, World& world, History& history, Checkers& checkers, const WorkPlan& work)
    : plan_(std::move(plan)),
      world_(world),
      history_(history),
      checkers_(checkers),
      clock_(world, world.upto(std::chrono::hours{100})),
      store_(std::make_shared<FaultyStore>(plan_.id, history, checkers, plan_.faults)),
      pool_(world, clock_, history, work, runtime::pool_sizes(plan_.options, plan_.queues), plan_.prefetch) {
  history_.lives_since[id()] = world_.now();
  build();
  world_.say("{} starts", id());
}

SimNode::~SimNode() {
  kill();
  for (Actor* actor : actors()) actor->gone = true;
}

void SimNode::build() {
  pool_.node = id();
  pool_.on_submit = [this](const auto& assignment) { saw_submit(assignment); };
  pool_.on_recall = [this](const auto& name) {
    world_.say("{} takes back run {} of shard {}.{}", id(), name.no, name.shard.queue, name.shard.index);
    ++history_.totals.recalled;
    history_.forget_run(id(), name);
  };
  pool_.on_end = [this] { poke(engine_actor_); };
  pool_.on_kill = [this] { dying_ = true; };
  store_->on_answer = [this] { poke(engine_actor_); };
  store_->on_stall = [this] { stall(); };
  store_->holds_leases = [this] { return leases().valid(); };

  runtime::PartsPlan parts{.id = id(), .facts = {"host", 1}, .queues = plan_.queues, .workers = {}};
  parts.limits = {
      {.name = "shared", .limit = Decimal(static_cast<int>(kNamedLimit)), .rate = history_.named_rate}};
  parts.facts.started = clock_.wall();
  parts.facts.level = plan_.level;
  parts.facts.schedules = plan_.schedules;
  for (const auto& name : plan_.kinds) parts.workers[name] = &no_worker;
  Random random(world_.random.next());
  parts_ = std::make_unique<runtime::NodeParts>(plan_.options, std::move(parts), *store_, clock_, random,
                                                pool_, parts_hooks());
  pool_.inbox = &engine().inbox();
  engine().ask_throttlers_at_most(plan_.most_questions);
  engine_actor_ = world_.add(id() + " engine", [this] { tick_engine(); });
  follower_actor_ = world_.add(id() + " follower", [this] { tick_follower(); });
  fetcher_actor_ = world_.add(id() + " fetcher", [this] { tick_fetcher(); });
  heartbeat_actor_ = world_.add(id() + " heartbeat", [this] { tick_heartbeat(); });
  keeper_actor_ = world_.add(id() + " keeper", [this] { tick_keeper(); });
  pool_actor_ = world_.add(id() + " pool", [this] { pool_actor_->wake_at(pool_.step()); });
  stop_actor_ = world_.add(id() + " stop", [this] { tick_stop(); });
  if (plan_.sweeps) sweeper_actor_ = world_.add(id() + " sweeper", [this] { tick_sweeper(); });
  for (Actor* actor : actors()) {
    if (actor != keeper_actor_) actor->due = Duration::max();
  }
}

std::vector<Actor*> SimNode::actors() const {
  std::vector<Actor*> all{engine_actor_, follower_actor_, fetcher_actor_, heartbeat_actor_,
                          keeper_actor_, pool_actor_,     stop_actor_};
  if (sweeper_actor_ != nullptr) all.push_back(sweeper_actor_);
  return all;
}

runtime::PartsHooks SimNode::parts_hooks() {
  runtime::PartsHooks hooks;
  hooks.poke = [this](runtime::Part part) {
    using runtime::Part;
    poke(part == Part::engine ? engine_actor_ : part == Part::fetcher ? fetcher_actor_ : keeper_actor_);
  };
  hooks.log = [this](LogLevel, std::string_view line) { world_.say("{}: {}", id(), line); };
  hooks.lease_lost = [this] {
    ++history_.totals.lost_leases;
    if (plan_.dies_with_lease) dying_ = true;
  };
  return hooks;
}

void SimNode::poke(Actor* actor) {
  if (actor != nullptr)
    actor->wake_at(world_.now() + (world_.chance(4) ? world_.upto(milliseconds{20}) : Duration{0}));
}

void SimNode::woken() {
  ++wakes_;
  poke(follower_actor_);
}

// ----------------------------------------------------------------------------------------------------------
// threads

bool SimNode::is_committing(ShardId shard) const {
  const auto* owned = parts_ ? engine().find(shard) : nullptr;
  return owned != nullptr && owned->in_flight;
}

void SimNode::tick_engine() {
  const auto wait = engine().tick();
  if (!std::exchange(has_ticked_, true)) history_.lives_since[id()] = store_->read_at(engine().now());
  engine_actor_->wake_at(world_.now() + wait);
  if (pool_.look_at_stops() || pool_.active() > 0) poke(pool_actor_);
  let_go_of_zombies();
  note_taken();
  if (world_.leapt_at() >= store_->read_at(engine().now())) return;  // who rebuilds it reads another time
  for (const auto& row : history_.store().shards()) {
    const auto* shard = engine().find(row.shard);
    if (shard == nullptr || !shard->ready || shard->in_flight || shard->machine.has_changes()) continue;
    if (row.owner != id() || row.token != shard->lease.token || !plan_.compares) continue;
    if (shard->machine.through() < history_.last_live(row.shard)) continue;
    auto& compared = compared_[row.shard];
    const std::pair current{row.token, row.batch};
    if (std::exchange(compared, current) != current) checkers_.rebuild.look(*shard, id());
  }
}

void SimNode::tick_follower() {
  using Found = runtime::Follower::Found;
  const auto seen = wakes_;
  try {
    const auto found = parts_->follower().tick();
    poke(engine_actor_);
    if (found == Found::a_wake) poke(keeper_actor_);
    const bool more = found == Found::something || wakes_ != seen;
    follower_actor_->wake_at(world_.now() + (more ? Duration{0} : plan_.options.poll_interval));
  } catch (const Error&) {
    poke(engine_actor_);
    follower_actor_->wake_at(world_.now() + plan_.options.poll_interval);
  }
}

void SimNode::tick_fetcher() {
  try {
    parts_->fetcher().tick();
  } catch (const Error&) {
    world_.say("{} could not fetch", id());
  }
  poke(engine_actor_);
}

void SimNode::tick_heartbeat() {
  Duration wait{};
  try {
    wait = parts_->heartbeat().tick();
  } catch (const Error&) {
    wait = plan_.options.poll_interval;  // not before: g++ 12 forgets it
  }
  heartbeat_actor_->wake_at(world_.now() + std::max<Duration>(wait, milliseconds{1}));
}

void SimNode::tick_keeper() {
  auto& keeper = parts_->keeper();
  Duration wait{};
  try {
    if (!joined_) {
      keeper.join();
      joined_ = true;
      poke(engine_actor_);
      poke(follower_actor_);
      poke(heartbeat_actor_);
      if (sweeper_actor_ != nullptr) poke(sweeper_actor_);
      wait = {};
    } else if (leaving_) {
      left_ = keeper.leave();
      if (left_) return;
      wait = {};
    } else {
      wait = keeper.tick();
    }
  } catch (const Error& error) {
    // Its config names another number of shards than there are by now. Nothing else may end a node.
    if (error.kind() == ErrorKind::invalid_argument) {
      const bool is_config =
          std::string_view(error.what()).find("shards in the store") != std::string_view::npos;
      if (!is_config) world_.fail("{} ends: {}", id(), error.what());
      dying_ = true;
    }
    wait = plan_.options.poll_interval;
  }
  keeper_actor_->wake_at(world_.now() + std::max<Duration>(wait, milliseconds{1}));
}

void SimNode::tick_sweeper() {
  bool is_more = false;
  try {
    is_more = parts_->sweeper().tick(engine().first_shards());
  } catch (const Error&) {
    world_.say("{} could not sweep", id());
  }
  sweeper_actor_->wake_at(world_.now() + (is_more ? milliseconds{1} : seconds{5}));
}

// -------------------------------------------------------------------------------------------------------
// life's end

void SimNode::stop() {
  if (stopping_) return;
  world_.say("{} stops", id());
  ++history_.totals.stops;
  stopping_ = true;
  stop_by_ = world_.now() + world_.upto(seconds{6});
  parts_->let_go([this] { released_ = true; });
  poke(stop_actor_);
}

// As runtime::Node::stop(): patience, then the runs are asked to stop, then the shards go.
void SimNode::tick_stop() {
  stop_actor_->wake_at(world_.now() + milliseconds{50});
  if (leaving_ || !stopping_) return;
  const bool idle = released_ && engine().shards() == 0 && engine().runs() == 0;
  if (idle) {
    leaving_ = true;
    poke(keeper_actor_);
    return;
  }
  if (world_.now() < stop_by_) return;
  if (!asked_) {
    asked_ = true;
    stop_by_ = world_.now() + seconds{20};
    parts_->ask_runs_to_stop();
    return;
  }
  if (engine().runs() > 0 && pool_.active() == 0 && !is_paused()) {
    world_.fail("{} cannot stop: {} runs are waited for and none is executed", id(), engine().runs());
  }
  dying_ = true;
}

void SimNode::pause(Duration time) {
  world_.say("{} is paused for {} ms", id(), time.count() / 1000);
  ++history_.totals.pauses;
  const auto until = world_.now() + time;
  stop_by_ += time;
  for (Actor* actor : actors()) actor->asleep_until = until;
  cut_runs();
}

bool SimNode::is_paused() const { return engine_actor_->asleep_until > world_.now(); }

// The process stands still in the middle of a call.
void SimNode::stall() {
  if (world_.calm || !world_.chance(1000)) return;
  const auto time = world_.upto(plan_.options.lease * 2);
  pause(time);
  world_.nap(time);
}

void SimNode::kill() {
  store_->kill();
  for (auto& run : history_.runs) {
    if (run->node == id() && !run->returned) run->cut = run->crashed = true;
  }
}

void SimNode::cut_runs() {
  for (auto& run : history_.runs) {
    if (run->node == id() && !run->returned) run->cut = true;
  }
}

// Who asks it to stop leaves it what `ending` leaves of a lease.
void SimNode::let_go_of_zombies() {
  if (engine().zombies() == 0) return;
  for (auto& run : history_.runs) {
    if (run->node != id() || run->returned || run->cut_from || !run->control->stop.stop_requested()) continue;
    const auto* shard = engine().find(run->shard);
    const bool is_lost = !run->lent && (shard == nullptr || shard->epoch != run->epoch);
    if (is_lost || run->control->reason.load() == runtime::StopReason::lease_lost)
      run->cut_from = world_.now() + lease() / 5;
  }
}

// What goes on behind the end of the lease is the fence's business.
void SimNode::look_at_lease() {
  if (!leases().valid() && engine().runs() > 0) cut_runs();
}

void SimNode::describe() const {
  world_.say("{}: {} shards, {} runs, {} zombies, {} executed, lease {}, asleep until {}", id(),
             engine().shards(), engine().runs(), engine().zombies(), pool_.active(), leases().valid(),
             engine_actor_->asleep_until.count());
}

void SimNode::note(const char* what) { world_.say("{} {}", id(), what); }

// ----------------------------------------------------------------------------------------------------- what
// is seen

// Runs that wait for their marks or payloads were chosen now; they are handed over later.
void SimNode::note_taken() {
  for (const auto& row : history_.store().shards()) {
    const auto* shard = engine().find(row.shard);
    if (shard == nullptr) continue;
    auto& last = last_run_[{row.shard, shard->epoch}];
    for (; last < shard->machine.last_run(); ++last) {
      look_at_group(row.shard);
      if (store_->ends_in_append(row.shard, shard->lease, shard->machine.through()))
        world_.fail("{} chooses a run of shard {}.{} in the middle of an append", id(), row.shard.queue,
                    row.shard.index);
      taken_[{row.shard, shard->epoch, last + 1}] = {shard->machine.through(), engine().now()};
    }
  }
}

void SimNode::saw_submit(const runtime::Assignment& assignment) {
  const auto* shard = engine().find(assignment.shard);
  auto run = std::make_unique<SeenRun>();
  run->node = id();
  run->shard = assignment.shard;
  run->epoch = assignment.epoch;
  run->no = assignment.no;
  run->control = assignment.control;
  run->fence = assignment.jobs.front().fence;
  run->handed = store_->read_at(engine().now());
  run->was_stopped = assignment.control->stop.stop_requested();
  run->token = shard != nullptr && shard->epoch == assignment.epoch ? shard->lease.token : assignment.epoch;
  ++history_.totals.runs;
  Taken taken{shard != nullptr ? shard->machine.through() : 0, engine().now()};
  if (const auto known = taken_.find({run->shard, run->epoch, run->no}); known != taken_.end())
    taken = known->second;
  run->through = taken.through;
  run->chosen = store_->read_at(taken.now);
  const auto lent = history_.lent_run({assignment.shard, assignment.epoch, assignment.no});
  if (lent) {
    saw_borrowed(std::move(run), assignment, *lent);
    return;
  }
  if (shard == nullptr || shard->epoch != assignment.epoch) {
    world_.say("{} hands over a run of shard {}.{}, which it has lost", id(), run->shard.queue,
               run->shard.index);
    if (!assignment.control->stop.stop_requested())
      world_.fail("{} starts a run of a shard it has lost", id());
    run->cut = true;
    for (const auto& job : assignment.jobs)
      run->jobs.push_back({{assignment.kind, job.key, job.id}, {}, {}, {}, false, job.retry_count});
    history_.runs.push_back(std::move(run));
    return;
  }
  if (!leases().may_start() && !assignment.control->stop.stop_requested())
    world_.fail("{} starts a run without a lease", id());
  const auto shots = domain::ShardView::of(shard->machine);
  for (const auto& job : assignment.jobs) {
    SeenJob seen{{assignment.kind, job.key, job.id}, {}, {}, {}, false, job.retry_count};
    for (const auto& shot : shots) {
      if (shot.place == domain::Place::awaiting && shot.key == job.key)
        world_.fail("{} starts {} while {} has its key, and waits", id(), job.id, shot.id);
      if (shot.place != domain::Place::running || shot.kind != seen.name.kind || shot.id != job.id ||
          shot.key != job.key)
        continue;
      for (const auto& [seq, score] : shot.pieces) seen.seqs.push_back(seq);
    }
    std::sort(seen.seqs.begin(), seen.seqs.end());
    shard->machine.each_job([&](const domain::Job& each, const std::string& kind) {
      const bool is_it = each.place == domain::Place::running && kind == seen.name.kind &&
                         each.id() == job.id && each.key() == job.key;
      if (!is_it) return;
      seen.is_marked = shard->machine.run_of(each)->risk != domain::Risk::normal;
      if (each.demand != nullptr) seen.partition = each.demand->partition.value_or("");
    });
    world_.say("{} starts {}/{}/{} of shard {}.{} entries {}", id(), seen.name.kind, job.key, job.id,
               run->shard.queue, run->shard.index, fmt::join(seen.seqs, ","));
    seen.sort = history_.clean_sort(seen.name, run->shard, run->through);
    run->jobs.push_back(std::move(seen));
  }
  saw_start(std::move(run), assignment, taken.now);
}

// One node decides for a placement group: it has all of it, or chooses nothing of it. One that was stopped
// right behind its choice is told of its lease's end by the commit.
void SimNode::look_at_group(ShardId shard) {
  if (!leases().valid()) return;
  const auto& group = history_.options(shard).group;
  if (group.empty()) return;
  const auto hidden = history_.hidden();
  for (const auto& row : history_.store().shards()) {
    if (history_.options(row.shard).group != group || row.owner == id()) continue;
    if (hidden.contains(row.shard.queue)) continue;
    world_.fail("{} chooses a run of shard {}.{} while shard {}.{} of its group is at '{}'", id(),
                shard.queue, shard.index, row.shard.queue, row.shard.index, row.owner);
  }
}

void SimNode::saw_start(std::unique_ptr<SeenRun> run, const runtime::Assignment& assignment, Time chosen) {
  run->responds = assignment.jobs.front().response.has_value();
  checkers_.overlap.started(*run);
  if (!run->responds) {
    checkers_.order.started(*run, chosen);
    checkers_.start.started(*run, assignment, chosen);
  }
  if (history_.has_poison) checkers_.poison.started(*run);
  checkers_.payloads.started(*run, assignment);
  checkers_.responses.started(*run, assignment);
  checkers_.unique.started(*run);
  checkers_.ticks.started(*run);
  for (const auto& job : run->jobs) {
    for (const auto seq : job.seqs) {
      if (history_.finished.contains(seq))
        world_.fail("{} runs entry {} again, whose end its borrower has told in time", id(), seq);
      if (history_.started.insert(seq).second) run->fresh.push_back(seq);
    }
  }
  history_.runs.push_back(std::move(run));
  checkers_.gates.started(*history_.runs.back());
  checkers_.rates.started(*history_.runs.back());
  checkers_.penalties.started(*history_.runs.back());
}

// Its owner chose it when it was lent, of what it had read by then.
void SimNode::saw_borrowed(std::unique_ptr<SeenRun> run, const runtime::Assignment& assignment,
                           const domain::LentRun& lent) {
  if (!leases().may_start() && !assignment.control->stop.stop_requested())
    world_.fail("{} starts a lent run without a lease", id());
  run->lent = run->lent_when_handed = true;
  run->through = 0;
  for (std::size_t i = 0; i < assignment.jobs.size(); ++i) {
    const auto& job = assignment.jobs[i];
    SeenJob seen{{assignment.kind, job.key, job.id}, {}, {}, {}, false, job.retry_count};
    for (const auto& [seq, score] : lent.jobs.at(i).pieces) seen.seqs.push_back(seq);
    std::sort(seen.seqs.begin(), seen.seqs.end());
    run->through = std::max(run->through, seen.seqs.back());
    run->jobs.push_back(std::move(seen));
  }
  for (auto& job : run->jobs) {
    world_.say("{} starts {}/{}/{} of shard {}.{} entries {}, which it was lent", id(), job.name.kind,
               job.name.key, job.name.id, run->shard.queue, run->shard.index, fmt::join(job.seqs, ","));
    job.sort = history_.clean_sort(job.name, run->shard, run->through);
  }
  ++history_.totals.lent;
  saw_start(std::move(run), assignment, lent.started);
}

}  // namespace ordo::simulation
