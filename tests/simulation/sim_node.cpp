#include "simulation/sim_node.h"

#include <algorithm>

#include <ordo/error.hpp>

namespace ordo::simulation {

using runtime::News;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

class NoWorker final : public Worker {
 public:
  void perform(Batch&) override {}
};
NoWorker no_worker;

std::vector<std::size_t> pool_sizes(const NodePlan& plan) {
  std::vector<std::size_t> sizes{plan.options.threads};
  for (const auto& queue : plan.queues) {
    if (queue.threads) sizes.push_back(*queue.threads);
  }
  return sizes;
}

}  // namespace

SimNode::SimNode(NodePlan plan, World& world, History& history, Checkers& checkers, const WorkPlan& work)
    : plan_(std::move(plan)),
      world_(world),
      history_(history),
      checkers_(checkers),
      clock_(world, world.upto(std::chrono::hours{100})),
      store_(std::make_shared<FaultyStore>(plan_.id, history, checkers, plan_.faults)),
      lease_(clock_, plan_.options.lease),
      pool_(world, clock_, history, work, pool_sizes(plan_), plan_.prefetch) {
  build();
  world_.say("{} starts", id());
}

SimNode::~SimNode() {
  kill();
  for (Actor* actor :
       {engine_actor_, follower_actor_, fetcher_actor_, keeper_actor_, pool_actor_, stop_actor_}) {
    actor->gone = true;
  }
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
  store_->holds_leases = [this] { return lease_.valid(); };

  engine_ = std::make_unique<runtime::Engine>(plan_.options, *store_, clock_, Random(world_.random.next()),
                                              lease_, pool_, engine_hooks());
  pool_.inbox = &engine_->inbox();
  runtime::NodeFacts facts{"host", 1, plan_.options.threads, clock_.wall(), plan_.kinds, false};
  facts.level = plan_.level;
  std::vector<store::QueueWish> shards;
  std::size_t own_pools = 0;
  for (const auto& queue : plan_.queues) {
    if (!queue.group.empty()) facts.groups.emplace_back(queue.name, queue.group);
    std::map<std::string, Worker*> workers;
    for (const auto& [name, kind] : plan_.kinds) {
      if (name == queue.name) workers[kind] = &no_worker;
    }
    engine_->serve(queue, queue.threads ? ++own_pools : 0, std::move(workers));
    shards.push_back(runtime::wish_of(queue));
  }
  follower_ = std::make_unique<runtime::Follower>(*store_, engine_->inbox());
  fetcher_ = std::make_unique<runtime::Fetcher>(*store_, engine_->inbox());
  keeper_ = std::make_unique<runtime::LeaseKeeper>(plan_.options, id(), std::move(facts), std::move(shards),
                                                   *store_, clock_, Random(world_.random.next()), lease_,
                                                   keeper_hooks());
  engine_actor_ = world_.add(id() + " engine", [this] { tick_engine(); });
  follower_actor_ = world_.add(id() + " follower", [this] { tick_follower(); });
  fetcher_actor_ = world_.add(id() + " fetcher", [this] { tick_fetcher(); });
  keeper_actor_ = world_.add(id() + " keeper", [this] { tick_keeper(); });
  pool_actor_ = world_.add(id() + " pool", [this] { pool_actor_->wake_at(pool_.step()); });
  stop_actor_ = world_.add(id() + " stop", [this] { tick_stop(); });
  for (Actor* actor : {engine_actor_, follower_actor_, fetcher_actor_, pool_actor_, stop_actor_})
    actor->due = Duration::max();
}

runtime::EngineHooks SimNode::engine_hooks() {
  runtime::EngineHooks hooks;
  hooks.fetch = [this](auto shard, auto epoch, auto run, auto seqs) {
    fetcher_->request(shard, epoch, run, std::move(seqs));
    poke(fetcher_actor_);
  };
  hooks.lost = [this](auto shard, auto lease) {
    world_.say("{} loses shard {}.{}", id(), shard.queue, shard.index);
    follower_->remove(shard, lease);
    keeper_->lost(shard, lease);
    poke(keeper_actor_);
  };
  hooks.released = [this](auto shard, auto lease) {
    follower_->remove(shard, lease);
    keeper_->released(shard, lease);
    poke(keeper_actor_);
  };
  hooks.refused = hooks.released;
  hooks.newer = [this](auto shard, std::uint16_t needs) {
    keeper_->leave_to_newer(shard, needs);
    poke(keeper_actor_);
  };
  hooks.lent = [this] {
    keeper_->wake_others();
    poke(keeper_actor_);
  };
  hooks.read_on = [this] { store_->wake(); };
  hooks.lease_lost = [this] {
    ++history_.totals.lost_leases;
    if (plan_.dies_with_lease) dying_ = true;
  };
  return hooks;
}

