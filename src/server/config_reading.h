#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/decimal.hpp>
#include <ordo/time.hpp>

#include "server/config_value.h"

namespace ordo::server {

/// One setting being read: its checks throw Error{invalid_argument} with place, name, what is wrong and what
/// to do.
class Reading {
 public:
  Reading(std::string name, std::size_t line, const Value& value, const Origin& origin)
      : name_(std::move(name)), line_(value.line > 0 ? value.line : line), value_(value), origin_(origin) {}

  std::int64_t whole(std::int64_t least, std::int64_t most) const;
  double real(double least, double most) const;
  /// A number with at most six places, at least `least` and more than nothing; or a text of one.
  Decimal decimal(Decimal least) const;
  Duration duration(Duration least) const;
  /// A number of bytes, or a text with a unit: "256MiB".
  std::uint64_t bytes() const;
  const std::string& text() const;
  /// A text that store::open() takes.
  const std::string& url() const;
  /// Texts without an empty first one.
  std::vector<std::string> command() const;
  std::vector<Duration> durations() const;
  bool flag() const;
  /// A time of the day: "05:00".
  std::chrono::seconds clock() const;
  /// Days of the week, as Window has them: ["mon", "wed-fri"].
  std::uint8_t days() const;
  /// Bytes to store: JSON given as text is stored without white space, other text as it is, and a TOML table,
  /// list, number or flag as JSON.
  std::string payload() const;
  /// The items of a list. `example`: how one is written.
  std::vector<Reading> list(std::string_view example) const;
  /// `example`: how one is written, for who wrote a value.
  const Table& table(std::string_view example = {}) const;

  /// One of some words.
  template <class T, class Words>
  T one_of(const Words& words) const {
    std::vector<std::string> known;
    for (const auto& [word, meaning] : words) {
      if (text() == word) return meaning;
      known.emplace_back(word);
    }
    fail_choice(known);
  }

  [[noreturn]] void fail(const std::string& what) const;

  const Origin& origin() const { return origin_; }

 private:
  Duration duration_of(const std::string& text) const;
  [[noreturn]] void fail_choice(const std::vector<std::string>& known) const;

  std::string name_;
  std::size_t line_;
  const Value& value_;
  const Origin& origin_;
};

}  // namespace ordo::server
