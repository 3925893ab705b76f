#include "sources/unique_row.h"

#include <utility>

#include "base/time_text.h"
#include "domain/new_job.h"

namespace ordo::sources {

UniqueClaim claim_unique(store::Store& store, const Config& config, const std::string& queue,
                         const NewJob& job, const std::string& token, Time came) {
  const auto& kind = job.kind.empty() ? queue : job.kind;
  const auto rule = unique_rule_of(config.find(queue), kind);
  const auto key = rule ? domain::unique_key_of(*rule, job) : std::nullopt;
  if (!key) return {};
  const auto scope = domain::scope_of(*rule);
  const domain::UniqueHold hold{domain::unique_row_key(kind, *key), token, scope, came};
  const bool is_period = scope == UniqueScope::period;
  const auto until = is_period ? time_after(came, rule->period) : Time::max();
  const auto bytes = domain::row_of(hold, kind, key_of(job), job.id);
  std::vector<store::RowStep> steps;
  steps.push_back({.row = {.key = hold.row, .bytes = bytes, .listed = true, .until = until}, .seen = {}});
  const auto result = store.step_rows(store::Store::unique_rows(queue), std::move(steps)).at(0);
  UniqueClaim claim;
  if (result.what == store::RowResult::What::conflict && result.there && *result.there != bytes) {
    const auto other = domain::decode_unique_row(*result.there);
    claim.holder = other ? other->id : std::string();
    claim.is_ignored = rule->on_conflict == OnConflict::ignore || rule->on_conflict == OnConflict::throttle;
    return claim;
  }
  if (!is_period) claim.holds.push_back(hold);
  if (result.what == store::RowResult::What::done)
    claim.undo = {.row = {.key = hold.row, .bytes = {}, .listed = true, .until = Time::min()}, .seen = bytes};
  return claim;
}

}  // namespace ordo::sources
