#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ordo::store::postgres {

/// Which transactions a statement saw the end of. Ids are those of entries: xid_base is added.
class Snapshot {
 public:
  Snapshot() = default;
  /// Reads "xmin:xmax:xid,xid,…:base", which is pg_snapshot's text and the base. Throws Error{corrupt}.
  explicit Snapshot(std::string_view text);

  /// False: in progress, or not begun.
  bool has_ended(std::int64_t xid) const;

  /// Those below the end that were in progress, ascending.
  const std::vector<std::int64_t>& in_progress() const { return in_progress_; }
  std::int64_t end() const { return end_; }

 private:
  std::int64_t end_ = 0;
  std::vector<std::int64_t> in_progress_;
};

}  // namespace ordo::store::postgres
