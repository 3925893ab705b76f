#include "sources/sidekiq/dead_mirror.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/fnv.h"
#include "domain/records.h"
#include "sources/lua_files.h"
#include "sources/sidekiq/dead_job.h"
#include "sources/sidekiq/queue_names.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;

constexpr std::size_t kFirstRows = 10;  // payloads may be large
constexpr std::size_t kMostRows = 100;
constexpr std::size_t kPageBytes = 1U << 20;
constexpr std::size_t kNames = 500;
constexpr auto kDeadLife = std::chrono::hours{180 * 24};
constexpr int kTimesAsLong = 10;  // as a comparison is the pause behind it
// A row that came for one that went leaves the counts of its shard as they were.
constexpr auto kCompareAnyway = std::chrono::seconds{60};

/// Pages list and name jobs by their scores, and jobs of one run die at the same time: the microseconds are
/// made of the bytes, so that few have the same score.
std::string score_of(const store::DeadRow& row) {
  constexpr std::uint64_t kMicroseconds = 1'000'000;
  const auto second = std::chrono::floor<std::chrono::seconds>(row.at.time_since_epoch());
  return fmt::format("{}.{:06}", second.count(), fnv1a(row.bytes) % kMicroseconds);
}

/// A reshard leaves it as it is.
std::string name_of(const store::DeadRow& row) {
  return fmt::format("{:x}.{:016x}", row.at.time_since_epoch().count(), fnv1a(row.bytes));
}

}  // namespace

DeadMirror::DeadMirror(const SourceOptions& source, store::Store& store, Clock& clock)
    : source_(source),
      store_(store),
      clock_(clock),
      names_(queue_names(source)),
      link_(source.url),
      page_rows_(kFirstRows) {}

void DeadMirror::forget() {
  comparison_.reset();
  compared_.reset();
}

Source::Shown DeadMirror::tick() {
  if (!std::exchange(has_ended_well_, false)) {
    forget();
    next_ = clock_.steady() + kLook;
  }
  const auto shown = comparison_ || begin() ? go_on() : Source::Shown::nothing;
  has_ended_well_ = true;
  return shown;
}

/// What changes with the dead rows of its queues, and which queues these are.
DeadMirror::Signs DeadMirror::signs(Comparison& next) {
  std::set<std::uint32_t> numbers;
  for (const auto& queue : store_.queues().queues) {
    if (names_.contains(queue.name)) numbers.insert(queue.number);
  }
  next.queues.assign(numbers.begin(), numbers.end());
  Signs signs;
  for (const auto& row : store_.shards()) {
    if (!numbers.contains(row.shard.queue)) continue;
    signs.insert(signs.end(), {row.shard.queue, row.shard.index, row.dead, row.dead_trimmed});
    next.too_many[row.shard.queue] += row.dead;
  }
  for (auto& [queue, count] : next.too_many) count -= std::min(count, kMostShown);
  return signs;
}

bool DeadMirror::begin() {
  const auto now = clock_.steady();
  if (next_ && now < *next_) return false;
  next_ = now + kLook;
  Comparison next;
  auto there = signs(next);
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

Source::Shown DeadMirror::go_on() {
  const auto begin = clock_.steady();
  bool has_more = true;
  if (comparison_->is_read) {
    has_more = take_away_some();
  } else {
    show_some();
  }
  const auto end = clock_.steady();
  comparison_->took += end - begin;
  if (has_more) return Source::Shown::some;
  next_ = end + std::max<Duration>(kLook, kTimesAsLong * comparison_->took);
  comparison_.reset();
  return Source::Shown::all;
}

void DeadMirror::show_some() {
  auto& now = *comparison_;
  if (now.queues.empty()) {
    now.is_read = true;
    return;
  }
  const auto queue = now.queues.back();
  auto& too_many = now.too_many[queue];
  const auto rows = store_.dead(queue, now.after, page_rows_);
  const auto oldest = store_.now() - kDeadLife;
  CommandText commands;
  std::size_t size = 0;
  for (const auto& row : rows) {
    now.after = row.no;
    size += row.bytes.size();
    if (too_many > 0) {
      --too_many;
      continue;
    }
    if (row.at < oldest) continue;
    const auto name = name_of(row);
    now.gone.erase(name);
    if (shown_.contains(name)) continue;
    const auto dead = domain::decode_dead(row.bytes);
    const auto bytes = dead ? write_dead_job(source_, *dead, row.at) : std::nullopt;
    if (!bytes) continue;
    commands.add("EVAL", kSidekiqMirrorLua, 2, "dead", hash_key(source_), name, score_of(row), *bytes);
  }
  if (rows.size() < page_rows_) {
    now.queues.pop_back();
    now.after = 0;
  }
  fit_page(rows.size(), size);
  if (commands.count() > 0) link_.ask("show dead jobs", commands);
}

/// The store bounds a page by its rows only.
void DeadMirror::fit_page(std::size_t rows, std::size_t bytes) {
  if (rows == 0) return;
  const auto most = std::min(2 * page_rows_, kMostRows);
  page_rows_ = std::clamp<std::size_t>(kPageBytes / (bytes / rows + 1), 1, most);
}

bool DeadMirror::take_away_some() {
  auto& gone = comparison_->gone;
  CommandText commands;
  while (!gone.empty() && commands.count() < kNames) {
    const auto name = gone.extract(gone.begin()).value();
    commands.add("EVAL", kSidekiqMirrorLua, 2, "dead", hash_key(source_), name);
  }
  if (commands.count() > 0) link_.ask("take away what is dead no more", commands);
  return !gone.empty();
}

}  // namespace ordo::sources
