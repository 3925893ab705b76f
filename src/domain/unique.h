#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/job.hpp>
#include <ordo/options.hpp>

#include "domain/decoded.h"

// Jobs that are unique at push (docs/unique.md). A key has a row beside the logs, which names the job that
// has it. The row is written in one step with the job's entry, and taken away by the owner of the job: before
// the first start (scope `queued`) or when the job is gone. A row carries a token that its push made anew, so
// that whoever takes it away late takes nobody else's.
namespace ordo::domain {

/// What a job has of a row; it goes with the job's options.
struct UniqueHold {
  std::string row;    ///< its key in the store
  std::string token;  ///< of the push that wrote it, 1..255 bytes
  UniqueScope scope = UniqueScope::queued;
  Time first{};  ///< when the first of those that were put off was to start (OnConflict::debounce)

  bool operator==(const UniqueHold&) const = default;
};

/// A row as it is stored: whose it is.
struct UniqueRow {
  std::string token;
  UniqueScope scope = UniqueScope::queued;
  Time first{};
  std::string kind, key, id;

  bool operator==(const UniqueRow&) const = default;
};

/// For ever the same bytes: rows are compared by them.
std::string encode(const UniqueRow& row);
Decoded<UniqueRow> decode_unique_row(std::string_view bytes);
/// The row that a job with this has written.
std::string row_of(const UniqueHold& hold, std::string_view kind, std::string_view key, std::string_view id);

/// A row that is to be taken away, if it is still this one.
struct RowToFree {
  std::string row;
  std::string bytes;
  bool starts = false;  ///< its job waits for the log to say so, and then starts

  bool operator==(const RowToFree&) const = default;
};

/// The key of the row of jobs of this kind whose unique key it is: 128 bits.
std::string unique_row_key(std::string_view kind, std::string_view key);
/// Other rows that are kept with them have keys of another length.
inline bool is_unique_row_key(std::string_view key) { return key.size() == 16; }

/// The unique key of a job by the rule of its kind; nothing: it has none.
std::optional<std::string> unique_key_of(const Unique& rule, const NewJob& job);

/// Throttling is a period, whatever is stated.
UniqueScope scope_of(const Unique& rule);
/// Why it is no rule; empty: it is one.
std::string why_no_unique(const Unique& rule);

/// The rows of jobs of a shard that are on their way out. Rows of jobs that are over stand in the shard's own
/// record from the delta that ends the job until they are known to be gone: so the next owner finds them.
class LeavingRows {
 public:
  /// The job of the row is over. It is asked for when that is durable.
  void end(RowToFree row) { ended_.push_back(std::move(row)); }
  /// The first run of its job is to start.
  void start(RowToFree row) { asked_.push_back(std::move(row)); }
  /// What an earlier owner left.
  void load(std::vector<RowToFree> rows);

  /// The next delta is made / is durable.
  void collect();
  void committed();
  /// A row of an ended job is gone, or another's.
  void freed(const std::string& bytes);

  /// To be asked of the store, since the last call.
  std::vector<RowToFree> asked() { return std::exchange(asked_, {}); }
  /// For the shard's record.
  std::vector<RowToFree> list() const;
  /// Rows of ended jobs are still to be taken away.
  bool empty() const { return ended_.empty() && in_flight_.empty() && leaving_.empty(); }

 private:
  std::vector<RowToFree> ended_, in_flight_, leaving_, asked_;
};

}  // namespace ordo::domain
