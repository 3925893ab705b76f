// What is kept of ended jobs, newest first, from the store alone: the heads of all blocks say which of them
// are to be read.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/saturate.h"
#include "base/shorten.h"
#include "client/admin_impl.h"
#include "client/kept_records.h"
#include "domain/archive.h"
#include "domain/kept.h"

namespace ordo {
namespace {

constexpr std::uint8_t kRecordCursorVersion = 2;

/// No two records of a queue stand at the same. The newest is the first.
struct RecordPlace {
  Time ended{};
  std::uint32_t shard = 0;
  std::uint64_t block = 0;
  std::uint64_t place = 0;

  auto operator<=>(const RecordPlace&) const = default;
};

struct RecordCursor {
  std::uint32_t queue = 0;  ///< the number of its definition
  RecordPlace place{};
};

template <class A>
void fields(A& a, domain::In<A, RecordCursor>& cursor) {
  a.version(kRecordCursorVersion);
  a.number(cursor.queue);
  a.any_time(cursor.place.ended);
  a.number(cursor.place.shard);
  a.number(cursor.place.block);
  a.number(cursor.place.place);
  if constexpr (A::kReads) a.check(a.at_end(), "it is too long");
}

std::string record_cursor(std::uint32_t queue, const RecordPlace& place) {
  std::string text;
  append_base64(text, domain::to_bytes(RecordCursor{queue, place}));
  return text;
}

std::optional<RecordPlace> read_record_cursor(std::uint32_t queue, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (const auto bytes = decode_base64(text)) {
    const auto cursor = domain::decode<RecordCursor>(*bytes, "cursor");
    if (cursor && cursor->queue != queue) domain::refuse_old_cursor(text);
    if (cursor) return cursor->place;
  }
  throw Error(ErrorKind::invalid_argument, "'" + shortened(text) + "' is no cursor of such a listing");
}

bool names(std::string_view wanted, std::string_view name) { return wanted.empty() || wanted == name; }

/// Which records are wanted, and so which blocks.
class RecordChoice {
 public:
  RecordChoice(const RecordFilter& filter, std::uint32_t queue, const QueueOptions* options, Time now)
      : filter_(filter),
        options_(options),
        now_(now),
        after_(read_record_cursor(queue, filter.after)),
        hash_(domain::name_hash(filter.id)) {}

  bool may_have(const domain::KeptHead& head) const {
    if (filter_.since && head.newest < *filter_.since) return false;
    if (filter_.until && head.oldest >= *filter_.until) return false;
    if (after_ && head.oldest > after_->ended) return false;
    return filter_.id.empty() || std::ranges::find(head.names, hash_) != head.names.end();
  }

  /// `keep`: as the shard's owner has it.
  bool admits(const domain::KeptRecord& record, const RecordPlace& place, Duration keep) {
    const bool is_named =
        names(filter_.id, record.id) && names(filter_.kind, record.kind) && names(filter_.key, record.key);
    if (!is_named || (after_ && place >= *after_)) return false;
    if (filter_.since && record.ended < *filter_.since) return false;
    if (filter_.until && record.ended >= *filter_.until) return false;
    if (saturating_add(record.ended, keep_of(record.kind, keep)) <= now_) return false;
    if (!filter_.error.empty() && record.error.find(filter_.error) == std::string::npos) return false;
    if (filter_.error_kind && (record.error.empty() || record.error_kind != *filter_.error_kind))
      return false;
    return filter_.states.empty() || std::ranges::find(filter_.states, record.ending) != filter_.states.end();
  }

 private:
  // A config that says nothing of records does not know.
  Duration keep_of(const std::string& kind, Duration owners) {
    if (options_ == nullptr || options_->keep <= Duration{}) return owners;
    const auto [known, is_new] = keeps_.try_emplace(kind);
    if (is_new) known->second = options_of(*options_, kind).keep;
    return known->second;
  }

