#include "execute/line_cutter.h"

#include "execute/protocol.h"

namespace ordo::execute {

void LineCutter::add(std::string_view bytes) {
  if (at_ == bytes_.size() && bytes_.capacity() > kMaxLogLine) bytes_ = std::string();
  bytes_.erase(0, at_);
  scanned_ -= at_;
  at_ = 0;
  bytes_.append(bytes);
}

std::optional<std::string_view> LineCutter::next() {
  while (!overlong_) {
    const auto newline = bytes_.find('\n', scanned_);
    const bool whole = newline != std::string::npos;
    const auto line = std::string_view(bytes_).substr(at_, whole ? newline - at_ : std::string::npos);
    const bool too_long = is_answer(line) ? line.size() >= kMaxLine : line.size() > kMaxLogLine;
    const bool dropped = dropping_;
    scanned_ = whole ? newline + 1 : bytes_.size();
    if (whole || dropped || (too_long && !is_answer(line))) at_ = scanned_;
    dropping_ = !whole && (dropped || (too_long && !is_answer(line)));
    if (!dropped && (whole || too_long)) return cut(line);
    if (!whole) break;
  }
  return std::nullopt;
}

std::optional<std::string_view> LineCutter::last() {
  const auto line = unfinished();
  at_ = scanned_ = bytes_.size();
  if (line.empty() || dropping_ || overlong_) return std::nullopt;
  return cut(line);
}

std::optional<std::string_view> LineCutter::cut(std::string_view line) {
  if (!is_answer(line)) return line.substr(0, kMaxLogLine);
  overlong_ = line.size() >= kMaxLine;
  return overlong_ ? std::nullopt : std::optional(line);
}

}  // namespace ordo::execute
