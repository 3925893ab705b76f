// What a copy moves: entries, job states, dead payloads.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <ordo/error.hpp>

#include "client/checksum.h"
#include "client/kept_records.h"
#include "client/page_sizes.h"
#include "client/store_copy.h"
#include "domain/dead_letters.h"
#include "domain/source_row.h"
#include "domain/wait_record.h"
#include "store/blocking.h"
#include "store/dead_letters.h"

namespace ordo {
namespace {

constexpr std::size_t kRowsAtOnce = 64;  // of waits: the responses in them may be of 1 MiB

domain::RateRows rates_of(const std::vector<store::StateRow>& rows) {
  domain::RateRows rates;
  for (const auto& row : rows) {
    if (!domain::is_rate_row(row.seq)) continue;
    auto rate = domain::decode_rate(row.bytes);
    if (rate.needs() != 0)
      throw Error(
          ErrorKind::unsupported,
          "cannot copy: " + rate.why() + "; run `ordo copy` of the newest version that works on the store");
    if (rate) rates.emplace_back(row.seq, *std::move(rate));
  }
  return rates;
}

std::uint64_t checksum_of(const std::string& bytes) { return Checksum::of(bytes); }

}  // namespace

// What cannot be read goes over as it is. What a newer version wrote may mean the time of its append.
std::string StoreCopy::settled_bytes(std::string_view bytes, Time at) {
  const auto entry = domain::decode_entry(bytes);
  if (entry) return domain::encode(domain::settled(*entry, at));
  if (entry.needs() == 0) return std::string(bytes);
  throw Error(ErrorKind::unsupported, "cannot copy: " + entry.why() +
                                          "; run `ordo copy` of the newest version that works on the store");
}

// Entries as they are in TO: in FROM they may still owe something to the time of their append.
void StoreCopy::read_log(Side side, const std::function<bool(const Part&)>& wanted, const Visit& visit,
                         const std::function<void()>& after_chunk) {
  const bool is_from = side == Side::from;
  const auto log = (is_from ? from_ : to_).open_log();
  std::unordered_map<store::ShardId, Part*> by_shard;
  for (auto& part : parts_) {
    if (!wanted(part)) continue;
    const auto& grant = is_from ? part.from : part.to;
    log->add(grant.shard, is_from ? part.mark.from_after : part.mark.to_after, grant.lease);
    by_shard[grant.shard] = &part;
  }
  for (bool at_end = by_shard.empty(); !at_end;) {
    const auto chunk = log->read(kRows);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      visit(*by_shard.at(row.shard), row, settled_bytes(chunk.body(row), row.at));
    }
    check_owners();
    after_chunk();
  }
}

// A later round that was stopped half-way, and then nodes of TO were started: its queues are paused, but
// entries that were merged or carried out are gone. The last one that is there says how far the round came.
// Those behind it that are gone, too, come once more, to the same effect. The round ends there, and another
// one begins.
void StoreCopy::leave_touched_rounds() {
  std::unordered_map<const Part*, std::vector<domain::Seq>> numbers;
  read_log(
      Side::from, [](const Part& part) { return part.is_touched; },
      [&](Part& part, const store::LogRow& row, const std::string& entry) {
        part.entries.push_back(checksum_of(entry));
        numbers[&part].push_back(row.seq);
      },
      [] {});
  read_log(
      Side::to, [](const Part& part) { return part.is_touched; },
      [&](Part& part, const store::LogRow&, const std::string& entry) {
        const auto next = part.entries.begin() + static_cast<std::ptrdiff_t>(part.in_to);
        const auto found = std::find(next, part.entries.end(), checksum_of(entry));
        if (found == part.entries.end()) return;
        part.in_to = static_cast<std::uint64_t>(found - part.entries.begin()) + 1;
      },
      [] {});
  for (auto& part : parts_) {
    if (!part.is_touched) continue;
    if (part.in_to > 0) part.mark.from_after = numbers[&part][part.in_to - 1];
    part.mark.is_open = part.is_resumed = false;
    part.in_to = 0;
    part.entries.clear();
  }
}

