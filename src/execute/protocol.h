#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/worker.hpp>

namespace ordo::execute {

/// Protocol lines, their newline included.
inline constexpr std::size_t kMaxLine = 16U << 20;

struct Request {
  std::size_t end = 0;  ///< the index after the last of its jobs
  /// Of the one job that does not fit with all its payloads: so many of them are in the line, the first ones.
  std::optional<std::uint32_t> payloads{};
};

/// Appends the request line for the jobs of `batch` from `first` on, as many as fit into `limit` bytes. A job
/// that does not even fit alone has a line of its own, with as many of its payloads as fit. Where the first
/// one does not, nothing is appended, and `end` is `first`.
Request append_request(std::string& line, const Batch& batch, std::size_t first,
                       std::size_t limit = kMaxLine);

/// A line of the worker's output is an answer when it is an object with a key that answers have, or broken
/// with such a key in it. Any other is a print, whatever it starts with.
bool is_answer(std::string_view line);

/// What is to be answered to a `line` that registers what a job is going to wait for, once that is done;
/// nothing: it is no such line.
std::optional<std::string> answer_expect(std::string_view line, Batch& batch, std::size_t first,
                                         std::size_t end);

/// Reports to jobs [first, end) of `batch` what the answer `line` says of them. Nothing is reported when the
/// line is no answer; then the result says why.
std::optional<std::string> apply_answer(std::string_view line, Batch& batch, std::size_t first,
                                        std::size_t end);

}  // namespace ordo::execute
