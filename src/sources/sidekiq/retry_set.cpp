#include "sources/sidekiq/retry_set.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "domain/entry.h"
#include "sources/lua_files.h"
#include "sources/sidekiq/failed_job.h"
#include "sources/sidekiq/origin.h"
#include "sources/sidekiq/queue_names.h"
#include "store/shard_states.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;

constexpr std::size_t kMostBytesOfStep = 16U << 20;  // of the payloads of one step
constexpr const char* kSet = "retry";
constexpr auto kOwnRetry = std::chrono::seconds{15};  // of what cannot be handed over

/// Nothing also where it cannot be written for another reason: no job may keep the others here.
std::optional<Retry> retry_of(const SourceOptions& source, const domain::Entry& entry,
                              const domain::JobState& state) {
  try {
    return write_retry(source, entry.id, entry.payload, state, entry.options.max_retries);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string handed_over(const domain::Entry& entry, const domain::JobState& state) {
  domain::Entry told;
  told.type = domain::EntryType::handed_over;
  told.kind = entry.kind;
  told.key = entry.key;
  told.id = entry.id;
  told.hand_over = state.hand_over.name;
  return domain::encode(told);
}

/// The entry, which came at `at`, without its source: Ordo retries it, as often as is left.
std::string handed_back(domain::Entry entry, Time at, const domain::JobState& state) {
  entry.type = domain::EntryType::handed_back;
  entry.hand_over = state.hand_over.name;
  entry.edits.clear();
  entry.options.retried_by.clear();
  entry.options.replaces_time = false;
  entry.score = entry.score.value_or(domain::score_of(entry.came.value_or(at)));
  entry.came.reset();  // it comes now, and its time is set now
  entry.run_at = state.set_at + kOwnRetry;
  if (auto& left = entry.options.max_retries) left = std::max(*left - state.retry_count - 1, 0);
  return domain::encode(entry);
}

}  // namespace

RetrySet::RetrySet(const SourceOptions& source, store::Store& store, Clock& clock, std::string taker,
                   CrashPoint at)
    : source_(source),
      store_(store),
      clock_(clock),
      taker_(std::move(taker)),
      at_(std::move(at)),
      link_(source.url) {}

Source::Shown RetrySet::tick() {
  const auto now = clock_.steady();
  if (next_ && now < *next_) return Source::Shown::nothing;
  next_ = now + (source_.retries == SourceRetries::sidekiq ? kLook : kRareLook);
  auto shown = Source::Shown::all;
  for (const auto shard : shards()) {
    auto rows = rows_of(shard);
    if (!is_open(shard)) {  // it is resharded: what is not told in its log is found in another shard
      std::erase_if(told_, [&](const auto& told) { return told.second == shard; });
      continue;
    }
    forget_gone(shard, rows);
    std::erase_if(rows, [&](const Row& row) { return told_.contains(row.state.hand_over.name); });
    std::span<Row> left(rows);
    auto step = Step::useless;
    while (!left.empty() && step == Step::useless) step = hand_over(shard, left);
    if (step == Step::not_taker) return Source::Shown::nothing;
    if (left.empty()) continue;
    next_.reset();
    shown = Source::Shown::some;
  }
  return shown;
}

/// Those that have rows, or had some.
std::vector<store::ShardId> RetrySet::shards() const {
  const auto names = queue_names(source_);
  std::set<std::uint32_t> numbers;
  for (const auto& queue : store_.queues().queues) {
    if (names.contains(queue.name)) numbers.insert(queue.number);
  }
  std::set<store::ShardId> all;
  for (const auto& [name, shard] : told_) all.insert(shard);
  for (const auto& row : store_.shards()) {
    if (!numbers.contains(row.shard.queue)) continue;
    if (domain::decode_counts(row.counts).or_empty().hand_overs > 0) all.insert(row.shard);
  }
  return {all.begin(), all.end()};
}

std::vector<RetrySet::Row> RetrySet::rows_of(store::ShardId shard) {
  std::vector<Row> rows;
  for (const auto& facts : store_.load(std::span(&shard, 1))) {
    for (auto& [seq, state] : store::read_states(facts.states).jobs) {
      if (state.hand_over.source == source_.name) rows.push_back({seq, std::move(state)});
    }
  }
  std::ranges::sort(rows, {}, &Row::seq);
  return rows;
}

bool RetrySet::is_open(store::ShardId shard) const {
  const auto list = store_.queues();
  return std::ranges::any_of(list.queues,
                             [&](const auto& queue) { return queue.number == shard.queue && !queue.closed; });
}

void RetrySet::forget_gone(store::ShardId shard, const std::vector<Row>& rows) {
  std::set<std::string_view> there;
  for (const auto& row : rows) there.insert(row.state.hand_over.name);
  CommandText commands;
  std::vector<std::string> gone;
  for (const auto& [name, of] : told_) {
    if (of != shard || there.contains(name)) continue;
    commands.add("EXPIRE", key_of(name), std::chrono::seconds(kRememberedBehind).count());
    gone.push_back(name);
  }
  if (gone.empty()) return;
  pass("gone");
  link_.ask("forget which retries were brought", commands);
  for (const auto& name : gone) told_.erase(name);
}

RetrySet::Step RetrySet::hand_over(store::ShardId shard, std::span<Row>& left) {
  const auto rows = left.first(std::min(left.size(), at_once_));
  std::vector<store::Seq> seqs;
  for (const auto& row : rows) seqs.push_back(row.seq);
  const auto chunk = store_.fetch(shard, seqs);
  const auto now = store_.believed_now();  // the clock that a row was written by may have been ahead
  CommandText commands;
  std::vector<Handed> brought, others;
  auto row = rows.begin();
  auto passed = rows.size();
  std::size_t bytes = 0;
  for (const auto& logged : chunk.rows) {
    row = std::ranges::find(row, rows.end(), logged.seq, &Row::seq);
    if (row == rows.end()) break;
    if (bytes >= kMostBytesOfStep) {
      passed = static_cast<std::size_t>(row - rows.begin());
      break;
    }
    bytes += chunk.body(logged).size();
    const auto entry = domain::decode_entry(chunk.body(logged));
    if (!entry) continue;
    const auto& name = row->state.hand_over.name;
    row->state.set_at = std::min(row->state.set_at, now);
    const auto retry = retry_of(source_, *entry, row->state);
    if (!retry) {
      others.push_back({name, handed_back(*entry, logged.at, row->state)});
      continue;
    }
    commands.add("EVAL", kSidekiqRetryLua, 3, kSet, SidekiqOrigin::taker_key(source_), key_of(name), taker_,
                 retry->score, retry->bytes, std::chrono::seconds(kRemembered).count());
    brought.push_back({name, handed_over(*entry, row->state)});
  }
  left = left.subspan(passed);
  std::size_t fetched = 0;
  for (const auto& logged : chunk.rows) fetched += chunk.body(logged).size();
  if (fetched > 0) at_once_ = std::clamp<std::size_t>(kMostBytesOfStep * rows.size() / fetched, 1, kMost);
  pass("read");
  bool is_taker = true;
  if (!brought.empty()) {
    const auto replies = link_.ask("bring retries", commands);
    pass("brought");
    for (const auto& reply : replies) is_taker = is_taker && reply.integer == 1;
  }
  if (!is_taker) return Step::not_taker;
  brought.insert(brought.end(), others.begin(), others.end());
  tell(shard, brought);
  return brought.empty() ? Step::useless : Step::useful;
}

void RetrySet::tell(store::ShardId shard, const std::vector<Handed>& handed) {
  if (handed.empty()) return;
  std::vector<store::NewEntry> entries;
  for (const auto& each : handed) entries.push_back({shard, each.entry});
  store_.append_durably(std::move(entries));
  pass("told");
  for (const auto& each : handed) told_.emplace(each.name, shard);
}

}  // namespace ordo::sources
