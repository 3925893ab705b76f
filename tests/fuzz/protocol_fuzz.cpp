// What a worker may write: lines cut from any chunks, any answer to any batch.
// Input: one byte of chunk size, one of the job count, then the worker's output.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json.h"
#include "execute/line_cutter.h"
#include "execute/protocol.h"

namespace {

using namespace ordo;
using namespace ordo::execute;

std::vector<std::string> lines_of(std::string_view output, std::size_t chunk) {
  LineCutter cutter(LineCutter::Braces::answers);
  std::vector<std::string> lines;
  for (; !output.empty(); output.remove_prefix(std::min(chunk, output.size()))) {
    cutter.add(output.substr(0, chunk));
    while (const auto line = cutter.next()) lines.emplace_back(*line);
  }
  if (const auto line = cutter.last()) lines.emplace_back(*line);
  return lines;
}

Batch batch_of(std::size_t count, std::string_view bytes) {
  std::vector<BatchJob> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string id = std::to_string(i) + std::string(bytes.substr(0, i));
    jobs.push_back({.id = id, .key = id, .payloads = {{std::string(bytes), 0.5}, {"", 1e9}}});
  }
  return {"orders", "orders", std::move(jobs), std::chrono::hours{1}, 0, {}};
}

/// However low the limit, each job is in one line, perhaps with its first payloads only, or in none.
void check_requests(const Batch& batch, std::size_t limit) {
  std::size_t refused = 0;
  for (std::size_t at = 0; at < batch.jobs().size();) {
    std::string line;
    const auto [end, payloads] = append_request(line, batch, at, limit);
    ORDO_ASSERT(!payloads ||
                (end == at + 1 && *payloads > 0 && *payloads < batch.jobs()[at].payloads.size()));
    ORDO_ASSERT(line.empty() == (end == at));
    refused += end == at ? 1 : 0;
    if (end > at) {
      ORDO_ASSERT(line.size() <= limit && line.back() == '\n' && line.find('\n') == line.size() - 1);
      line.pop_back();
      ORDO_ASSERT(minify_json(line) == line);
    }
    at = std::max(end, at + 1);
  }
  ORDO_ASSERT(limit < 1U << 20 || refused == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view output(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto lines = lines_of(output, std::size_t{data[0]} + 1);
  ORDO_ASSERT(lines == lines_of(output, output.size() + 1));

  const std::size_t count = data[1] % 5;
  for (const auto& line : lines) {
    Batch batch = batch_of(count, "");
    const auto error = apply_answer(line, batch, 0, count);
    for (const auto& outcome : batch.take_outcomes(Outcome::put_back())) {
      ORDO_ASSERT((outcome.kind == Outcome::Kind::put_back) == error.has_value());
      ORDO_ASSERT(outcome.snooze >= Duration{0});
    }
  }
  check_requests(batch_of(count, output), 1U << 20);
  check_requests(batch_of(count, output), std::size_t{data[0]} * 8);
  return 0;
}
