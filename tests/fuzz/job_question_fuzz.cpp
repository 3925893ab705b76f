// What nodes ask each other of their jobs, and what they answer: any bytes are a question or an answer, or a
// reason why they are none; a shard is looked through by any question; and an answer keeps to its room.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "domain/job_question.h"
#include "domain/shard.h"

namespace {

using namespace ordo;
using namespace ordo::domain;

constexpr std::size_t kRoom = 256U << 10;

void answer(const JobQuestion& question) {
  QueueOptions options;
  options.name = "orders";
  PayloadBudget budget;
  Shard shard(options, budget);
  const Time now{std::chrono::hours{24 * 20'000}};
  shard.load({.head = 0, .now = now, .shard = {1, 0}, .token = 1}, {}, {});
  for (Seq seq = 1; seq < 9; ++seq) {
    const auto id = std::to_string(seq);
    Entry push{.kind = "orders", .key = seq % 2 == 0 ? "k" : "l", .id = id, .payload = "1"};
    if (seq > 5) push.run_at = now + std::chrono::seconds{seq};
    shard.apply({seq, now, push}, now);
  }
  shard.ready(now);
  JobListing listing(question.wish);
  listing.look(shard, {1, 0});
  const JobAnswer found{.shards = question.shards, .jobs = listing.take(), .is_cut = false};
  ORDO_ASSERT(found.jobs.size() <= question.wish.most);
  for (const auto room : {std::size_t{0}, std::size_t{100}, std::size_t{1000}, kRoom}) {
    const auto bytes = encode(found, room);
    ORDO_ASSERT(bytes.size() <= std::max<std::size_t>(room, 16));
    const auto read = decode_job_answer(bytes);
    ORDO_ASSERT(read && read->jobs.size() <= found.jobs.size());
    ORDO_ASSERT(read->is_cut == (read->jobs.size() < found.jobs.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto question = decode_job_question(bytes)) {
    const auto written = encode(*question);
    const auto again = decode_job_question(written);
    ORDO_ASSERT(again && encode(*again) == written);
    answer(*question);
  }
  const auto read = decode_job_answer(bytes);
  if (!read) return 0;
  const auto written = encode(*read, SIZE_MAX);
  const auto again = decode_job_answer(written);
  ORDO_ASSERT(again && encode(*again, SIZE_MAX) == written);
  return 0;
}
