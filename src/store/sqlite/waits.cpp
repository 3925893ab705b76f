#include "store/sqlite/waits.h"

#include "store/limits.h"

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

namespace {

// Whoever writes takes some of those away whose time is over, so that their number stays in bounds.
void sweep(Connection& connection, std::string_view queue, std::string_view key, std::int64_t now) {
  // The second bound is that of the index: without it all rows would be looked at.
  Statement(connection,
            "DELETE FROM wait WHERE rowid IN"
            " (SELECT rowid FROM wait WHERE until<=?1 AND until<9223372036854775807 LIMIT 20)")
      .bind(now)
      .run();
  Statement(connection, "DELETE FROM wait WHERE queue=?1 AND key=?2 AND until<=?3")
      .bind(queue, Blob{key}, now)
      .run();
}

}  // namespace

bool put_wait(Writer& writer, std::string_view queue, const WaitRow& row,
              const std::optional<std::string>& seen) {
  auto& connection = writer.connection();
  Statement known(connection, "SELECT 1 FROM queue WHERE name=?1");
  if (!known.bind(queue).step()) throw unknown_queue_of_wait(queue);
  known.reset();
  sweep(connection, queue, row.key, us_of(writer.now()));
  const auto listed = std::int64_t{row.listed};
  if (!seen) {
    return Statement(connection,
                     "INSERT INTO wait(queue, key, listed, until, body) VALUES(?1, ?2, ?3, ?4, ?5)"
                     " ON CONFLICT DO NOTHING")
               .bind(queue, Blob{row.key}, listed, us_of(row.until), Blob{row.bytes})
               .run() == 1;
  }
  return Statement(connection,
                   "UPDATE wait SET listed=?3, until=?4, body=?5 WHERE queue=?1 AND key=?2 AND body=?6")
             .bind(queue, Blob{row.key}, listed, us_of(row.until), Blob{row.bytes}, Blob{*seen})
             .run() == 1;
}

std::vector<RowResult> step_rows(Writer& writer, std::string_view rows, std::span<const RowStep> steps) {
  using What = RowResult::What;
  auto& connection = writer.connection();
  Statement look(connection, "SELECT body FROM wait WHERE queue=?1 AND key=?2");
  Statement put(connection,
                "INSERT OR REPLACE INTO wait(queue, key, listed, until, body) VALUES(?1, ?2, ?3, ?4, ?5)");
  Statement drop(connection, "DELETE FROM wait WHERE queue=?1 AND key=?2");
  std::vector<RowResult> results;
  for (const auto& [row, seen, entries] : steps) {
    sweep(connection, rows, row.key, us_of(writer.now()));
    std::optional<std::string> there;
    if (look.bind(rows, Blob{row.key}).step()) there = look.bytes(0);
    look.reset();
    if (there != seen) {
      results.push_back({What::conflict, std::move(there)});
      continue;
    }
    if (writer.refusal_of(entries)) {
      results.push_back({What::refused, {}});
      continue;
    }
    if (row.until == Time::min()) {
      drop.bind(rows, Blob{row.key}).run();
    } else {
      put.bind(rows, Blob{row.key}, std::int64_t{row.listed}, us_of(row.until), Blob{row.bytes}).run();
    }
    writer.append(entries);
    results.push_back({What::done, {}});
  }
  return results;
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
