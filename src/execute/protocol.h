#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/worker.hpp>

namespace ordo::execute {

/// Protocol lines, their newline included.
inline constexpr std::size_t kMaxLine = 16U << 20;

/// Appends the request line for the jobs of `batch` from `first` on, as many as fit into `limit` bytes;
/// returns the index after the last of them. Returns `first`, with nothing appended, when not even that job
/// fits.
std::size_t append_request(std::string& line, const Batch& batch, std::size_t first,
                           std::size_t limit = kMaxLine);

/// What is to be answered to a `line` that registers what a job is going to wait for, once that is done;
/// nothing: it is no such line.
std::optional<std::string> answer_expect(std::string_view line, Batch& batch, std::size_t first,
                                         std::size_t end);

/// Reports to jobs [first, end) of `batch` what the answer `line` says of them. Nothing is reported when the
/// line is no answer; then the result says why.
std::optional<std::string> apply_answer(std::string_view line, Batch& batch, std::size_t first,
                                        std::size_t end);

}  // namespace ordo::execute