// One that cannot be read speaks of nothing but its job, and goes over as it is.
domain::JobState StoreCopy::state_of(const store::StateRow& row) {
  auto state = domain::decode_state(row.bytes);
  if (state.needs() == 0) return std::move(state).or_empty();
  throw Error(ErrorKind::unsupported, "cannot copy: " + state.why() +
                                          "; run `ordo copy` of the newest version that works on the store");
}

// As a node that takes over everything would.
void StoreCopy::load_states() {
  std::vector<store::ShardId> shards;
  for (const auto& part : parts_) shards.push_back(part.from.shard);
  std::unordered_map<store::ShardId, std::vector<store::StateRow>> states;
  for (auto& facts : from_.load(shards)) states[facts.shard] = std::move(facts.states);
  for (auto& part : parts_) {
    auto& rows = states[part.from.shard];
    part.rates = rates_of(rows);
    std::erase_if(rows, [](const auto& row) { return domain::is_rate_row(row.seq); });
    if (part.is_marked && !(part.mark.is_open && part.mark.is_first)) continue;  // they are copied
    part.states = std::move(rows);
    std::vector<domain::Seq> spoken_of{part.from_position};
    domain::add_references(spoken_of, part.from_counts.schedules);
    for (const auto& row : part.states) {
      domain::add_references(spoken_of, row.seq, state_of(row));
    }
    part.places = domain::Numbering(std::move(spoken_of));
  }
}

void StoreCopy::read_from() {
  std::uint64_t count = 0;
  read_log(
      Side::from, [](const Part&) { return true; },
      [&](Part& part, const store::LogRow& row, const std::string& entry) {
        part.entries.push_back(checksum_of(entry));
        part.places.pass(row.seq, part.entries.size());
        part.last = row.seq;
        ++count;
      },
      [&] { report(CopyProgress::Step::reading, count); });
}

// How far an earlier call has come.
void StoreCopy::match_to() {
  std::uint64_t count = 0;
  read_log(
      Side::to, [](const Part& part) { return part.is_resumed; },
      [&](Part& part, const store::LogRow&, const std::string& entry) {
        count += part.has_next(checksum_of(entry)) ? 1 : 0;
      },
      [&] { report(CopyProgress::Step::copying, count); });
}

void StoreCopy::append_missing() {
  std::uint64_t done = 0;
  std::unordered_map<const Part*, std::uint64_t> places;
  std::vector<store::NewEntry> entries;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (entries.empty()) return;
    check_owners();
    appended_ += entries.size();
    store::append_and_wait(to_, std::exchange(entries, {}));
    bytes = 0;
  };
  read_log(
      Side::from, [](const Part& part) { return part.mark.is_open; },
      [&](Part& part, const store::LogRow& row, const std::string& entry) {
        const auto place = ++places[&part];
        auto encoded = entry;
        const auto checksum = Checksum::of(encoded);
        if (place > part.entries.size()) {  // pushed meanwhile
          part.entries.push_back(checksum);
          part.places.pass(row.seq, place);
          part.last = row.seq;
        } else if (part.entries[place - 1] != checksum) {
          throw Error(ErrorKind::corrupt, "cannot copy: the log of FROM reads differently a second time");
        }
        ++done;
        if (place <= part.in_to) return;
        bytes += encoded.size();
        entries.push_back({part.to.shard, std::move(encoded)});
        if (bytes >= kAppendBytes) flush();
      },
      [&] {
        flush();
        report(CopyProgress::Step::copying, done);
      });
}

