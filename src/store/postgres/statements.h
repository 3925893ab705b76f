#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "store/postgres/connection.h"
#include "store/postgres/request.h"
#include "store/postgres/seen_book.h"

namespace ordo::store::postgres {

/// What stands in every row that a store writes.
struct Writer {
  std::int64_t store = 0;           ///< random: which sleepers are its own
  std::optional<std::int64_t> now;  ///< µs; nothing: the server's clock
};

/// All entries of some appends as one call of ordo_append.
class AppendStatement {
 public:
  static constexpr const char* kSql = "SELECT ordo_append($1, $2, $3, $4, $5, $6)";

  explicit AppendStatement(std::span<AppendRequest* const> requests);
  Parameters parameters(const Writer& writer) const;

 private:
  std::vector<std::int64_t> known_, shards_, places_;
  std::vector<std::string_view> bodies_;
};

/// Deltas of different shards, from several commits, as one call of ordo_commit. A commit's second delta for
/// a shard needs a second statement.
class CommitStatement {
 public:
  static constexpr const char* kSql =
      "SELECT ordo_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
      " $19, $20, $21, $22)";
  static constexpr const char* kKeptSql =
      "SELECT ordo_commit_kept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
      "$18,"
      " $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)";

  /// A delta and where its result belongs.
  using Part = std::pair<const Delta*, CommitResult*>;

  /// Distributes the deltas; every result is stale until it is taken.
  static std::vector<CommitStatement> of(std::span<CommitRequest* const> requests);

  /// One that keeps nothing does not pay for those that do.
  const char* sql() const { return keeps_ ? kKeptSql : kSql; }
  Parameters parameters(SeenBook& seen);
  void take(const Result& result);

 private:
  std::vector<Part> parts_;
  bool keeps_ = false;
};

}  // namespace ordo::store::postgres
