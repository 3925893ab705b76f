#include "store/sqlite/waits.h"

#include "store/limits.h"
#include "store/sqlite/writer.h"

namespace ordo::store::sqlite {
namespace {

std::int64_t us_of(Time time) { return time.time_since_epoch().count(); }

}  // namespace

std::optional<std::string> read_wait(Connection& connection, std::string_view queue, std::string_view key,
                                     Time now) {
  Statement row(connection, "SELECT body FROM wait WHERE queue=?1 AND key=?2 AND until>?3");
  if (!row.bind(queue, Blob{key}, us_of(now)).step()) return std::nullopt;
  return std::string(row.bytes(0));
}

WaitTable::WaitTable(Connection& connection)
    :  // The second bound is that of the index: without it all rows would be looked at.
      sweep_(connection,
             "DELETE FROM wait WHERE rowid IN"
             " (SELECT rowid FROM wait WHERE until<=?1 AND until<9223372036854775807 LIMIT ?2)"),
      forget_(connection, "DELETE FROM wait WHERE queue=?1 AND key=?2 AND until<=?3"),
      look_(connection, "SELECT body FROM wait WHERE queue=?1 AND key=?2"),
      put_(connection,
           "INSERT OR REPLACE INTO wait(queue, key, listed, until, body) VALUES(?1, ?2, ?3, ?4, ?5)"),
      drop_(connection, "DELETE FROM wait WHERE queue=?1 AND key=?2") {}

std::size_t WaitTable::sweep_at_most(std::size_t rows, Time now) {
  return static_cast<std::size_t>(sweep_.bind(us_of(now), std::uint64_t{rows}).run());
}

void WaitTable::forget_if_over(std::string_view queue, std::string_view key, Time now) {
  forget_.bind(queue, Blob{key}, us_of(now)).run();
}

std::vector<RowResult> WaitTable::step(Writer& writer, std::string_view rows, std::span<const RowStep> steps,
                                       Time now) {
  using What = RowResult::What;
  std::vector<RowResult> results;
  for (const auto& [row, seen, entries] : steps) {
    forget_if_over(rows, row.key, now);
    std::optional<std::string> there;
    if (look_.bind(rows, Blob{row.key}).step()) there = look_.bytes(0);
    look_.reset();
    if (there != seen) {
      results.push_back({What::conflict, std::move(there)});
      continue;
    }
    if (writer.refusal_of(entries)) {
      results.push_back({What::refused, {}});
      continue;
    }
    if (row.until == Time::min()) {
      drop_.bind(rows, Blob{row.key}).run();
    } else {
      put_.bind(rows, Blob{row.key}, std::int64_t{row.listed}, us_of(row.until), Blob{row.bytes}).run();
    }
    writer.append(entries);
    results.push_back({What::done, {}});
  }
  return results;
}

bool has_waits_over(Connection& connection, Time now) {
  Statement over(connection, "SELECT 1 FROM wait WHERE until<=?1 AND until<9223372036854775807 LIMIT 1");
  return over.bind(us_of(now)).step();
}

std::vector<WaitRow> list_waits(Connection& connection, std::string_view queue, std::string_view after,
                                std::size_t max_rows, Time now) {
  std::vector<WaitRow> rows;
  Statement listed(connection,
                   "SELECT key, until, body FROM wait WHERE queue=?1 AND key>?2 AND listed AND until>?3"
                   " ORDER BY key LIMIT ?4");
  listed.bind(queue, Blob{after}, us_of(now), std::uint64_t{max_rows});
  while (listed.step()) {
    rows.push_back({.key = std::string(listed.bytes(0)),
                    .bytes = std::string(listed.bytes(2)),
                    .listed = true,
                    .until = Time{Duration{listed.number(1)}}});
  }
  return rows;
}

}  // namespace ordo::store::sqlite