// Job states, and the counts that speak of them. First the numbers that TO gave to the entries they mean.
void StoreCopy::write_states() {
  std::unordered_map<const Part*, domain::Numbering> numbers;
  std::set<const Part*> mixed;
  for (auto& part : parts_) {
    part.in_to = 0;
    if (!part.is_whole()) continue;
    std::vector<domain::Seq> spoken_of{part.places.up_to(part.from_position)};
    domain::add_references(spoken_of, domain::renumbered(part.from_counts.schedules, part.places));
    for (const auto& row : part.states) {
      const auto first = part.places.of(row.seq);
      if (!first) continue;
      domain::add_references(spoken_of, *first, domain::renumbered(state_of(row), part.places));
    }
    numbers[&part] = domain::Numbering(std::move(spoken_of));
  }
  read_log(
      Side::to, [](const Part& part) { return part.is_whole(); },
      [&](Part& part, const store::LogRow& row, const std::string& entry) {
        if (part.has_next(checksum_of(entry))) {
          numbers.at(&part).pass(part.in_to, row.seq);
        } else {
          mixed.insert(&part);
        }
      },
      [] {});
  for (auto& part : parts_) {
    if (!part.is_whole()) continue;
    part.to_counts = part.from_counts;
    part.to_counts.kept = {};
    part.to_counts.due += std::exchange(part.to_counts.running, 0);
    part.to_counts.running_now.clear();
    part.to_counts.lent.clear();
    auto schedules =
        domain::renumbered(domain::renumbered(part.from_counts.schedules, part.places), numbers.at(&part));
    part.to_position = numbers.at(&part).up_to(part.places.up_to(part.from_position));
    if (mixed.contains(&part)) {  // what others pushed is to be counted, too
      const auto& counts = part.from_counts;
      part.to_counts = {.processed = counts.processed, .failed = counts.failed};
      part.to_counts.rows_to_free = counts.rows_to_free;
      part.to_position = 0;
    }
    part.to_counts.schedules = std::move(schedules);
    write_states_of(part, numbers.at(&part));
  }
}

void StoreCopy::write_states_of(Part& part, const domain::Numbering& numbers) {
  std::vector<store::StateRow> rows;
  const auto flush = [&] {
    std::vector<store::Delta> deltas{delta_of(part)};
    deltas.front().states = std::exchange(rows, {});
    commit(std::move(deltas));
  };
  for (const auto& row : part.states) {
    const auto place = part.places.of(row.seq);
    const auto first = place ? numbers.of(*place) : std::nullopt;
    if (!first) continue;
    const auto known = domain::decode_state(row.bytes);
    rows.push_back(
        {*first, known ? domain::encode(domain::renumbered(domain::renumbered(*known, part.places), numbers))
                       : row.bytes});
    if (rows.size() == kStatesPerCommit) flush();
  }
  flush();
}

// What TO's own starts have used stays beside them: who loads both takes the union.
void StoreCopy::write_rates() {
  std::vector<store::ShardId> shards;
  for (const auto& part : parts_) {
    if (part.mark.is_open && !part.rates.empty()) shards.push_back(part.to.shard);
  }
  std::unordered_map<store::ShardId, std::uint32_t> next;
  for (const auto& facts : to_.load(shards)) {
    auto& slot = next[facts.shard];
    for (const auto& row : facts.states) {
      if (domain::is_rate_row(row.seq)) slot = std::max(slot, domain::slot_of(row.seq) + 1);
    }
  }
  for (auto& part : parts_) {
    const auto first = next.find(part.to.shard);
    if (first == next.end()) continue;
    auto rows = domain::numbered_anew(std::exchange(part.rates, {}), part.to.shard, first->second);
    for (std::size_t at = 0; at < rows.size(); at += kStatesPerCommit) {
      std::vector<store::Delta> deltas{delta_of(part)};
      for (auto i = at; i < std::min(rows.size(), at + kStatesPerCommit); ++i)
        deltas.front().states.push_back({rows[i].first, domain::encode(rows[i].second)});
      commit(std::move(deltas));
    }
  }
}

void StoreCopy::copy_dead() {
  std::map<Part*, std::vector<store::DeadRow>> page;
  each_dead(
      Side::from,
      [&](Part& part, const store::DeadRow& row) {
        if (part.is_whole() && row.no > part.mark.dead_no) page[&part].push_back(row);
      },
      [&] {
        std::vector<store::Delta> deltas;
        for (auto& [part, rows] : page) {
          part->mark.dead_no = rows.back().no;
          deltas.push_back(delta_of(*part));
          deltas.back().dead = std::move(rows);
        }
        page.clear();
        commit(std::move(deltas));
      });
}

// The same blocks each time it is begun, as FROM does not change.
void StoreCopy::copy_kept() {
  for (auto& part : parts_) {
    if (!part.is_whole()) continue;
    const auto& kept = part.from_counts.kept;
    KeptFiller filler(kept.keep);
    const auto put = [&](std::optional<store::KeptRow> row) {
      part.to_counts.kept = filler.counts();
      part.to_counts.kept.trimmed = kept.trimmed;
      if (!row) return;
      std::vector<store::Delta> deltas{delta_of(part)};
      deltas.front().keep = std::move(row);
      commit(std::move(deltas));
    };
    each_kept_record(
        from_, {part.from.shard},
        [&](store::ShardId, const domain::KeptRecord& record) { put(filler.add(record)); },
        [&] { check_owners(); });
    put(filler.take());
  }
}

