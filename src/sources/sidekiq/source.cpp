#include "sources/sidekiq/source.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <ordo/sidekiq.hpp>

#include "base/time_text.h"
#include "sources/sidekiq/queue_names.h"
#include "sources/unique_row.h"

namespace ordo::sources {
namespace {

constexpr std::size_t kMostBytes = 16U << 20;  // of one step of the store
constexpr auto kReshardLook = std::chrono::milliseconds{50};
// A long poll_interval must not outlast it.
constexpr auto kRenew = SidekiqOrigin::kTakerFor / 2;

/// When a job was taken: the id of its entry in the stream begins with that.
Time came_at(const std::string& position) {
  std::int64_t ms = 0;
  std::from_chars(position.data(), position.data() + position.size(), ms);
  return written_time(Time{std::chrono::milliseconds{ms}});
}

}  // namespace

SidekiqSource::SidekiqSource(store::Store& store, Clock& clock, Config config, SourceOptions source,
                             Duration poll_interval, CrashPoint at, std::unique_ptr<SidekiqOrigin> import)
    : config_(std::move(config)),
      source_(std::move(source)),
      poll_interval_(poll_interval),
      at_(std::move(at)),
      clock_(clock),
      origin_(import ? std::move(import) : std::make_unique<SidekiqOrigin>(source_)),
      inlet_(store, config_, source_.name),
      room_(store, clock, queue_names(source_), source_.ahead) {
  if (source_.mirror_dead) mirror_.emplace(source_, store, clock_);
  if (source_.dialect != sidekiq::Dialect::resque)
    retries_.emplace(source_, store, clock_, origin_->id(), at_);
}

// What was thrown may have been about the row: it is read again then.
Duration SidekiqSource::tick() {
  if (!std::exchange(has_ended_well_, false)) {
    is_taker_ = false;
    look_again();
  }
  const auto delay = step();
  has_ended_well_ = true;
  return delay;
}

// Two that show the dead at once would undo each other's work: the one that takes does it.
Source::Shown SidekiqSource::show() {
  if (!mirror_ || !is_taker_) return Shown::nothing;
  if (!is_compared_.exchange(true)) mirror_->forget();
  return mirror_->tick();
}

Source::Shown SidekiqSource::hand_over() { return retries_ && is_taker_ ? retries_->tick() : Shown::nothing; }

void SidekiqSource::leave() {
  is_taker_ = false;
  origin_->leave(inlet_.row().position);
}

// Without room each push would have it ask for jobs that it must leave where they are.
void SidekiqSource::wait(Duration at_most) {
  origin_->wait(at_most, is_full_ ? SidekiqOrigin::Wakes::not_by_news : SidekiqOrigin::Wakes::by_news);
}

// Another process may have gone on.
void SidekiqSource::look_again() {
  inlet_.forget();
  is_compared_ = false;
}

Duration SidekiqSource::step() {
  if (!is_checked_) inlet_.check(source_.queue);  // before anything is taken
  is_checked_ = true;
  const auto room = room_.left();
  is_full_ = room == 0;
  const auto batch = origin_->take(inlet_.row().position, room);
  is_taker_ = batch.is_ours;
  if (!batch.is_ours) {
    look_again();
    return std::min(batch.another_for + kReshardLook, poll_interval_);
  }
  pass("taken");
  if (SidekiqOrigin::is_reset(inlet_.row().position)) {  // to be stored before anything behind it is taken
    auto next = inlet_.row();
    next.position = batch.position;
    return inlet_.append({}, std::move(next)) == Inlet::Appended::done ? Duration{0} : kReshardLook;
  }
  const auto now = clock_.steady();
  bool has_more = !batch.jobs.empty();
  if (!looked_at_due_ || now - *looked_at_due_ >= poll_interval_) {
    has_more = origin_->take_due(room) > 0 || has_more;
    pass("due moved");
    if (!has_more) looked_at_due_ = now;
  }
  if (!store_all(batch)) return kReshardLook;
  room_.added(batch.jobs.size());
  if (has_more) return Duration{0};
  return std::min<Duration>(is_full_ ? Duration{QueueRoom::kRecount} : Duration{kRenew}, poll_interval_);
}

// False: a queue is resharded just now, or another process stores.
bool SidekiqSource::store_all(const SidekiqOrigin::Batch& batch) {
  for (std::size_t begin = 0; begin < batch.jobs.size();) {
    auto [entries, next, undo] = make(batch.jobs, begin);
    pass("mapped");
    const auto what = inlet_.append(std::move(entries), std::move(next));
    if (what == Inlet::Appended::another) let_go(std::move(undo));
    if (what != Inlet::Appended::done) return false;
    pass("stored");
  }
  return true;
}

// Another process has stored these jobs, and they may have ended since: nobody would free their keys.
void SidekiqSource::let_go(std::vector<std::pair<std::string, store::RowStep>> undo) {
  for (auto& [queue, step] : undo) {
    std::vector<store::RowStep> steps;
    steps.push_back(std::move(step));
    inlet_.store().step_rows(store::Store::unique_rows(queue), std::move(steps));
  }
}

/// The entries of the next jobs, and the row that says that they are stored.
SidekiqSource::Made SidekiqSource::make(const std::vector<SidekiqOrigin::Taken>& jobs, std::size_t& begin) {
  Made made;
  made.next = inlet_.row();
  made.next.origin = origin_->name();
  made.next.at = inlet_.store().now();
  for (std::size_t bytes = 0; begin < jobs.size() && bytes < kMostBytes; ++begin) {
    for (auto& mapped : origin_->map(config_, jobs[begin])) add(made, jobs[begin], std::move(mapped));
    bytes += jobs[begin].size();
  }
  made.next.position = jobs[begin - 1].position;
  return made;
}

void SidekiqSource::add(Made& made, const SidekiqOrigin::Taken& taken, MappedJob mapped) {
  auto& [queue, job, refused, keeps_dead, is_dead, is_part] = mapped;
  UniqueClaim claim;
  if (!refused && !is_dead && !is_part)
    claim = claim_unique(inlet_.store(), config_, queue, job, source_.name + " " + taken.position,
                         came_at(taken.position));
  if (claim.undo) made.undo.emplace_back(queue, *std::move(claim.undo));
  pass("claimed");
  if (claim.holder) {
    if (claim.is_ignored) {
      ++made.next.refused["ignored"];
      return;
    }
    refused = {"not_unique", "job '" + *claim.holder + "' has its unique key already"};
  }
  if (refused) {
    ++made.next.refused[refused->why];
    made.entries.push_back(inlet_.dead_entry(queue, job, refused->text));
    return;
  }
  ++made.next.taken;
  const bool goes_back = source_.retries == SourceRetries::sidekiq && !is_dead;
  made.entries.push_back(
      inlet_.entry(queue, job, std::move(claim.holds), keeps_dead, goes_back ? source_.name : std::string{}));
  if (is_dead) made.entries.push_back(inlet_.kill_entry(queue, job));
}

void SidekiqSource::finish() {
  leave();  // the stream is empty now
  auto next = inlet_.row();
  if (next.position.empty()) return;
  next.position.clear();
  inlet_.append({}, std::move(next));
}

}  // namespace ordo::sources
