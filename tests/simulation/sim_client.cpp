#include "simulation/sim_client.h"

#include <ordo/error.hpp>

#include "simulation/versions.h"
#include "store/waits.h"

namespace ordo::simulation {

using domain::EntryType;
using std::chrono::milliseconds;
using std::chrono::seconds;

SimClient::SimClient(std::string name, World& world, History& history, Checkers& checkers, StoreFaults faults,
                     const std::vector<QueueOptions>& queues, int actions)
    : name_(std::move(name)),
      world_(world),
      history_(history),
      store_(std::make_shared<FaultyStore>(name_, history, checkers, faults)),
      queues_(queues),
      left_(actions),
      actor_(world.add(name_, [this] { step(); })) {
  store_->on_change = [this] { on_change(); };
}

SimClient::~SimClient() { kill(); }

void SimClient::kill() {
  if (std::exchange(dead_, true)) return;
  world_.say("{} dies", name_);
  store_->kill();
  actor_->gone = true;
  left_ = unanswered_ = 0;
}

void SimClient::step() {
  if (left_ == 0) return;
  --left_;
  actor_->wake_at(world_.now() + world_.upto(world_.chance(2) ? milliseconds{20} : longest_pause));
  try {
    act();
  } catch (const Error&) {
    world_.say("{}: no answer", name_);
  }
}

void SimClient::act() {
  const auto at = world_.random.below(queues_.size());
  const auto& queue = queues_[at];
  if (responds) return respond(queue);
  switch (world_.random.below(24)) {
    case 0:
    case 1:
      // No throw of the dice: kept seeds stay.
      return control(queue, kills && controls_ % 5 < 2 ? EntryType::kill : EntryType::cancel);
    case 2:
      return control(queue, EntryType::run_now);
    case 3:
    case 4:
      return change_dead(queue, true);
    case 5:
      return change_dead(queue, false);
    case 6:
      world_.say("{} pauses {}", name_, queue.name);
      store_->set_paused(queue.name, true);
      return;
    case 7:
    case 8:
      store_->set_paused(queue.name, false);
      return;
    default:
      return push(queue);
  }
}

void SimClient::push(const QueueOptions& queue) {
  if (is_unique && unique_.below(2) == 0) return push_unique(queue);
  std::vector<Wish> wishes;
  for (auto count = 1 + world_.random.below(4); count > 0; --count) {
    const auto id = "i" + std::to_string(world_.random.below(8));
    const auto key = world_.chance(2) ? id : "k" + std::to_string(world_.random.below(3));
    const auto payload = world_.chance(4) ? "p" + std::to_string(world_.random.below(3))
                                          : name_ + "-" + std::to_string(++payloads_);
    domain::Entry entry;
    entry.kind = world_.chance(6) ? std::string_view("other") : queue.name;
    entry.key = key;
    entry.id = id;
    entry.payload = payload;
    if (world_.chance(3)) entry.score = static_cast<double>(world_.random.below(5));
    if (world_.chance(4)) entry.run_at = world_.right_wall() + world_.upto(seconds{20}) - seconds{5};
    if (world_.chance(40)) entry.run_at = world_.right_wall() + seconds{61} + world_.upto(seconds{20});
    if (world_.chance(5)) entry.options.priority = static_cast<std::int32_t>(world_.random.below(3)) * 100;
    if (world_.chance(12)) entry.options.timeout = seconds{1} + world_.upto(seconds{3});
    if (has_rules && rules_.below(6) == 0)
      entry.options.expires = world_.right_wall() + seconds{rules_.below(15)};
    if (has_rules && rules_.below(6) == 0)
      entry.options.windows = {all_but(rules_.below(60), 1 + rules_.below(10))};
    if (has_partitions && rules_.below(3) > 0) entry.options.partition = rules_.below(2) == 0 ? "a" : "b";
    auto bytes = domain::encode(entry);
    if (is_newer && ++pushes_ % 5 == 0) bytes = made_newer(RecordType::entry, std::move(bytes));
    if (is_hostile && ++pushes_ % 4 == 0) wishes.push_back({queue.name, key, garbage(bytes)});
    wishes.push_back({queue.name, key, std::move(bytes)});
  }
  send(std::move(wishes));
}

// What another has the key of is refused, or changed by chance. A step of unknown outcome is asked again:
// then it finds itself.
void SimClient::push_unique(const QueueOptions& queue) {
  const auto number = unique_.below(4);
  const bool is_period = has_periods && unique_.below(3) == 0;
  const auto scope = is_period         ? UniqueScope::period
                     : number % 2 == 0 ? UniqueScope::queued
                                       : UniqueScope::queued_or_running;
  const auto period = seconds{is_period ? 5 + unique_.below(60) : 0};
  const auto what = unique_.below(3);  // with who is there: nothing, merge, replace
  const auto id = "i" + std::to_string(unique_.below(8));
  const auto key = unique_.below(2) == 0 ? id : "k" + std::to_string(unique_.below(3));
  const auto payload = name_ + "-" + std::to_string(++payloads_);
  domain::UniqueHold hold{(is_period ? "unique period 0" : "u") + std::to_string(number),
                          name_ + "/" + std::to_string(++tokens_),
                          scope,
                          {}};
  auto own = domain::row_of(hold, queue.name, key, id);
  std::optional<std::string> there;
  for (int attempt = 0; attempt < 6; ++attempt) {
    const auto definition = *history_.store().queues().find(queue.name);
    const auto entry_to = [&](const domain::Entry& entry) {
      return store::NewEntry{{definition.number, domain::shard_of(entry.key, definition.shards)},
                             domain::encode(entry)};
    };
    domain::Entry entry;
    entry.kind = queue.name;
    entry.key = key;
    entry.id = id;
    entry.payload = payload;
    store::RowStep step{{hold.row, own, true, Time::max()}, there, {}};
    if (is_period) {
      hold.first = history_.store().now();
      step.row.until = hold.first + period;
      step.row.bytes = own = domain::row_of(hold, queue.name, key, id);
    }
    const auto holder = there ? domain::decode_unique_row(*there).or_empty() : domain::UniqueRow{};
    if (there && what == 1) {
      entry.kind = holder.kind;
      entry.key = holder.key;
      entry.id = holder.id;
      step.row.bytes = *there;
    } else {
      if (!is_period) entry.options.unique = {hold};
      domain::Entry cancel;
      cancel.type = EntryType::cancel;
      cancel.kind = holder.kind;
      cancel.key = holder.key;
      cancel.id = holder.id;
      if (there) step.entries.push_back(entry_to(cancel));
      if (there) ++history_.totals.cancels;
    }
    step.entries.push_back(entry_to(entry));
    store::RowResult result;
    try {
      result = store_->step_rows(store::Store::unique_rows(queue.name), {step}).front();
    } catch (const Error&) {
      if (there && what == 1) throw;  // it may be merged already
      continue;
    }
    if (result.what == store::RowResult::What::done || result.there == own) return;
    if (result.what == store::RowResult::What::refused) continue;
    there = result.there;
    if (there && (what == 0 || scope != UniqueScope::queued)) return;
  }
}

// The clock of a simulation starts at 22:13:20.
Window SimClient::all_but(std::uint64_t from, std::uint64_t length) {
  const auto closes = std::chrono::hours{22} + std::chrono::minutes{13} + seconds{20 + from};
  return {.start = closes + seconds{length}, .end = closes};
}

// What another program, or a failing disk, may put there. Its chances are its own: kept seeds stay.
std::string SimClient::garbage(std::string bytes) {
  do {
    switch (junk_.below(4)) {
      case 0:
        bytes.resize(junk_.below(8));
        break;
      case 1:
        for (auto& byte : bytes) byte = static_cast<char>(junk_.below(256));
        break;
      case 2:
        bytes.resize(bytes.size() / 2);
        break;
      default:
        bytes[0] = static_cast<char>(junk_.below(256));
        bytes.resize(1 + junk_.below(6), static_cast<char>(junk_.below(256)));
    }
  } while (domain::decode_entry(bytes) || domain::decode_entry(bytes).needs() != 0);
  return bytes;
}

void SimClient::control(const QueueOptions& queue, EntryType type) {
  const auto id = "i" + std::to_string(world_.random.below(8));
  // No throw of the dice: kept seeds stay.
  const auto turn = controls_++;
  const auto key = turn % 2 == 0 ? "" : turn % 4 == 1 ? id : "k" + std::to_string(turn / 4 % 3);
  domain::Entry entry;
  entry.type = type;
  entry.kind = turn % 3 == 2 ? std::string_view("other") : queue.name;
  entry.key = key;
  entry.id = id;
  if (type == EntryType::cancel) ++history_.totals.cancels;
  if (type == EntryType::kill) ++history_.totals.kills;
  send({{queue.name, key, domain::encode(entry)}});
}

// Of unknown outcome, or too late for the shards that were: sent again with the same ids until it is known to
// be stored.
void SimClient::send(std::vector<Wish> wishes) {
  ++unanswered_;
  std::vector<store::NewEntry> entries;
  const auto list = history_.store().queues();
  for (const auto& wish : wishes) {
    const auto& queue = *list.find(wish.queue);
    for (std::uint32_t i = 0; i < queue.shards; ++i) {
      if (wish.key.empty() || i == domain::shard_of(wish.key, queue.shards))
        entries.push_back({{queue.number, i}, wish.bytes});
    }
  }
  store_->append(std::move(entries), [this, wishes = std::move(wishes)](const std::exception_ptr& error) {
    if (!error) {
      --unanswered_;
      return;
    }
    world_.later(milliseconds{50} + world_.upto(milliseconds{500}), [this, wishes] {
      if (dead_) return;
      --unanswered_;
      send(wishes);
    });
  });
}

// A message of unknown outcome is sent again, or lost.
void SimClient::respond(const QueueOptions& queue) {
  const auto waits = history_.store().wait_rows(queue.name, "", 100);
  const auto key = waits.empty() || world_.chance(8) ? "r-i" + std::to_string(world_.random.below(8))
                                                     : waits[world_.random.below(waits.size())].key;
  const auto message = "m" + std::to_string(world_.chance(8) ? messages_ : ++messages_) + " to " + key;
  for (int attempts = 3; attempts > 0; --attempts) {
    try {
      const auto result = store::respond(*store_, queue.name, key, {message, "body"}, response_ttl);
      world_.say("{} answers {} of {} with {}: {}", name_, key, queue.name, message, to_string(result));
      return;
    } catch (const Error&) {
      if (world_.chance(3)) throw;
    }
  }
}

void SimClient::change_dead(const QueueOptions& queue, bool revive) {
  const auto number = history_.store().queues().find(queue.name)->number;
  std::vector<std::uint64_t> nos;
  std::vector<store::NewEntry> entries;
  for (const auto& row : store_->dead(number, 0, 5)) {
    auto dead = *domain::decode_dead(row.bytes);
    dead.options.unique.clear();
    nos.push_back(row.no);
    entries.push_back({row.shard, dead.is_entry ? dead.payload : domain::encode(domain::revival(dead))});
  }
  if (nos.empty()) return;
  if (revive) {
    store_->revive(number, nos, std::move(entries));
  } else {
    store_->erase_dead(number, nos);
  }
}

}  // namespace ordo::simulation
