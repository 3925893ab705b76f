// Who has changed what: kept in rows of the store, each a change, the newest first.
#include "client/audit.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json.h"
#include "base/redact.h"
#include "base/time_text.h"
#include "domain/audit_record.h"
#include "store/store.h"

namespace ordo {
namespace {

constexpr std::string_view kAuditRows = "!audit";  // no queue of a user's has this name
constexpr std::size_t kAuditPage = 500;
constexpr int kMostAuditTries = 1000;  // that others were faster
constexpr std::size_t kShownNames = 20;

/// The members of a JSON object.
class Members {
 public:
  void text(std::string_view name, const std::string& value) {
    if (!value.empty()) json(name, name_json(value));
  }
  void json(std::string_view name, const std::string& value) {
    text_ += fmt::format(R"({}"{}":{})", text_.empty() ? "" : ",", name, value);
  }
  void time(std::string_view name, const std::optional<Time>& value) {
    if (value) json(name, json_string(format_time(*value)));
  }
  std::string object() const { return '{' + text_ + '}'; }

 private:
  std::string text_;
};

template <class Filter>
void add_common(Members& members, const Filter& filter) {
  members.text("kind", filter.kind);
  members.text("key", filter.key);
  members.text("error", filter.error);
  if (filter.error_kind) members.text("error_kind", std::string(to_string(*filter.error_kind)));
  if (filter.retry_count) members.json("retry_count", fmt::to_string(*filter.retry_count));
  members.time("since", filter.since);
  members.time("until", filter.until);
}

}  // namespace

std::string user_of_process() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known =
      ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) == 0 && found != nullptr;
  return is_known ? fmt::format("unix:{}", found->pw_name) : fmt::format("unix:{}", ::geteuid());
}

std::string filter_json(const JobFilter& filter) {
  Members members;
  std::string states;
  for (const auto state : filter.states)
    states += fmt::format("{}{}", states.empty() ? "" : ",", to_string(state));
  members.text("state", states);
  members.text("id", filter.id);
  add_common(members, filter);
  return members.object();
}

std::string filter_json(const DeadFilter& filter) {
  Members members;
  if (filter.ids) {
    std::string ids;
    for (std::size_t i = 0; i < std::min(filter.ids->size(), kShownNames); ++i)
      ids += (i == 0 ? "" : ",") + name_json((*filter.ids)[i]);
    members.json("ids", '[' + ids + ']');
    if (filter.ids->size() > kShownNames) members.json("ids_in_all", fmt::to_string(filter.ids->size()));
  }
  add_common(members, filter);
  return members.object();
}

std::string filter_json(const JobName& job) {
  Members members;
  members.text("id", job.id);
  members.text("kind", job.kind);
  members.text("key", job.key);
  return members.object();
}

std::string filter_json(std::string_view name, std::string_view value) {
  Members members;
  members.text(name, std::string(value));
  return members.object();
}

std::string limit_filter(std::string_view name, const std::optional<Decimal>& limit,
                         const std::optional<RateLimit>& rate) {
  Members members;
  members.text("limit", std::string(name));
  if (limit) members.json("value", limit->text());
  if (rate) {
    members.json("rate", fmt::format(R"({{"limit":{},"per":{},"burst":{}}})", rate->limit,
                                     json_string(format_duration(rate->per)), rate->burst));
  }
  return members.object();
}

void note_failure(Admin::Impl& impl, AuditEntry entry, const Error& error) {
  entry.result = fmt::format("failed: {}", redact(error.what()));
  try {
    impl.note(std::move(entry));
  } catch (const Error&) {  // the store is gone, most likely: who asked hears of that anyway
  }
}

void Admin::Impl::note(AuditEntry entry) {
  auto& store = handle_->store();
  entry.at = store.now();
  const auto bytes = domain::encode(entry);
  const auto newest = store.wait_rows(kAuditRows, {}, 1);
  auto number = newest.empty() ? 0 : domain::number_of_audit_row(newest.front().key);
  for (int i = 0;; ++i) {
    ++number;
    store::WaitRow row{domain::audit_row_key(number), bytes, true, time_after(entry.at, domain::kAuditLife)};
    const auto result = store.step_rows(kAuditRows, {{std::move(row), {}, {}}}).front();
    if (result.what == store::RowResult::What::done) break;
    if (i == kMostAuditTries)
      throw Error(ErrorKind::unavailable,
                  "cannot note the change: others note theirs all the time; the change itself was made");
  }
  if (number <= domain::kMostAuditRows) return;
  const auto oldest = domain::audit_row_key(number - domain::kMostAuditRows);
  if (auto seen = store.wait_row(kAuditRows, oldest))
    store.step_rows(kAuditRows, {{{oldest, {}, true, Time::min()}, std::move(seen), {}}});
}

std::string Admin::Impl::audit(const AuditFilter& filter,
                               const std::function<bool(const AuditEntry&)>& visit) {
  if (!filter.after.empty() && domain::number_of_audit_row(filter.after) == 0)
    throw Error(ErrorKind::invalid_argument,
                "not a valid cursor for the log of changes: take the one of its last page");
  auto& store = handle_->store();
  auto after = filter.after;
  while (true) {
    const auto rows = store.wait_rows(kAuditRows, after, kAuditPage);
    for (const auto& row : rows) {
      const auto entry = domain::decode_audit_entry(row.bytes);
      const bool is_meant = entry && (filter.queues.empty() ||
                                      std::ranges::find(filter.queues, entry->queue) != filter.queues.end());
      if (is_meant && !visit(*entry)) return after;
      after = row.key;
    }
    if (rows.size() < kAuditPage) return after;
  }
}

}  // namespace ordo
