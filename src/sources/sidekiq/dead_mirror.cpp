#include "sources/sidekiq/dead_mirror.h"

#include <fmt/format.h>

#include "base/fnv.h"
#include "domain/records.h"
#include "sources/lua_files.h"
#include "sources/sidekiq/dead_job.h"
#include "sources/sidekiq/queue_names.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;

constexpr std::size_t kRows = 100;
constexpr std::size_t kNames = 500;
constexpr int kMostDead = 10'000;  // Sidekiq's own bounds
constexpr auto kDeadLife = std::chrono::hours{180 * 24};
// A row that came for one that went leaves the counts of its shard as they were.
constexpr auto kCompareAnyway = std::chrono::seconds{60};

/// Microseconds: pages name a job by its score and its jid.
std::string score_of(Time at) {
  return fmt::format("{:.6f}", std::chrono::duration<double>(at.time_since_epoch()).count());
}

/// A reshard leaves it as it is.
std::string name_of(const store::DeadRow& row) {
  return fmt::format("{:x}.{:016x}", row.at.time_since_epoch().count(), fnv1a(row.bytes));
}

}  // namespace

DeadMirror::DeadMirror(const SourceOptions& source, store::Store& store, Clock& clock)
    : source_(source), store_(store), clock_(clock), names_(queue_names(source)), link_(source.url) {}

void DeadMirror::forget() {
  comparison_.reset();
  compared_.reset();
}

bool DeadMirror::tick() {
  if (!comparison_ && !begin()) return false;
  if (!comparison_->is_read) return show_some();
  return take_away_some();
}

/// What changes with the dead rows of its queues, and which queues these are.
DeadMirror::Signs DeadMirror::signs(std::vector<std::uint32_t>& queues) {
  std::set<std::uint32_t> numbers;
  for (const auto& queue : store_.queues().queues) {
    if (names_.contains(queue.name)) numbers.insert(queue.number);
  }
  queues.assign(numbers.begin(), numbers.end());
  Signs signs;
  for (const auto& row : store_.shards()) {
    if (!numbers.contains(row.shard.queue)) continue;
    signs.insert(signs.end(), {row.shard.queue, row.shard.index, row.dead, row.dead_trimmed});
  }
  return signs;
}

bool DeadMirror::begin() {
  const auto now = clock_.steady();
  if (compared_ && now - *looked_ < kLook) return false;
  looked_ = now;
  Comparison next;
  auto there = signs(next.queues);
  if (compared_ == there && now - *compared_at_ < kCompareAnyway) return false;
  CommandText ask;
  ask.add("HKEYS", hash_key(source_));
  shown_.clear();
  const auto names = link_.ask("read which dead jobs are shown", ask).at(0);
  for (const auto& name : names.items) shown_.insert(name.text);
  next.gone = shown_;
  compared_ = std::move(there);
  compared_at_ = now;
  comparison_ = std::move(next);
  return true;
}

bool DeadMirror::show_some() {
  auto& [gone, queues, after, is_read] = *comparison_;
  if (queues.empty()) {
    is_read = true;
    return true;
  }
  const auto rows = store_.dead(queues.back(), after, kRows);
  const auto oldest = score_of(store_.now() - kDeadLife);
  CommandText commands;
  for (const auto& row : rows) {
    after = row.no;
    const auto name = name_of(row);
    gone.erase(name);
    if (shown_.contains(name)) continue;
    const auto dead = domain::decode_dead(row.bytes);
    const auto bytes = dead ? write_dead_job(source_, *dead, row.at) : std::nullopt;
    if (!bytes) continue;
    commands.add("EVAL", kSidekiqMirrorLua, 2, "dead", hash_key(source_), name, score_of(row.at), *bytes,
                 oldest, -kMostDead - 1);
  }
  if (rows.size() < kRows) {
    queues.pop_back();
    after = 0;
  }
  if (commands.count() > 0) link_.ask("show dead jobs", commands);
  return true;
}

bool DeadMirror::take_away_some() {
  auto& gone = comparison_->gone;
  CommandText commands;
  while (!gone.empty() && commands.count() < kNames) {
    const auto name = gone.extract(gone.begin()).value();
    commands.add("EVAL", kSidekiqMirrorLua, 2, "dead", hash_key(source_), name);
  }
  const bool has_more = !gone.empty();
  if (commands.count() > 0) link_.ask("take away what is dead no more", commands);
  if (!has_more) comparison_.reset();
  return has_more;
}

}  // namespace ordo::sources
