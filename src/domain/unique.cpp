#include "domain/unique.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/fnv.h"
#include "base/json_pointer.h"
#include "base/name.h"
#include "base/time_text.h"
#include "domain/fields.h"
#include "domain/option_bounds.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kRowVersion = 1;

UniqueScope get_scope(ByteReader& in) {
  const auto scope = in.get<UniqueScope>();
  if (scope > UniqueScope::period) in.fail("its scope is unknown");
  return scope;
}

}  // namespace

std::string encode(const UniqueRow& row) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kRowVersion);
  out.put(row.scope);
  put_time(out, row.first);
  out.put_short(row.token);
  out.put_short(row.kind);
  out.put_short(row.key);
  out.put_rest(row.id);
  return bytes;
}

Decoded<UniqueRow> decode_unique_row(std::string_view bytes) {
  return read_record<UniqueRow>([&] {
    ByteReader in(bytes, "unique row");
    UniqueRow row;
    if (in.get<std::uint8_t>() != kRowVersion) in.fail("its version is unknown");
    row.scope = get_scope(in);
    row.first = written_time(get_time(in));
    row.token = in.get_short();
    row.kind = in.get_short();
    row.key = in.get_short();
    row.id = in.rest();
    return row;
  });
}

std::string row_of(const UniqueHold& hold, std::string_view kind, std::string_view key, std::string_view id) {
  return encode(
      UniqueRow{hold.token, hold.scope, hold.first, std::string(kind), std::string(key), std::string(id)});
}

std::string encode(const UniqueHold& hold) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(hold.scope);
  put_time(out, hold.first);
  out.put_short(hold.token);
  out.put_rest(hold.row);
  return bytes;
}

UniqueHold read_unique_hold(std::string_view bytes) {
  ByteReader in(bytes, "unique key");
  UniqueHold hold;
  hold.scope = get_scope(in);
  hold.first = written_time(get_time(in));
  hold.token = in.get_short();
  hold.row = in.rest();
  if (hold.token.empty()) in.fail("nobody has the key");
  if (hold.row.empty() || hold.row.size() > kLongestJobName)
    in.fail("its row has no name that a store takes");
  return hold;
}

std::string encode(const std::vector<RowToFree>& rows) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const auto& each : rows) {
    out.put_short(each.row);
    out.put_long(each.bytes);
  }
  return bytes;
}

std::vector<RowToFree> read_rows_to_free(std::string_view bytes) {
  std::vector<RowToFree> rows;
  for (ByteReader in(bytes, "shard's counts"); !in.at_end();) {
    auto& row = rows.emplace_back();
    row.row = in.get_short();
    row.bytes = in.get_long();
  }
  return rows;
}

std::string unique_row_key(std::string_view kind, std::string_view key) {
  std::string names = std::to_string(kind.size()) + ':';
  return fnv1a_128(names.append(kind).append(key));
}

std::optional<std::string> unique_key_of(const Unique& rule, const NewJob& job) {
  if (job.unique) return job.unique;
  if (rule.by == "payload") return job.payload;
  if (rule.by == "id") return job.id;
  if (rule.by == "key") return job.key.empty() ? job.id : job.key;
  return name_at(job.payload, rule.by);
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
