// Turns many requests into few arrays: what a row costs is decided here and in ordo_append and ordo_commit.
#include "store/postgres/statements.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ordo::store::postgres {
namespace {

std::int64_t micros(Time time) { return time.time_since_epoch().count(); }

struct Ranges {
  std::vector<std::int64_t> shards, first, last;

  // Neighbours go together: nothing else has a number between two that follow each other.
  void add(std::int64_t shard, std::vector<Seq> seqs) {
    std::sort(seqs.begin(), seqs.end());
    for (const auto seq : seqs) {
      const auto number = as_signed(seq);
      if (!shards.empty() && shards.back() == shard && number <= last.back() + 1) {
        last.back() = number;
        continue;
      }
      shards.push_back(shard);
      first.push_back(number);
      last.push_back(number);
    }
  }
};

struct Rows {
  std::vector<std::int64_t> shards, numbers;
  std::vector<std::string_view> bodies;
};

void add_states(Rows& rows, std::int64_t shard, const std::vector<StateRow>& states) {
  std::map<Seq, std::string_view> last;  // one statement cannot write a row twice
  for (const auto& state : states) last[state.seq] = state.bytes;
  for (const auto& [seq, bytes] : last) {
    rows.shards.push_back(shard);
    rows.numbers.push_back(as_signed(seq));
    rows.bodies.push_back(bytes);
  }
}

}  // namespace

AppendStatement::AppendStatement(std::span<AppendRequest* const> requests) {
  std::unordered_map<std::int64_t, std::int64_t> next;
  for (const auto* request : requests) {
    for (const auto& entry : request->entries) {
      const auto shard = pack(entry.shard);
      const auto [place, is_new] = next.try_emplace(shard, 0);
      if (is_new) known_.push_back(shard);
      shards_.push_back(shard);
      places_.push_back(place->second++);
      bodies_.push_back(entry.bytes);
    }
  }
}

Parameters AppendStatement::parameters(const Writer& writer) const {
  Parameters parameters;
  parameters.number(writer.store).maybe(writer.now).numbers(known_).numbers(shards_).numbers(places_);
  parameters.byte_strings(std::span<const std::string_view>(bodies_));
  return parameters;
}

std::vector<CommitStatement> CommitStatement::of(std::span<CommitRequest* const> requests) {
  std::vector<CommitStatement> statements;
  std::map<ShardId, std::size_t> uses;
  for (auto* const request : requests) {
    request->results.assign(request->deltas.size(), CommitResult::stale);
    for (std::size_t i = 0; i < request->deltas.size(); ++i) {
      const auto& delta = request->deltas[i];
      if (!can_pack(delta.shard)) continue;
      const auto use = uses[delta.shard]++;
      if (statements.size() <= use) statements.emplace_back();
      statements[use].parts_.emplace_back(&delta, &request->results[i]);
      if (delta.keep || !delta.erase_kept.empty()) statements[use].keeps_ = true;
    }
  }
  for (auto& statement : statements) {
    std::sort(statement.parts_.begin(), statement.parts_.end(),
              [](const Part& a, const Part& b) { return a.first->shard < b.first->shard; });
  }
  return statements;
}

Parameters CommitStatement::parameters(SeenBook& seen) {
  std::vector<std::int64_t> shards, tokens, holders, batches, positions, read_to, trim_shards, most, before;
  std::vector<std::string_view> counts;
  std::vector<std::string> unseen;
  Ranges erase;
  Rows states, gone, dead, kept, old;
  std::vector<std::string_view> heads;
  for (const auto& [delta, result] : parts_) {
    const auto shard = pack(delta->shard);
    shards.push_back(shard);
    tokens.push_back(as_signed(delta->lease.token));
    holders.push_back(as_signed(delta->lease.holder));
    batches.push_back(as_signed(delta->batch));
    positions.push_back(as_signed(delta->position));
    counts.push_back(delta->counts);
    auto note = seen.find(delta->shard, delta->lease);
    read_to.push_back(note.seen);
    unseen.push_back(std::move(note.unseen));
    erase.add(shard, delta->erase);
    add_states(states, shard, delta->states);
    for (const auto seq : delta->erase_states) {
      gone.shards.push_back(shard);
      gone.numbers.push_back(as_signed(seq));
    }
    for (const auto& row : delta->dead) {
      dead.shards.push_back(shard);
      dead.numbers.push_back(micros(row.at));
      dead.bodies.push_back(row.bytes);
    }
    if (delta->keep) {
      kept.shards.push_back(shard);
      kept.numbers.push_back(as_signed(delta->keep->no));
      heads.push_back(delta->keep->head);
      kept.bodies.push_back(delta->keep->body);
    }
    for (const auto no : delta->erase_kept) {
      old.shards.push_back(shard);
      old.numbers.push_back(as_signed(no));
    }
    if (delta->max_dead == 0 && delta->dead_before == Time::min()) continue;
    trim_shards.push_back(shard);
    most.push_back(as_signed(delta->max_dead));
    before.push_back(micros(delta->dead_before));
  }
  const auto bodies = [](const std::vector<std::string_view>& all) {
    return std::span<const std::string_view>(all);
  };
  Parameters parameters;
  parameters.numbers(shards).numbers(tokens).numbers(holders).numbers(batches).numbers(positions);
  parameters.byte_strings(bodies(counts)).numbers(read_to).texts(unseen);
  parameters.numbers(erase.shards).numbers(erase.first).numbers(erase.last);
  parameters.numbers(states.shards).numbers(states.numbers).byte_strings(bodies(states.bodies));
  parameters.numbers(gone.shards).numbers(gone.numbers);
  parameters.numbers(dead.shards).numbers(dead.numbers).byte_strings(bodies(dead.bodies));
  parameters.numbers(trim_shards).numbers(most).numbers(before);
  if (!keeps_) return parameters;
  parameters.numbers(kept.shards).numbers(kept.numbers);
  parameters.byte_strings(bodies(heads)).byte_strings(bodies(kept.bodies));
  parameters.numbers(old.shards).numbers(old.numbers);
  return parameters;
}

void CommitStatement::take(const Result& result) {
  const auto answers = result.numbers(0, 0);
  for (std::size_t i = 0; i < parts_.size() && i < answers.size(); ++i) {
    *parts_[i].second = answers[i] == 0 ? CommitResult::stale : CommitResult::applied;
  }
}

}  // namespace ordo::store::postgres
