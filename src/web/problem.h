#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <ordo/error.hpp>

#include "web/message.h"

namespace ordo::web {

/// What is wrong with a request: RFC 9457. Thrown by handlers, and answered.
class Problem final : public std::runtime_error {
 public:
  Problem(unsigned status, const std::string& detail) : std::runtime_error(detail), status_(status) {}

  /// One more member, as JSON.
  Problem&& with(std::string_view name, std::string json) && {
    members_.emplace_back(name, std::move(json));
    return std::move(*this);
  }
  Problem&& header(std::string_view name, std::string value) && {
    headers_.emplace_back(name, std::move(value));
    return std::move(*this);
  }

  unsigned status() const { return status_; }
  Response response() const;

 private:
  unsigned status_;
  Headers members_{};
  Headers headers_{};
};

/// The words of a status line.
std::string_view reason_of(unsigned status);

/// 400 for wrong arguments, 410 for a cursor of a queue that was resharded since, 409 for a conflict, 412 for
/// one with what was looked at, 501 for what this store cannot do, 503 for one that cannot be reached, else
/// 500.
Problem problem_of(const Error& error);

}  // namespace ordo::web
