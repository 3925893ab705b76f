#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ordo/time.hpp>

namespace ordo {

/// A response that no job has handled, or will (docs/responses.md). A queue keeps the last 1,000 for 7 days.
struct DeadLetter {
  enum class Why : std::uint8_t {
    late,     ///< the wait was over, or had another response
    unknown,  ///< nobody has waited for the key within `response_ttl`
    unused,   ///< it was taken for a job that ended without it
  };
  Why why = Why::late;
  std::string key{};
  std::string job_kind{}, job_key{}, job_id{};  ///< that it was for, or that had the key last; empty: none
  std::string message_id{};                     ///< empty: it had none
  std::string body{};
  Time at{};  ///< when it became one

  bool operator==(const DeadLetter&) const = default;
};

std::string_view to_string(DeadLetter::Why why);

}  // namespace ordo
