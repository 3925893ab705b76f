#include "web/history.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace ordo::web {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

std::uint32_t grown(std::uint64_t now, std::uint64_t before) {
  return static_cast<std::uint32_t>(now > before ? now - before : 0);
}

void add(std::optional<std::uint64_t>& sum, std::uint64_t more) { sum = sum.value_or(0) + more; }

}  // namespace

std::size_t History::Frame::bytes() const {
  return sizeof(Frame) + entries.capacity() * sizeof(Entry) + steps.capacity() * sizeof(TimeSteps::Count);
}

std::uint32_t History::number_of(const RunTimes::Name& name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

// Stats do not count pushes: a job that came is there, or has ended. One that was cancelled, or expired,
// since the last look is missing.
void History::add_queue(Frame& frame, const std::string& queue, const QueueStats& stats) {
  const Known now{.in_system = stats.length + stats.running + stats.awaiting,
                  .processed = stats.processed,
                  .failed = stats.failed,
                  .dead = stats.dead + stats.dead_trimmed};
  // Of a queue that has come since the last look, all of it happened since.
  const auto [found, is_new] = known_.try_emplace(queue, frames_.empty() ? now : Known{});
  const Known before = std::exchange(found->second, now);
  const Entry entry{.name = number_of({queue, ""}),
                    .pushed = grown(now.in_system + now.processed + now.dead,
                                    before.in_system + before.processed + before.dead),
                    .done = grown(now.processed, before.processed),
                    .failed = grown(now.failed, before.failed),
                    .dead = grown(now.dead, before.dead),
                    .lag = static_cast<float>(stats.lag)};
  if (entry.pushed + entry.done + entry.failed + entry.dead > 0 || entry.lag > 0)
    frame.entries.push_back(entry);
}

void History::add_runs(Frame& frame, const RunTimes::Name& name, const RunTimes::Lately& runs) {
  frame.entries.push_back({.name = number_of(name),
                           .done = runs.done,
                           .failed = runs.failed,
                           .dead = runs.dead,
                           .first_step = static_cast<std::uint32_t>(frame.steps.size()),
                           .runs = static_cast<std::uint16_t>(runs.run.counts().size()),
                           .waits = static_cast<std::uint16_t>(runs.wait.counts().size())});
  for (const auto* steps : {&runs.run, &runs.wait}) {
    for (const auto& [step, times] : steps->counts()) frame.steps.push_back({step, times});
  }
}

void History::forget_removed(const Stats& stats) {
  std::set<std::string_view> there;
  for (const auto& [queue, counts] : stats.by_queue) there.insert(queue);
  std::erase_if(known_, [&](const auto& each) { return !there.contains(each.first); });
}

void History::add(Time at, const Stats& stats, const std::map<RunTimes::Name, RunTimes::Lately>& runs) {
  const std::lock_guard lock(mutex_);
  Frame frame{.at = at};
  for (const auto& [queue, counts] : stats.by_queue) add_queue(frame, queue, counts);
  if (known_.size() > stats.by_queue.size()) forget_removed(stats);
  for (const auto& [name, lately] : runs) add_runs(frame, name, lately);
  frame.entries.shrink_to_fit();
  frame.steps.shrink_to_fit();
  bytes_ += frame.bytes();
  frames_.push_back(std::move(frame));
  while (frames_.size() > 1 && (bytes_ > most_bytes_ || frames_.front().at < at - hours{1})) {
    bytes_ -= frames_.front().bytes();
    frames_.pop_front();
  }
}

bool History::admits(const Wish& wish, const RunTimes::Name& name) const {
  if (!wish.queue.empty() && wish.queue != name.first) return false;
  return wish.kind.empty() || wish.kind == name.second;
}

void History::add_to(Point& point, const Frame& frame, const Wish& wish) const {
  const bool of_kind = !wish.kind.empty();
  for (auto* count : {&point.done, &point.failed, &point.dead}) web::add(*count, 0);
  if (!of_kind) {
    web::add(point.pushed, 0);
    point.lag = point.lag.value_or(0);
  }
  for (const Entry& entry : frame.entries) {
    const auto& name = names_[entry.name];
    if (!admits(wish, name)) continue;
    const bool is_of_store = name.second.empty();
    if (is_of_store != of_kind) {
      web::add(point.done, entry.done);
      web::add(point.failed, entry.failed);
      web::add(point.dead, entry.dead);
    }
    if (is_of_store) {
      web::add(point.pushed, entry.pushed);
      point.lag = std::max(point.lag.value_or(0), static_cast<double>(entry.lag));
    }
    const auto* step = frame.steps.data() + entry.first_step;
    for (std::size_t i = 0; i < entry.runs; ++i) point.run.add(*step++);
    for (std::size_t i = 0; i < entry.waits; ++i) point.wait.add(*step++);
  }
}

std::vector<History::Point> History::read(const Wish& wish) const {
  const std::lock_guard lock(mutex_);
  std::vector<Point> points;
  auto frame = std::ranges::lower_bound(frames_, wish.from, {}, &Frame::at);
  for (Time at = wish.from; at < wish.to; at += wish.step) {
    auto& point = points.emplace_back(Point{.at = at});
    for (; frame != frames_.end() && frame->at < at + wish.step; ++frame) add_to(point, *frame, wish);
  }
  return points;
}

std::size_t History::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace ordo::web
