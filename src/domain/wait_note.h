#pragma once

#include <string>
#include <string_view>

#include "domain/decoded.h"

namespace ordo::domain {

/// The payload of an entry about a wait; the entry itself names the job.
///
/// `expected` is written before the wait's row is (domain/wait_row.h), and stays until the wait is over: so
/// the owner of the shard knows of every row that its jobs may have opened. `response` brings what has come.
struct WaitNote {
  std::string wait;  ///< the wait's id
  std::string key;   ///< what is waited for
  std::string message_id;
  std::string body;  ///< of the response

  bool operator==(const WaitNote&) const = default;
};

std::string encode(const WaitNote& note);
Decoded<WaitNote> decode_wait_note(std::string_view bytes);

}  // namespace ordo::domain