// In the first round as they are in FROM now, those of waits and of unique keys; what is only remembered
// there is forgotten. Later TO's own jobs have rows, and FROM's may be of jobs that have ended in TO since:
// responses that nobody waited for come along, and nothing is taken away.
void StoreCopy::copy_rows() {
  auto part = parts_.begin();
  for (const auto& queue : queues_) {
    const auto first = part;
    part += queue.from.shards;
    if (store::is_said_to_have_letters(from_, queue.from.name)) store::may_have_letters(to_, queue.to.name);
    if (std::all_of(first, part, [](const Part& each) { return each.is_whole(); })) {
      copy_rows_of(queue.from.name, queue.to.name);
      copy_rows_of(store::Store::unique_rows(queue.from.name), store::Store::unique_rows(queue.to.name));
    } else {
      copy_kept_responses(queue.from.name, queue.to.name);
    }
  }
  copy_rows_of(std::string(domain::kSourceRows),
               std::string(domain::kSourceRows));  // how far they are at their origins
}

void StoreCopy::copy_kept_responses(const std::string& from, const std::string& to) {
  std::string after;
  for (auto rows = from_.wait_rows(from, after, kRowsAtOnce); !rows.empty();
       rows = from_.wait_rows(from, after, kRowsAtOnce)) {
    for (const auto& row : rows) {
      const auto record = domain::decode_wait_record(row.bytes);
      if (!record || !record->wait.empty() || to_.wait_row(to, row.key)) continue;
      to_.step_rows(to, {{row, {}, {}}});
      const store::WaitRow expiry{domain::expiry_row_key(record->deadline, row.key, record->body.size()),
                                  row.key, true, row.until};
      to_.step_rows(store::Store::unique_rows(to), {{expiry, {}, {}}});
    }
    after = rows.back().key;
  }
}

void StoreCopy::copy_rows_of(const std::string& from, const std::string& to) {
  const auto each = [](store::Store& store, const std::string& name, const auto& visit) {
    std::string after;
    for (auto rows = store.wait_rows(name, after, kRowsAtOnce); !rows.empty();
         rows = store.wait_rows(name, after, kRowsAtOnce)) {
      for (const auto& row : rows) visit(row);
      after = rows.back().key;
    }
  };
  const auto put = [&](const store::WaitRow& row) {
    const auto seen = to_.wait_row(to, row.key);
    if (seen == row.bytes) return;
    if (to_.step_rows(to, {{row, seen, {}}}).front().what != store::RowResult::What::done) {
      throw Error(ErrorKind::unavailable,
                  "cannot copy: somebody changes the waits or unique keys of queue '" + to +
                      "' in TO; stop who uses it, then go on");
    }
  };
  std::set<std::string> keys;
  each(from_, from, [&](const store::WaitRow& row) {
    keys.insert(row.key);
    put(row);
  });
  each(to_, to, [&](store::WaitRow row) {
    if (keys.contains(row.key)) return;
    const auto seen = std::exchange(row.bytes, {});
    row.until = Time::min();
    static_cast<void>(to_.step_rows(to, {{row, seen, {}}}));
  });
}

void StoreCopy::each_dead(Side side, const std::function<void(Part&, const store::DeadRow&)>& visit,
                          const std::function<void()>& after_page) {
  auto part = parts_.begin();
  for (const auto& queue : queues_) {
    const auto first = part;
    part += queue.from.shards;
    if (std::none_of(first, part, [](const Part& each) { return each.is_whole(); })) continue;
    const auto number = side == Side::from ? queue.from.number : queue.to.number;
    auto& store = side == Side::from ? from_ : to_;
    for (std::uint64_t after = 0;;) {
      const auto rows = store.dead(number, after, kDeadPerPage);
      for (const auto& row : rows) {
        after = row.no;
        visit(*(first + row.shard.index), row);
      }
      check_owners();
      after_page();
      if (rows.size() < kDeadPerPage) break;
    }
  }
}

}  // namespace ordo
