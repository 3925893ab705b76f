#include "store/shard_states.h"

namespace ordo::store {

ShardStates read_states(std::span<const StateRow> rows) {
  ShardStates all;
  all.jobs.reserve(rows.size());
  const auto note_needs = [&](const auto& unreadable) {
    if (unreadable.needs() <= all.needs) return;
    all.needs = unreadable.needs();
    all.why_newer = unreadable.why();
  };
  for (const auto& row : rows) {
    if (domain::is_rate_row(row.seq)) {
      auto rate = domain::decode_rate(row.bytes);
      if (rate) {
        all.rates.emplace_back(row.seq, *std::move(rate));
      } else {
        note_needs(rate);
        all.lost_rates.push_back(row.seq);
      }
      continue;
    }
    auto state = domain::decode_state(row.bytes);
    if (state) {
      all.jobs.emplace_back(row.seq, *std::move(state));
    } else {
      note_needs(state);
      all.lost.push_back({row.seq, row.bytes, state.why()});
    }
  }
  return all;
}

}  // namespace ordo::store
