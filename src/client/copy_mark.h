#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/shard_id.h"

namespace ordo {

/// How far one shard is copied: durable in the counts of the shard in TO, with every commit of a copy, and
/// kept there by the nodes that own the shard later.
///
/// A copy works in rounds. The first brings everything, a later one what has been pushed into FROM since.
struct CopyMark {
  bool is_open = false;  ///< the round has not ended yet
  bool is_first = true;  ///< the round, or the last one, is the first
  bool paused = false;   ///< what the queue is to be after the round
  /// Until then it is paused by the copy.
  bool holds_pause = false;
  std::uint64_t from_batch = 0;  ///< commits of owners in FROM: another number says that a node worked there
  std::uint64_t to_batch = 0;    ///< the commit that wrote this mark
  domain::Seq from_after = 0;  ///< the round is about FROM's entries behind this one; earlier ones are copied
  domain::Seq to_after = 0;    ///< and about TO's entries behind this one
  /// Of an open round: so many of its entries were there at its start, with this checksum. Of an ended one: 1
  /// and the checksum of the last entry that was copied, or 0 of none. It tells one FROM from another.
  std::uint64_t entries = 0;
  std::uint64_t checksum = 0;
  std::uint64_t dead_no = 0;  ///< FROM's dead rows up to this one are copied

  bool operator==(const CopyMark&) const = default;
};

std::string encode(const CopyMark& mark);
CopyMark decode_copy_mark(std::string_view bytes);  ///< throws Error{corrupt}

}  // namespace ordo
