#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ordo::execute {

/// A log line of a worker is cut here; the rest of it is dropped.
inline constexpr std::size_t kMaxLogLine = 1U << 20;

/// Cuts a worker's output into lines and holds at most one unfinished line.
///
///   cutter.add(bytes);
///   while (const auto line = cutter.next()) use(*line);
class LineCutter {
 public:
  /// What lines that start with `{` are: answers are taken whole up to kMaxLine, all else is cut.
  enum class Braces { answers, text };

  explicit LineCutter(Braces braces) : braces_(braces) {}

  void add(std::string_view bytes);

  /// The next whole line, without its newline. Valid until the next call of any member.
  std::optional<std::string_view> next();

  /// After the end of the stream: the line that has no newline, if any.
  std::optional<std::string_view> last();

  /// An answer was longer than kMaxLine: there is no way to go on.
  bool is_overlong() const { return overlong_; }

  /// What there is of the line that has no newline yet.
  std::string_view unfinished() const { return std::string_view(bytes_).substr(at_); }

 private:
  bool is_answer(std::string_view line) const { return braces_ == Braces::answers && line.starts_with('{'); }
  std::optional<std::string_view> cut(std::string_view line);

  Braces braces_;
  std::string bytes_;
  std::size_t at_ = 0;       ///< the first byte not given out
  std::size_t scanned_ = 0;  ///< no newline in [at_, scanned_)
  bool dropping_ = false;    ///< the line at at_ was given out, cut
  bool overlong_ = false;
};

}  // namespace ordo::execute
