#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/abi.hpp>

namespace ordo {

/// A decimal of at most six places, kept exactly: ten times 0.1 are 1. For weights and limits.
///
/// Made of a whole number or of a `double`, which is rounded to the nearest millionth; out of range it is
/// zero, which Config refuses.
class Decimal {
 public:
  static constexpr std::int64_t kOne = 1'000'000;
  static constexpr std::int64_t kMost = 1'000'000'000 * kOne;  ///< a thousand million

  constexpr Decimal() = default;
  constexpr Decimal(int whole) : millionths_(std::int64_t{whole} * kOne) {}  // NOLINT: reads as a number
  Decimal(double value)                                                      // NOLINT: likewise
      : millionths_(std::abs(value) <= 1e9 ? std::llround(value * 1e6) : 0) {}

  static constexpr Decimal of_millionths(std::int64_t millionths) {
    Decimal decimal;
    decimal.millionths_ = millionths;
    return decimal;
  }
  /// "0.25", "3": digits with at most six behind a point, up to kMost. Nothing for anything else.
  static std::optional<Decimal> parse(std::string_view text);

  constexpr std::int64_t millionths() const { return millionths_; }
  /// The shortest text that parse() takes for the same.
  std::string text() const;

  constexpr auto operator<=>(const Decimal&) const = default;

 private:
  std::int64_t millionths_ = 0;
};

}  // namespace ordo
