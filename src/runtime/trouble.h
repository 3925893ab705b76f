#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// Something that fails now, and what it last said.
struct TroubleFacts {
  std::string error;  ///< empty: all is well
  Time since{};       ///< the store's time of the first failure in a row
  std::uint64_t failures = 0;

  bool operator==(const TroubleFacts&) const = default;
};

/// One kind of call that is repeated until it succeeds: what of its failures belongs into a log, and what is
/// shown of them. Each error is told once, and again each minute while it lasts.
class Trouble {
 public:
  /// `what` could not be done, as in "commit what has ended".
  explicit Trouble(std::string what) : what_(std::move(what)) {}

  /// A line for the log; nothing: that was said a moment ago.
  std::optional<std::string> failed(const std::string& error, Time now, Duration steady);
  /// The same, once it has succeeded after a failure.
  std::optional<std::string> succeeded();

  /// Nobody waits for it any more.
  void forget() { facts_ = {}; }

  const TroubleFacts& facts() const { return facts_; }

 private:
  std::string what_;
  TroubleFacts facts_;
  Duration said_at_{};  // steady
};

/// How a lease came to end before its renewal.
struct LateRenewal {
  Duration since{};    ///< the renewal before was sent
  Duration renewed{};  ///< of that: until the store had answered this renewal
  Duration lost{};     ///< ... for which the store could not be reached before
  Duration idle{};     ///< ... for which it was due, and this process did not try
};

/// Who was slow, and what to do, for the log.
std::string text_of(const LateRenewal& late, Duration lease);

/// What an exception says; empty for none.
std::string text_of(const std::exception_ptr& error);

}  // namespace ordo::runtime