runtime::KeeperHooks SimNode::keeper_hooks() {
  runtime::KeeperHooks hooks;
  hooks.granted = [this](std::vector<store::Grant> grants) {
    follower_->add(std::move(grants), lease_.losses());
    store_->wake();
  };
  hooks.give_back = [this](const std::vector<ShardId>& shards) {
    engine_->inbox().post(
        [&](News& news) { news.release.insert(news.release.end(), shards.begin(), shards.end()); });
    poke(engine_actor_);
  };
  hooks.gone = [this](auto shard, auto lease) {
    follower_->lose(shard, lease);
    poke(follower_actor_);
  };
  hooks.definitions = [this](const store::QueueList& list) {
    engine_->inbox().post([&](News& news) { news.definitions = list; });
    poke(engine_actor_);
  };
  hooks.kinds_elsewhere = [this](auto kinds) {
    engine_->inbox().post([&](News& news) { news.elsewhere = std::move(kinds); });
    poke(engine_actor_);
  };
  hooks.cluster = [this](runtime::ClusterView cluster) {
    follower_->looked(cluster.look);
    engine_->inbox().post([&](News& news) { news.cluster = std::move(cluster); });
    poke(engine_actor_);
  };
  hooks.rooms = [this] { return engine_->rooms(); };
  hooks.unable = [this] { return engine_->facts().unable; };
  hooks.may_claim = [this] { return !lease_.lost() && engine_->zombies() == 0; };
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

void SimNode::tick_engine() {
  const auto wait = engine_->tick();
  engine_actor_->wake_at(world_.now() + wait);
  if (pool_.look_at_stops() || pool_.active() > 0) poke(pool_actor_);
  note_taken();
  for (const auto& row : history_.store().shards()) {
    const auto* shard = engine_->find(row.shard);
    if (shard == nullptr || !shard->ready || shard->in_flight || shard->machine.has_changes()) continue;
    if (row.owner != id() || row.token != shard->lease.token || !plan_.compares) continue;
    if (shard->machine.through() < history_.last_live(row.shard)) continue;
    auto& compared = compared_[row.shard];
    const std::pair current{row.token, row.batch};
    if (std::exchange(compared, current) != current) checkers_.rebuild.look(*shard);
  }
}

void SimNode::tick_follower() {
  using Found = runtime::Follower::Found;
  const auto seen = wakes_;
  try {
    const auto found = follower_->tick();
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
    fetcher_->tick();
  } catch (const Error&) {
    world_.say("{} could not fetch", id());
  }
  poke(engine_actor_);
}

void SimNode::tick_keeper() {
  Duration wait = plan_.options.poll_interval;
  try {
    if (!joined_) {
      keeper_->join();
      joined_ = true;
      poke(engine_actor_);
      poke(follower_actor_);
      wait = {};
    } else if (leaving_) {
      keeper_->leave();
      left_ = true;
      return;
    } else {
      wait = keeper_->tick();
    }
  } catch (const Error& error) {
    // Its config names another number of shards than there are by now.
    if (error.kind() == ErrorKind::invalid_argument) dying_ = true;
  }
  keeper_actor_->wake_at(world_.now() + std::max<Duration>(wait, milliseconds{1}));
}

// -------------------------------------------------------------------------------------------------------
// life's end

void SimNode::stop() {
  if (stopping_) return;
  world_.say("{} stops", id());
  ++history_.totals.stops;
  stopping_ = true;
  stop_by_ = world_.now() + world_.upto(seconds{6});
  keeper_->stop_claiming();
  poke(keeper_actor_);
  engine_->inbox().post([this](News& news) {
    news.calls.emplace_back([this] {
      engine_->quiet();
      engine_->release_all();
      released_ = true;
    });
  });
  poke(engine_actor_);
  poke(stop_actor_);
}

// As runtime::Node::stop(): patience, then the runs are asked to stop, then the shards go.
void SimNode::tick_stop() {
  stop_actor_->wake_at(world_.now() + milliseconds{50});
  if (leaving_ || !stopping_) return;
  const bool idle = released_ && engine_->shards() == 0 && engine_->runs() == 0;
  if (idle) {
    leaving_ = true;
    poke(keeper_actor_);
    return;
  }
  if (world_.now() < stop_by_) return;
  if (!asked_) {
    asked_ = true;
    stop_by_ = world_.now() + seconds{20};
    engine_->inbox().post([this](News& news) {
      news.calls.emplace_back([this] { engine_->stop_runs(runtime::StopReason::node_stops); });
    });
    poke(engine_actor_);
    return;
  }
  if (engine_->runs() > 0 && pool_.active() == 0 && !is_paused()) {
    world_.fail("{} cannot stop: {} runs are waited for and none is executed", id(), engine_->runs());
  }
  dying_ = true;
}

void SimNode::pause(Duration time) {
  world_.say("{} is paused for {} ms", id(), time.count() / 1000);
  ++history_.totals.pauses;
  const auto until = world_.now() + time;
  stop_by_ += time;
  for (Actor* actor :
       {engine_actor_, follower_actor_, fetcher_actor_, keeper_actor_, pool_actor_, stop_actor_}) {
    actor->asleep_until = until;
  }
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

// What goes on behind the end of the lease is the fence's business.
void SimNode::look_at_lease() {
  if (!lease_.valid() && engine_->runs() > 0) cut_runs();
}

void SimNode::describe() const {
  world_.say("{}: {} shards, {} runs, {} zombies, {} executed, lease {}, asleep until {}", id(),
             engine_->shards(), engine_->runs(), engine_->zombies(), pool_.active(), lease_.valid(),
             engine_actor_->asleep_until.count());
}

void SimNode::note(const char* what) { world_.say("{} {}", id(), what); }

// ----------------------------------------------------------------------------------------------------- what
// is seen

// Runs that wait for their marks or payloads were chosen now; they are handed over later.
void SimNode::note_taken() {
  for (const auto& row : history_.store().shards()) {
    const auto* shard = engine_->find(row.shard);
    if (shard == nullptr) continue;
    auto& last = last_run_[{row.shard, shard->epoch}];
    for (; last < shard->machine.last_run(); ++last) {
      look_at_group(row.shard);
      if (store_->ends_in_append(row.shard, shard->lease, shard->machine.through()))
        world_.fail("{} chooses a run of shard {}.{} in the middle of an append", id(), row.shard.queue,
                    row.shard.index);
      taken_[{row.shard, shard->epoch, last + 1}] = {shard->machine.through(), store_->last_now()};
    }
  }
}

void SimNode::saw_submit(const runtime::Assignment& assignment) {
  const auto* shard = engine_->find(assignment.shard);
  auto run = std::make_unique<SeenRun>();
  run->node = id();
  run->shard = assignment.shard;
  run->epoch = assignment.epoch;
  run->no = assignment.no;
  run->control = assignment.control;
  run->fence = assignment.jobs.front().fence;
  run->token = shard != nullptr && shard->epoch == assignment.epoch ? shard->lease.token : assignment.epoch;
  ++history_.totals.runs;
  Taken taken{shard != nullptr ? shard->machine.through() : 0, store_->last_now()};
  if (const auto known = taken_.find({run->shard, run->epoch, run->no}); known != taken_.end())
    taken = known->second;
  run->through = taken.through;
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
      run->jobs.push_back({{assignment.kind, job.key, job.id}, {}, {}, {}, false});
    history_.runs.push_back(std::move(run));
    return;
  }
  if (!lease_.may_start() && !assignment.control->stop.stop_requested())
    world_.fail("{} starts a run without a lease", id());
  const auto shots = shard->machine.snapshot(domain::Shard::View::live);
  for (const auto& job : assignment.jobs) {
    SeenJob seen{{assignment.kind, job.key, job.id}, {}, {}, {}, false};
    for (const auto& shot : shots) {
      if (shot.place != domain::Place::running || shot.kind != seen.name.kind || shot.id != job.id ||
          shot.key != job.key)
        continue;
      for (const auto& [seq, score] : shot.pieces) seen.seqs.push_back(seq);
    }
    std::sort(seen.seqs.begin(), seen.seqs.end());
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
  if (!lease_.valid()) return;
  const auto& group = history_.options(shard).group;
  if (group.empty()) return;
  std::set<std::uint32_t> hidden;
  for (const auto& queue : history_.store().queues().queues) {
    if (queue.is_hidden()) hidden.insert(queue.number);
  }
  for (const auto& row : history_.store().shards()) {
    if (history_.options(row.shard).group != group || row.owner == id()) continue;
    if (hidden.contains(row.shard.queue)) continue;
    world_.fail("{} chooses a run of shard {}.{} while shard {}.{} of its group is at '{}'", id(),
                shard.queue, shard.index, row.shard.queue, row.shard.index, row.owner);
  }
}

void SimNode::saw_start(std::unique_ptr<SeenRun> run, const runtime::Assignment& assignment, Time chosen) {
  checkers_.overlap.started(*run);
  checkers_.order.started(*run, chosen);
  checkers_.start.started(*run, assignment, chosen);
  for (const auto& job : run->jobs) {
    for (const auto seq : job.seqs) {
      if (history_.finished.contains(seq))
        world_.fail("{} runs entry {} again, whose end its borrower has told in time", id(), seq);
      if (history_.started.insert(seq).second) run->fresh.push_back(seq);
    }
  }
  history_.runs.push_back(std::move(run));
}

// Its owner chose it when it was lent, of what it had read by then.
void SimNode::saw_borrowed(std::unique_ptr<SeenRun> run, const runtime::Assignment& assignment,
                           const domain::LentRun& lent) {
  if (!lease_.may_start() && !assignment.control->stop.stop_requested())
    world_.fail("{} starts a lent run without a lease", id());
  run->lent = true;
  run->through = 0;
  for (std::size_t i = 0; i < assignment.jobs.size(); ++i) {
    const auto& job = assignment.jobs[i];
    SeenJob seen{{assignment.kind, job.key, job.id}, {}, {}, {}, false};
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