  const RecordFilter& filter_;
  const QueueOptions* options_;
  const Time now_;
  const std::optional<RecordPlace> after_;
  const std::uint32_t hash_;
  std::map<std::string, Duration> keeps_;
};

RecordView record_view(const std::string& queue, domain::KeptRecord record) {
  const auto known = [](Time time) { return time == Time{} ? std::nullopt : std::optional(time); };
  return {.queue = queue,
          .kind = std::move(record.kind),
          .key = std::move(record.key),
          .id = std::move(record.id),
          .state = record.ending,
          .pushed = known(record.pushed),
          .started = known(record.started),
          .ended = record.ended,
          .node = std::move(record.node),
          .retry_count = record.retry_count,
          .error_kind = record.error_kind,
          .error = std::move(record.error),
          .payloads = std::move(record.payloads),
          .is_cut = record.is_cut};
}

/// The first block that a shard may have, and for how long its owner keeps records.
std::map<store::ShardId, domain::KeptCounts> kept_in(store::Store& store,
                                                     const std::vector<store::ShardId>& shards) {
  std::map<store::ShardId, domain::KeptCounts> kept;
  const std::set<store::ShardId> wanted(shards.begin(), shards.end());
  for (const auto& row : store.shards()) {
    if (!wanted.contains(row.shard)) continue;
    const auto counts = domain::decode_counts(row.counts).or_empty().kept;
    if (counts.next != domain::KeptCounts{}.next) kept.emplace(row.shard, counts);
  }
  return kept;
}

std::vector<StoredBlock> newest_first(store::Store& store,
                                      const std::map<store::ShardId, domain::KeptCounts>& kept,
                                      const RecordChoice& choice) {
  std::map<store::ShardId, std::uint64_t> from;
  for (const auto& [shard, counts] : kept) from.emplace(shard, counts.first);
  auto blocks = find_blocks(store, from, [&](const domain::KeptHead& head) { return choice.may_have(head); });
  std::ranges::sort(blocks, std::greater{},
                    [](const StoredBlock& block) { return std::tuple(block.newest, block.shard, block.no); });
  return blocks;
}

using FoundRecords = std::map<RecordPlace, domain::KeptRecord, std::greater<>>;

/// The first of those that fit.
FoundRecords find_records(store::Store& store, const std::vector<store::ShardId>& shards,
                          RecordChoice& choice, std::size_t limit) {
  const auto kept = kept_in(store, shards);
  const auto blocks = newest_first(store, kept, choice);
  FoundRecords found;
  for (auto left = std::span<const StoredBlock>(blocks); !left.empty();) {
    if (found.size() >= limit && std::prev(found.end())->first.ended > left.front().newest) break;
    read_some_blocks(store, left, [&](store::ShardId shard, const store::KeptRow& row) {
      domain::each_record(row.body, [&](std::size_t place, const domain::KeptRecord& record) {
        const RecordPlace where{record.ended, shard.index, row.no, place};
        if (!choice.admits(record, where, kept.at(shard).keep)) return;
        if (found.size() >= limit) {
          if (where < std::prev(found.end())->first) return;
          found.erase(std::prev(found.end()));
        }
        found.emplace(where, record);
      });
    });
  }
  return found;
}

/// The block without the records of that name; nothing: it has none. It keeps its place in time.
std::optional<store::KeptRow> without(const store::KeptRow& row, const JobName& job, std::size_t& gone) {
  domain::KeptBlock block;
  std::size_t found = 0;
  const bool is_whole = domain::each_record(row.body, [&](std::size_t, const domain::KeptRecord& record) {
    const bool is_meant = job.id == record.id && names(job.kind, record.kind) && names(job.key, record.key);
    if (is_meant) {
      ++found;
    } else {
      block.add(record);
    }
  });
  const auto old = domain::decode_kept_head(row.head);
  if (found == 0 || !is_whole || !old) return std::nullopt;
  gone += found;
  store::KeptRow left{row.no, {}, block.body({})};
  auto head = block.head(left.body);
  head.oldest = old->oldest;
  head.newest = old->newest;
  head.bytes = old->bytes;  // as its owner has counted them
  left.head = domain::encode(head);
  return left;
}

}  // namespace

// Blocks change by nobody else: their owner only takes them away.
std::size_t Admin::Impl::forget(std::string_view name, const JobName& job) {
  if (job.id.empty()) throw Error(ErrorKind::invalid_argument, "a job needs an id");
  std::size_t gone = 0;
  handle_->until_done(name, [&](const store::QueueDefinition& queue) {
    auto& store = handle_->store();
    const RecordFilter filter{.id = job.id};
    const RecordChoice choice(filter, queue.number, nullptr, store.now());
    const auto blocks = newest_first(store, kept_in(store, shards_for(queue, {.key = job.key})), choice);
    for (auto left = std::span<const StoredBlock>(blocks); !left.empty();) {
      read_some_blocks(store, left, [&](store::ShardId shard, const store::KeptRow& row) {
        std::size_t found = 0;
        const auto rest = without(row, job, found);
        if (rest && store.replace_kept(shard, *rest)) gone += found;
      });
    }
    return false;
  });
  const DeadFilter dead{.ids = std::vector{job.id}, .kind = job.kind, .key = job.key};
  return gone + change_dead(name, dead, false, {});
}

// A reshard may take them elsewhere meanwhile.
std::string Admin::Impl::records(std::string_view name, const RecordFilter& filter,
                                 const std::function<bool(const RecordView&)>& visit) {
  if (filter.limit == 0) return {};
  if (!handle_->existing_queue(name)) static_cast<void>(read_record_cursor(0, filter.after));
  FoundRecords found;
  std::uint32_t of = 0;
  for (auto queue = handle_->existing_queue(name); queue;) {
    of = queue->number;
    RecordChoice choice(filter, of, handle_->options(name), handle_->store().now());
    found = find_records(handle_->store(), shards_for(*queue, {.key = filter.key}), choice, filter.limit);
    const auto before = std::exchange(queue, handle_->existing_queue(name));
    if (queue && queue->number == before->number) break;
  }
  std::string shown;
  for (auto& [place, record] : found) {
    if (!visit(record_view(std::string(name), std::move(record)))) break;
    shown = record_cursor(of, place);
  }
  return shown;
}

}  // namespace ordo
