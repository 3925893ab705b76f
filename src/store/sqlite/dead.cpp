#include "store/sqlite/dead.h"

#include "store/limits.h"

namespace ordo::store::sqlite {
namespace {

class DeadTaker {
 public:
  DeadTaker(Connection& connection, std::uint32_t queue)
      : queue_(queue),
        row_(connection, "SELECT shard FROM dead WHERE no=?1 AND queue=?2"),
        erase_(connection, "DELETE FROM dead WHERE no=?1"),
        count_(connection, "UPDATE shard SET dead=dead-1 WHERE id=?1") {}

  bool take(std::uint64_t no) {
    if (!row_.bind(no, queue_).step()) return false;
    const auto shard = row_.number(0);
    row_.reset();
    erase_.bind(no).run();
    count_.bind(shard).run();
    return true;
  }

 private:
  const std::uint32_t queue_;
  Statement row_, erase_, count_;
};

}  // namespace

std::vector<DeadRow> read_dead(Connection& connection, std::uint32_t queue, std::uint64_t after,
                               std::size_t max_rows) {
  std::vector<DeadRow> dead;
  Statement rows(
      connection,
      "SELECT no, shard & 65535, at, body FROM dead WHERE queue=?1 AND no>?2 ORDER BY no LIMIT ?3");
  rows.bind(queue, after, std::uint64_t{max_rows});
  while (rows.step()) {
    dead.push_back({.shard = {.queue = queue, .index = static_cast<std::uint32_t>(rows.number(1))},
                    .no = rows.unsigned_number(0),
                    .at = Time{Duration{rows.number(2)}},
                    .bytes = std::string(rows.bytes(3))});
  }
  return dead;
}

// Rows are numbered as they die: an index has them in that order, and their times would have to be sorted.
std::vector<ShardId> read_oldest_dead(Connection& connection, std::uint32_t queue, std::size_t max_rows) {
  std::vector<ShardId> oldest;
  Statement rows(connection, "SELECT shard & 65535 FROM dead WHERE queue=?1 ORDER BY no LIMIT ?2");
  rows.bind(queue, std::uint64_t{max_rows});
  while (rows.step()) oldest.push_back({queue, static_cast<std::uint32_t>(rows.number(0))});
  return oldest;
}

std::size_t erase_dead_rows(Writer& writer, std::uint32_t queue, std::span<const std::uint64_t> nos) {
  if (writer.is_closed(queue)) throw closed_queue(queue);
  DeadTaker taker(writer.connection(), queue);
  std::size_t erased = 0;
  for (const auto no : nos) erased += taker.take(no) ? 1 : 0;
  return erased;
}

std::size_t revive_rows(Writer& writer, std::uint32_t queue, std::span<const std::uint64_t> nos,
                        const std::vector<NewEntry>& entries) {
  if (const auto refusal = writer.refusal_of(entries)) throw Error(*refusal);
  if (writer.is_closed(queue)) throw closed_queue(queue);
  DeadTaker taker(writer.connection(), queue);
  std::vector<NewEntry> revived;
  for (std::size_t i = 0; i < nos.size(); ++i) {
    if (taker.take(nos[i])) revived.push_back(entries[i]);
  }
  writer.append(revived);
  return revived.size();
}

}  // namespace ordo::store::sqlite
