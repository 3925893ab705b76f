#include "simulation/sim_client.h"

#include <ordo/error.hpp>

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
  actor_->wake_at(world_.now() + world_.upto(world_.chance(2) ? milliseconds{20} : milliseconds{3000}));
  try {
    act();
  } catch (const Error&) {
    world_.say("{}: no answer", name_);
  }
}

void SimClient::act() {
  const auto at = world_.random.below(queues_.size());
  const auto& queue = queues_[at];
  const auto number = static_cast<std::uint32_t>(at + 1);
  switch (world_.random.below(24)) {
    case 0:
    case 1:
      return control(queue, number, EntryType::cancel);
    case 2:
      return control(queue, number, EntryType::run_now);
    case 3:
    case 4:
      return change_dead(queue, number, true);
    case 5:
      return change_dead(queue, number, false);
    case 6:
      world_.say("{} pauses {}", name_, queue.name);
      store_->set_paused(queue.name, true);
      return;
    case 7:
    case 8:
      store_->set_paused(queue.name, false);
      return;
    default:
      return push(queue, number);
  }
}

void SimClient::push(const QueueOptions& queue, std::uint32_t number) {
  std::vector<store::NewEntry> entries;
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
    if (world_.chance(4)) entry.run_at = world_.wall() + world_.upto(seconds{20}) - seconds{5};
    if (world_.chance(40)) entry.run_at = world_.wall() + seconds{61} + world_.upto(seconds{20});
    if (world_.chance(5)) entry.options.priority = static_cast<std::int32_t>(world_.random.below(3)) * 100;
    if (world_.chance(12)) entry.options.timeout = seconds{1} + world_.upto(seconds{3});
    entries.push_back({{number, domain::shard_of(key, queue.shards)}, domain::encode(entry)});
  }
  send(std::move(entries));
}

void SimClient::control(const QueueOptions& queue, std::uint32_t number, EntryType type) {
  const auto id = "i" + std::to_string(world_.random.below(8));
  domain::Entry entry;
  entry.type = type;
  entry.kind = queue.name;
  entry.id = id;
  std::vector<store::NewEntry> entries;
  for (std::uint32_t i = 0; i < queue.shards; ++i) entries.push_back({{number, i}, domain::encode(entry)});
  if (type == EntryType::cancel) ++history_.totals.cancels;
  send(std::move(entries));
}

// Of unknown outcome: sent again with the same ids until it is known to be stored.
void SimClient::send(std::vector<store::NewEntry> entries) {
  ++unanswered_;
  auto copy = entries;
  store_->append(std::move(copy), [this, entries = std::move(entries)](const std::exception_ptr& error) {
    if (!error) {
      --unanswered_;
      return;
    }
    world_.later(milliseconds{50} + world_.upto(milliseconds{500}), [this, entries] {
      if (dead_) return;
      --unanswered_;
      send(entries);
    });
  });
}

void SimClient::change_dead(const QueueOptions&, std::uint32_t number, bool revive) {
  std::vector<std::uint64_t> nos;
  std::vector<store::NewEntry> entries;
  for (const auto& row : store_->dead(number, 0, 5)) {
    const auto dead = domain::decode_dead(row.bytes);
    domain::Entry entry;
    entry.type = EntryType::revive;
    entry.kind = dead.kind;
    entry.key = dead.key;
    entry.id = dead.id;
    entry.score = dead.score;
    entry.options = dead.options;
    entry.payload = dead.payload;
    nos.push_back(row.no);
    entries.push_back({row.shard, domain::encode(entry)});
  }
  if (nos.empty()) return;
  if (revive) {
    store_->revive(number, nos, std::move(entries));
  } else {
    store_->erase_dead(number, nos);
  }
}

}  // namespace ordo::simulation
