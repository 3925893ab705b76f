#pragma once

#include <string>

#include <ordo/abi.hpp>

namespace ordo {

/// Lets whoever has it answer one wait of a job, once, and shows neither its queue nor its key: for a URL
/// that is given to somebody outside. Nobody can guess or make one (docs/responses.md).
///
/// A job has it from Batch::expect(); Client::respond() takes it. Keep it out of logs.
struct ResponseToken {
  std::string text{};  ///< 60 of A-Z a-z 0-9 - _

  bool operator==(const ResponseToken&) const = default;
};

}  // namespace ordo
