#pragma once

#include <stdexcept>
#include <string>

#include <ordo/abi.hpp>

namespace ordo {

/// What kind of failure of the world an Error reports.
enum class ErrorKind {
  invalid_argument,  ///< The call, config or input is wrong; nothing was tried.
  unavailable,  ///< The store did not answer or refused; what was in flight may or may not have happened.
  corrupt,      ///< Stored bytes are not what Ordo wrote; nothing was changed.
  unsupported,  ///< A newer schema, an unsuitable file system, a foreign version.
  conflict,     ///< Something else is there already (NotUnique), or several fit; nothing was changed.
};

/// Thrown when the world fails. The message says what was tried, on what, why it failed and what to do.
/// Expected answers (a job that is gone, a lease that went stale) are return values, never an Error.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace ordo
