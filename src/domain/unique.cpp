#include "domain/unique.h"

#include <algorithm>

#include "base/fnv.h"
#include "base/json_key.h"
#include "base/json_pointer.h"
#include "domain/archive.h"
#include "domain/option_bounds.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, UniqueRow>& row) {
  a.version(1);
  a.choice(row.scope, UniqueScope::period, "its scope is unknown");
  a.time(row.first);
  a.short_text(row.token);
  a.short_text(row.kind);
  a.short_text(row.key);
  a.rest(row.id);
}

std::string encode(const UniqueRow& row) { return to_bytes(row); }

Decoded<UniqueRow> decode_unique_row(std::string_view bytes) {
  return decode<UniqueRow>(bytes, "unique row");
}

std::string row_of(const UniqueHold& hold, std::string_view kind, std::string_view key, std::string_view id) {
  return encode(
      UniqueRow{hold.token, hold.scope, hold.first, std::string(kind), std::string(key), std::string(id)});
}

std::string unique_row_key(std::string_view kind, std::string_view key) {
  std::string names = std::to_string(kind.size()) + ':';
  return fnv1a_128(names.append(kind).append(key));
}

std::optional<std::string> unique_key_of(const Unique& rule, const NewJob& job) {
  if (job.unique) return json_key(*job.unique);
  if (rule.by == "payload") return json_key(job.payload);
  if (rule.by == "id") return json_key_of_string(job.id);
  if (rule.by == "key") return json_key_of_string(job.key.empty() ? job.id : job.key);
  return json_key_at(job.payload, rule.by);
}

UniqueScope scope_of(const Unique& rule) {
  return rule.on_conflict == OnConflict::throttle ? UniqueScope::period : rule.scope;
}

std::string why_no_unique(const Unique& rule) {
  const bool is_word = rule.by == "payload" || rule.by == "id" || rule.by == "key";
  if (!is_word && (rule.by.empty() || !is_json_pointer(rule.by)))
    return "by takes \"payload\", \"id\", \"key\" or a JSON pointer like \"/user/id\"";
  const auto conflict = rule.on_conflict;
  if (rule.scope > UniqueScope::period || conflict > OnConflict::throttle)
    return "scope and on_conflict take the values of their enumerations";
  const bool changes_a_job =
      conflict == OnConflict::replace || conflict == OnConflict::merge || conflict == OnConflict::debounce;
  if (changes_a_job && rule.scope != UniqueScope::queued)
    return "replace, merge and debounce need scope = \"queued\": a job that runs stays as it is";
  if (rule.period < std::chrono::milliseconds{1} || rule.period > kLongestUnique)
    return "period takes 1ms to 168h";
  return {};
}

void LeavingRows::load(std::vector<RowToFree> rows) {
  leaving_ = std::move(rows);
  asked_ = leaving_;
}

void LeavingRows::collect() {
  if (in_flight_.empty()) in_flight_ = std::exchange(ended_, {});
}

void LeavingRows::committed() {
  for (auto& row : std::exchange(in_flight_, {})) {
    asked_.push_back(row);
    leaving_.push_back(std::move(row));
  }
}

void LeavingRows::freed(const std::string& bytes) {
  const auto row = std::ranges::find(leaving_, bytes, &RowToFree::bytes);
  if (row != leaving_.end()) leaving_.erase(row);
}

std::vector<RowToFree> LeavingRows::list() const {
  auto rows = leaving_;
  rows.insert(rows.end(), in_flight_.begin(), in_flight_.end());
  rows.insert(rows.end(), ended_.begin(), ended_.end());
  return rows;
}

}  // namespace ordo::domain
