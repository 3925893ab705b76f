#include "simulation/simulation.h"

#include <algorithm>
#include <stdexcept>

#include "base/fnv.h"
#include "domain/fields.h"
#include "domain/rate_record.h"
#include "domain/schedule.h"

namespace ordo::simulation {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// Lets kThrottled jobs run, and the others wait in each of the ways.
ThrottleAnswer throttle(const ThrottleQuestion& question) {
  const auto dice =
      fnv1a(question.candidate.id) + static_cast<std::uint64_t>(question.now.time_since_epoch() / seconds{1});
  if (dice % 11 == 3) throw std::runtime_error("the dice say so");
  if (question.running.size() >= kThrottled || dice % 5 == 2) return ThrottleAnswer::skip();
  return dice % 7 == 4 ? ThrottleAnswer::defer(question.now + milliseconds{700}) : ThrottleAnswer::run();
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, bool print)
    : world_(seed, print),
      schedule_dice_(seed * 0x9E3779B97F4A7C15ULL + 1),
      garbage_dice_(seed * 0x9E3779B97F4A7C15ULL + 2),
      has_leaps_(seed >= kFirstSeedOfLeaps),
      leap_dice_(seed * 0x9E3779B97F4A7C15ULL + 3) {
  choose_queues();
  if (seed / 24 % 7 == 6 && seed % 7 != 2) choose_schedules();
  auto& random = world_.random;
  if (world_.chance(3)) faults_.fail_one_in = 10 + random.below(100);
  if (world_.chance(2))
    faults_.slowest = world_.upto(world_.chance(4) ? milliseconds{3000} : milliseconds{100});
  if (world_.chance(3)) faults_.max_rows = 1 + random.below(8);
  if (seed % 4 == 3) faults_.max_delta_rows = 1 + seed / 4 % 4;  // no throw of the dice: kept seeds stay
  unlike_leases_ = seed % 3 == 1;
  reshards_sometimes_ = seed % 4 == 2;
  faults_.forgets_leases = seed % 5 == 3;
  faults_.times_go_back = history_.times_go_back = seed / 3 % 3 == 1;
  work_.longest = world_.chance(4) ? seconds{8} : milliseconds{500};
  work_.kills = world_.chance(4);
  mixed_kinds_ = world_.chance(4);
  known_deaths_ = world_.chance(2);
  node_options_.lease = seconds{1 + random.below(3)};
  node_options_.threads = 1 + static_cast<std::uint32_t>(random.below(3));
  node_options_.payload_cache = world_.chance(5) ? 0 : world_.chance(5) ? 200 : 1U << 20;
  node_options_.scheduler = static_cast<SchedulerKind>(random.below(3));
  world_.on_time = [this] {
    for (auto& node : nodes_) node->look_at_lease();
  };
  are_hostile_ = seed % 5 == 1;  // no throws of the dice either
  faults_.is_damaged = are_hostile_ && seed / 5 % 3 == 1;
  has_garbage_ = seed >= kFirstSeedOfGarbage && seed < kFirstSeedOfPoison;
  history_.has_poison = work_.breaks_processes = seed >= kFirstSeedOfPoison && !has_leaps_;
  if (history_.has_poison) {  // innocents, killers, and both together
    work_.longest = seconds{seed / 3 % 2 == 0 ? 30 : 5};
    work_.kills = false;
    work_.one_in_killers = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 1 : 4;
  }
  has_newer_ = seed % 7 == 2;
  if (seed % 10 == 2) faults_.piece_bytes = 1 + seed / 10 % 500;
  work_.loses_programs = seed % 11 == 5;
  const bool is_unique = seed >= kFirstSeedOfUnique;
  work_.waits = seed >= kFirstSeedOfWaits && !has_newer_ && !are_hostile_ && (!is_unique || seed % 2 == 0);
  if (seed % 9 == 4) queues_.front().windows = {SimClient::all_but(seed / 9 % 60, 5 + seed / 540 % 15)};
  if (seed % 9 == 5) queues_.front().on_expire = OnExpire::drop;
  if (seed % 6 == 5) queues_.front().limit = Decimal(1 + static_cast<int>(seed / 6 % 4));
  if (seed % 8 == 6) queues_.front().lock = "payload";
  if (seed % 5 == 2) queues_.front().lock_span = LockSpan::response;
  if (seed % 4 == 3) queues_.front().hold = SlotHold::dispatch;
  for (auto& queue : queues_) {
    if (seed % 3 != 2) queue.keep = seed % 3 == 0 ? Duration{std::chrono::hours{1000}} : Duration{seconds{2}};
    queue.keep_payloads = seed % 2 == 0;
    if (seed % 13 == 7) queue.limits = {"shared"};
    if (seed % 17 == 7) queue.rate = RateLimit{.limit = 20, .per = seconds{1}, .burst = 3};
  }
  work_.penalizes = seed >= kFirstSeedOfPenalties;
  if (has_leaps_) choose_rates();
  if (seed >= kFirstSeedOfThrottlers && seed % 2 == 0)
    queues_.front().throttler = [this](const ThrottleQuestion& question) {
      auto answer = throttle(question);
      if (answer.what == ThrottleAnswer::What::defer)
        history_.note_put_off(question.queue, question.candidate.id, answer.until);
      return answer;
    };
  if (seed >= kFirstSeedOfThrottlers) most_questions_ = 1 + seed / 2 % 5;
  for (const auto& queue : queues_) store_.define(queue.name, *queue.shards);
  for (auto count = 1 + random.below(3); count > 0; --count) start_node();
  for (auto i = 1 + random.below(2); i > 0; --i) {
    auto client = std::make_unique<SimClient>("client-" + std::to_string(i), world_, history_, checkers_,
                                              faults_, queues_, 10 + static_cast<int>(random.below(20)));
    client->is_hostile = are_hostile_;
    client->has_rules = seed % 3 == 1;
    client->kills = seed % 5 == 2;
    client->is_newer = has_newer_ && i == 1;
    client->is_unique = is_unique && !has_newer_;
    client->has_periods = client->has_partitions = has_leaps_;
    if (has_leaps_) client->longest_pause = seconds{15};
    client->on_change = [this] {
      for (auto& node : nodes_) node->woken();
    };
    clients_.push_back(std::move(client));
  }
  if (!work_.waits) return;
  auto client = std::make_unique<SimClient>("responder", world_, history_, checkers_, faults_, queues_, 40);
  client->responds = true;
  if (work_.penalizes) client->response_ttl = seconds{60};
  if (has_leaps_) client->longest_pause = seconds{15};
  client->on_change = [this] {
    for (auto& node : nodes_) node->woken();
  };
  clients_.push_back(std::move(client));
}

Simulation::~Simulation() = default;

void Simulation::choose_queues() {
  auto& random = world_.random;
  const auto count = 1 + random.below(3);
  const bool shared_rules = world_.chance(2);
  const bool grouped = world_.chance(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& queue = queues_.emplace_back();
    if (shared_rules && i > 0) queue = queues_.front();
    if (grouped && i < 2) queue.group = "group";
    queue.name = "q" + std::to_string(i + 1);
    if (shared_rules && i > 0) continue;
    queue.shards = 1 + static_cast<std::uint32_t>(random.below(3));
    queue.batch_size = 1 + static_cast<std::uint32_t>(random.below(3));
    queue.max_retries = static_cast<std::int32_t>(random.below(4));
    queue.max_crashes = 1 + static_cast<std::int32_t>(random.below(3));
    queue.affinity = world_.chance(3) ? Affinity::shard : Affinity::key;
    queue.key_order = world_.chance(3) ? KeyOrder::exclusive : KeyOrder::strict;
    queue.payloads = world_.chance(2)   ? PayloadChoice::all
                     : world_.chance(2) ? PayloadChoice::last
                                        : PayloadChoice::first;
    queue.order = world_.chance(3) ? DueOrder::priority : DueOrder::time;
    queue.granularity = world_.chance(2) ? seconds{60} : seconds{1};
    queue.retry = {.strategy = RetryPolicy::Strategy::fixed,
                   .delay = world_.chance(2) ? Duration{} : seconds{2}};
    if (world_.chance(4)) queue.threads = 1 + static_cast<std::uint32_t>(random.below(2));
    if (world_.chance(4)) queue.timeout = seconds{2};
  }
}

// So few that they matter, and so many that all comes to an end.
void Simulation::choose_rates() {
  auto& dice = leap_dice_;
  const auto choose = [&] {
    constexpr seconds kSpans[] = {seconds{1}, seconds{5}, seconds{20}, seconds{60}, seconds{90}};
    const auto span = kSpans[dice.below(std::size(kSpans))];
    RateLimit rate{
        .limit = static_cast<std::uint32_t>(2 + span.count() / 3 + static_cast<int>(dice.below(5))),
        .per = span};
    if (work_.penalizes && dice.below(2) == 0)
      rate.burst = 1 + static_cast<std::uint32_t>(dice.below(rate.limit));
    return rate;
  };
  if (dice.below(4) == 0) history_.named_rate = choose();
  for (auto& queue : queues_) {
    if (history_.named_rate) queue.limits = {"shared"};
    queue.rate.reset();
    if (dice.below(4) > 0) queue.rate = choose();
    if (queue.rate && dice.below(3) == 0) queue.rate->each = RateEach::partition;
    if (dice.below(2) == 0) queue.equal_payloads = EqualPayloads::newest;
    queue.dead_ttl = std::chrono::hours{12};
    if (queue.keep > std::chrono::hours{24}) queue.keep = std::chrono::hours{24};
  }
  history_.checks_rates = !faults_.forgets_leases;  // what a server has lost is charged no more
  store_.excess();                                  // it is watched from now on
}

void Simulation::choose_schedules() {
  auto& dice = schedule_dice_;
  for (auto left = 1 + dice.below(3); left > 0; --left) {
    auto& schedule = schedules_.emplace_back();
    schedule.name = "s" + std::to_string(left);
    schedule.queue = queues_[dice.below(queues_.size())].name;
    schedule.every = seconds{1 + dice.below(9)};
    schedule.key = dice.below(2) == 0 ? "" : "k" + std::to_string(dice.below(3));
    schedule.missed = static_cast<Missed>(dice.below(3));
    // Each leap misses many.
    if (has_leaps_ && schedule.missed == Missed::all) schedule.every = std::chrono::hours{6 + dice.below(9)};
    schedule.overlap = schedules_.size() % 2 == 0 ? Overlap::skip : Overlap::queue;
    checkers_.ticks.add(schedule);
  }
}

// They would tick for ever. Whoever reads the wish obeys.
bool Simulation::pause_schedules() {
  // Where the clock was ahead, the next tick is days away.
  if (is_resharded() || !checkers_.ticks.are_past(has_leaps_ ? Time::min() : calm_at_)) return false;
  const auto list = store_.queues();
  for (const auto& schedule : schedules_) {
    const auto& queue = *list.find(schedule.queue);
    domain::Entry entry;
    entry.type = domain::EntryType::pause_ticks;
    entry.id = schedule.name;
    entry.key = domain::key_of(schedule);
    store_.append({{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}},
                  [](const std::exception_ptr&) {});
  }
  history_.read_log();
  return true;
}

NodePlan Simulation::plan_node() {
  NodePlan plan;
  plan.id = "node-" + std::to_string(++started_);
  plan.options = node_options_;
  plan.queues = queues_;
  const auto list = store_.queues();
  for (auto& queue : plan.queues) queue.shards = list.find(queue.name)->shards;
  if (unlike_leases_) plan.options.lease = seconds{1 + world_.random.below(8)};
  plan.faults = faults_;
  if (has_newer_ && (world_.calm || started_ % 2 == 0)) {
    plan.level = static_cast<std::uint16_t>(domain::format_level() + 1);
    plan.faults.newer = true;
  }
  // Some have an older config.
  if (!schedules_.empty() && (world_.calm || schedule_dice_.below(3) > 0))
    plan.schedules = domain::encode(schedules_);
  plan.prefetch = world_.chance(4) ? 3 : 1;
  plan.most_questions = most_questions_;
  // Times that are read anew are not those that were read before.
  plan.compares = node_options_.payload_cache >= 1U << 20 && !faults_.times_go_back;
  plan.dies_with_lease = world_.chance(2);
  plan.sweeps = has_leaps_;
  for (const auto& queue : queues_) {
    const bool all = world_.calm || !mixed_kinds_;
    if (all || !world_.chance(4)) plan.kinds.emplace_back(queue.name, queue.name);
    if (all || world_.chance(2)) plan.kinds.emplace_back(queue.name, "other");
  }
  return plan;
}

void Simulation::start_node() {
  nodes_.push_back(std::make_unique<SimNode>(plan_node(), world_, history_, checkers_, work_));
  nodes_.back()->on_change([this] {
    for (auto& node : nodes_) node->woken();
  });
  ++history_.totals.joins;
}

std::string Simulation::run() {
  turmoil();
  if (!world_.failed()) calm_down();
  if (!world_.failed()) settle();
  return world_.failure();
}

// -------------------------------------------------------------------------------------------------------------
// chaos

void Simulation::turmoil() {
  Actor* breaker = nullptr;
  breaker = world_.add("chaos", [this, &breaker] {
    break_something();
    breaker->wake_at(world_.now() + world_.upto(seconds{history_.has_poison ? 15 : has_leaps_ ? 10 : 3}));
  });
  breaker->outside = true;
  Actor* clock = nullptr;
  if (has_leaps_) {
    clock = world_.add("clock", [this, &clock] {
      leap();
      clock->wake_at(world_.now() +
                     milliseconds{leap_dice_.below(leap_dice_.below(2) == 0 ? 20'000 : 150'000)});
    });
    clock->due = world_.now() + seconds{leap_dice_.below(30)};
  }
  Actor* forgetter = nullptr;
  if (faults_.forgets_leases) {
    forgetter = world_.add("failover", [this, &forgetter] {
      forget_leases();
      forgetter->wake_at(world_.now() + world_.upto(seconds{20}));
    });
    forgetter->outside = true;
  }
  Actor* disk = nullptr;
  if (has_garbage_) {
    disk = world_.add("disk", [this, &disk] {
      spoil_a_state();
      disk->wake_at(world_.now() + milliseconds{1 + garbage_dice_.below(2000)});
    });
    disk->outside = true;
  }
  Actor* operator_ = nullptr;
  if (reshards_sometimes_) {
    operator_ = world_.add("operator", [this, &operator_] {
      look_at_reshard();
      operator_->wake_at(world_.now() + world_.upto(reshard_ != nullptr ? seconds{10} : seconds{20}));
    });
    operator_->outside = true;
    operator_->due = world_.now() + world_.upto(seconds{20});
  }
  const auto least = seconds{history_.has_poison || has_leaps_ ? 60 : 20};
  const auto until = world_.now() + least + world_.upto(seconds{has_leaps_ ? 150 : 40});
  while (world_.now() < until && !world_.failed() && world_.step()) {
    bury_the_dead();
    if (world_.steps() % 16 == 0) checkers_.counts.look();
  }
  breaker->gone = true;
  if (clock != nullptr) clock->gone = true;
  if (forgetter != nullptr) forgetter->gone = true;
  if (disk != nullptr) disk->gone = true;
  if (operator_ != nullptr) operator_->gone = true;
}

bool Simulation::is_resharded() {
  const auto list = store_.queues();
  return reshard_ != nullptr || std::ranges::any_of(list.queues, [](const auto& queue) {
           return queue.closed || queue.is_hidden();
         });
}

// One that died is run again, with another number perhaps.
void Simulation::look_at_reshard() {
  if (reshard_ != nullptr) {
    if (reshard_->is_over()) {
      reshard_ = nullptr;
    } else if (!world_.calm && world_.chance(3)) {
      reshard_->kill();
      reshard_ = nullptr;
    }
    return;
  }
  start_reshard(queues_[world_.random.below(queues_.size())].name);
}

void Simulation::start_reshard(const std::string& queue) {
  const auto fail_one_in = faults_.fail_one_in == 0 ? 0 : 10 * faults_.fail_one_in;
  ++reshards_;
  reshard_ = std::make_unique<SimReshard>(
      "reshard-" + std::to_string(reshards_), world_, history_, checkers_,
      StoreFaults{.fail_one_in = fail_one_in,
                  .piece_bytes = faults_.piece_bytes,
                  .newer = has_newer_ && (world_.calm || reshards_ % 2 == 0)},
      node_options_.lease, queue, 1 + static_cast<std::uint32_t>(world_.random.below(4)));
  reshard_->on_change([this] {
    for (auto& node : nodes_) node->woken();
  });
}

// A server went back: shards stay with their nodes, under leases that these do not know, or are whose they
// were before. Not those of a group: who has one is told by the rows (SimNode::look_at_group). Nor what a
// reshard fills.
void Simulation::forget_leases() {
  for (const auto& row : store_.shards()) {
    if (row.owner.empty() || world_.chance(2)) continue;
    const bool is_settled =
        std::ranges::none_of(nodes_, [&](const auto& node) { return node->is_committing(row.shard); });
    if (is_settled && world_.chance(4)) {
      world_.say("the last delta of shard {}.{} is forgotten", row.shard.queue, row.shard.index);
      store_.forget_batch(row.shard);
      continue;
    }
    const bool is_anothers = history_.options(row.shard).group.empty() &&
                             !history_.hidden().contains(row.shard.queue) && world_.chance(2);
    world_.say("the lease of shard {}.{} is forgotten{}", row.shard.queue, row.shard.index,
               is_anothers ? ", and to whom it was granted" : "");
    is_anothers ? store_.forget_grant(row.shard) : store_.forget_lease(row.shard);
  }
}

// By hours or days, or back to what is right.
void Simulation::leap() {
  auto& dice = leap_dice_;
  const bool is_right = world_.wrong_by() == Duration{0};
  Duration by{};
  if (is_right || dice.below(3) == 0) {
    by = std::chrono::hours{1 + dice.below(240)} + milliseconds{dice.below(3'600'000)};
    if (dice.below(2) == 0) by = -by;
  }
  set_wrong(by);
}

// Somebody uses the store all the time: no leap is unseen.
void Simulation::set_wrong(Duration by) {
  ++history_.totals.leaps;
  store_.excess();
  world_.set_wrong(by);
  store_.excess();
  world_.say("the store's clock leaps: it is {} s ahead of what it should be", by / seconds{1});
}

void Simulation::spoil_a_state() {
  std::vector<std::pair<ShardId, store::StateRow>> all;
  for (const auto& row : store_.shards()) {
    const auto facts = store_.load(std::vector{row.shard});
    for (const auto& state : facts.at(0).states) {
      if (!domain::is_rate_row(state.seq)) all.emplace_back(row.shard, state);
    }
  }
  if (all.empty()) return;
  const auto& [shard, state] = all[garbage_dice_.below(all.size())];
  auto bytes =
      history_.garbage.contains(state.bytes) ? "" : history_.garbage.make(state.bytes, garbage_dice_);
  if (bytes.empty()) return;
  world_.say("the state of entry {} in shard {}.{} turns into garbage", state.seq, shard.queue, shard.index);
  ++history_.totals.spoilt;
  store_.spoil_state(shard, state.seq, std::move(bytes));
}

SimNode* Simulation::some_node() {
  return nodes_.empty() ? nullptr : nodes_[world_.random.below(nodes_.size())].get();
}

void Simulation::break_something() {
  auto& totals = history_.totals;
  SimNode* node = some_node();
  const auto lease = node == nullptr ? node_options_.lease : node->lease();
  switch (world_.random.below(10)) {
    case 0:
    case 1:
      if (node != nullptr) remove(node, "is killed");
      return;
    case 2:
    case 3:
      if (node != nullptr) node->pause(world_.upto(lease * 3));
      return;
    case 4:
      if (has_leaps_) return;
      ++totals.jumps;
      world_.jump_wall(world_.upto(seconds{20}) - seconds{10});
      world_.say("the wall clock jumps");
      return;
    case 5:
      if (node == nullptr) return;
      ++totals.partitions;
      node->note("is cut off");
      node->cut_off(world_.upto(lease * 2));
      return;
    case 6:
      if (node != nullptr) node->stop();
      return;
    case 7:
      if (world_.chance(4) && clients_.size() > 1) clients_.front()->kill();
      return;
    default:
      if (nodes_.size() < 4) start_node();
  }
}

// A process that has ended leaves its shards to others: seen at once, or by its silence.
void Simulation::remove(const SimNode* node, const char* why) {
  const auto id = node->id();
  world_.say("{} {}", id, why);
  ++history_.totals.crashes;
  std::erase_if(nodes_, [&](const auto& each) { return each.get() == node; });
  if (known_deaths_ || world_.chance(2)) store_.kill_node(id);
}

void Simulation::bury_the_dead() {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    SimNode* node = nodes_[i].get();
    if (node->has_left()) {
      world_.say("{} has left", node->id());
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (node->wants_to_die()) {
      remove(node, "dies");
    }
  }
}

// -------------------------------------------------------------------------------------------------------------
// quiet

void Simulation::calm_down() {
  world_.say("calm");
  world_.calm = true;
  calm_at_ = store_.now();
  faults_ = {.piece_bytes = faults_.piece_bytes,
             .forgets_leases = faults_.forgets_leases,
             .times_go_back = faults_.times_go_back};
  work_.ends_well = true;
  if (has_leaps_) end_leaps();
  for (auto& node : nodes_) node->heal();
  for (auto& client : clients_) client->heal();
  if (reshard_ != nullptr) reshard_->heal();
  // A shard waits for the kinds its owner has no code for while another node has it.
  for (auto& node : nodes_) {
    if (mixed_kinds_) node->stop();
  }
  start_node();
}

// What is ahead may stay so for good. Ticks that came while it was are jobs of their instants, and wait.
void Simulation::end_leaps() {
  const auto by = world_.wrong_by();
  const bool is_for_good = by > Duration{0} && leap_dice_.below(3) == 0;
  if (schedules_.empty() && (by == Duration{0} || is_for_good)) return;
  world_.later(milliseconds{leap_dice_.below(180'000)}, [this] {
    set_wrong(schedules_.empty() ? Duration{} : world_.latest_wall() - world_.right_wall());
  });
}

// What was begun is ended by whoever runs it again.
void Simulation::finish_reshards() {
  if (reshard_ != nullptr && reshard_->is_over()) reshard_ = nullptr;
  if (reshard_ != nullptr || !reshards_sometimes_) return;
  for (const auto& queue : store_.queues().queues) {
    if (!queue.closed && !queue.is_hidden()) continue;
    start_reshard(std::string(queue.shown_name()));
    return;
  }
}

bool Simulation::clients_are_done() const {
  return std::all_of(clients_.begin(), clients_.end(), [](const auto& client) { return client->is_done(); });
}

// The last one of the next version may have died: a reshard changed what it was started with.
bool Simulation::may_all_run() const {
  return std::ranges::any_of(
      nodes_, [this](const auto& node) { return !has_newer_ || (node->is_newer() && !node->stopping()); });
}

bool Simulation::store_is_empty() {
  return std::none_of(history_.entries.begin(), history_.entries.end(),
                      [](const auto& entry) { return entry.second.live; });
}

bool Simulation::counts_are_zero() {
  const auto rows = store_.shards();
  return std::all_of(rows.begin(), rows.end(), [](const auto& row) {
    const auto counts = *domain::decode_counts(row.counts);
    return counts.queued() + counts.running + counts.awaiting == 0;
  });
}

void Simulation::settle() {
  const auto give_up = world_.now() + minutes{has_leaps_ ? 40 : 10};
  bool resumed = false;
  while (!(resumed && !is_resharded() && store_is_empty() && counts_are_zero() &&
           checkers_.unique.are_all_free())) {
    if (!world_.step() || world_.now() > give_up) {
      world_.fail("it does not come to an end");
    }
    if (world_.failed()) return look_at_the_end();
    bury_the_dead();
    if (!may_all_run()) start_node();
    finish_reshards();
    if (resumed || !clients_are_done() || !pause_schedules()) continue;
    resumed = true;
    for (const auto& queue : queues_) store_.set_paused(queue.name, false);
    for (auto& node : nodes_) node->woken();
    if (nodes_.empty() ||
        std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->stopping(); })) {
      start_node();
    }
  }
  checkers_.ticks.look_at_the_end();
  checkers_.responses.ended();
  checkers_.unique.ended();
  for (const auto& row : store_.shards()) {
    const auto facts = store_.load(std::vector{row.shard});
    for (const auto& state : facts.at(0).states) {
      if (domain::is_rate_row(state.seq)) continue;  // it goes with the next delta behind its end
      world_.fail("the state of entry {} is left over in shard {}.{}", state.seq, row.shard.queue,
                  row.shard.index);
    }
  }
  std::erase_if(nodes_, [](const auto& node) { return node->stopping(); });
  for (auto& node : nodes_) node->stop();
  const auto stopped_by = world_.now() + seconds{30};
  while (!nodes_.empty() && !world_.failed()) {
    world_.step();
    for (const auto& node : nodes_) {
      if (world_.now() > stopped_by) world_.fail("{} does not stop", node->id());
    }
    bury_the_dead();
  }
}

void Simulation::look_at_the_end() {
  for (const auto& [seq, entry] : history_.entries) {
    if (!entry.live) continue;
    world_.say("left: entry {} shard {}.{} {}/{}/{} '{}'", seq, entry.shard.queue, entry.shard.index,
               entry.name.kind, entry.name.key, entry.name.id, entry.payload);
  }
  for (const auto& node : nodes_) node->describe();
  for (const auto& row : store_.shards()) {
    const auto counts = *domain::decode_counts(row.counts);
    world_.say(
        "shard {}.{} owner '{}' queued {} running {}, {} due, held by rates {} limits {} keys {} windows {}",
        row.shard.queue, row.shard.index, row.owner, counts.queued(), counts.running, counts.due,
        counts.blocked_by_rate, counts.blocked_by_limit, counts.blocked_by_key, counts.blocked_by_window);
    for (const auto& jobs : counts.blocked)
      world_.say("  by {} of '{}' until {}", jobs.by, jobs.by_partition,
                 jobs.until.time_since_epoch().count());
  }
}

}  // namespace ordo::simulation
