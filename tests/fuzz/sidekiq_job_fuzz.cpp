// Whatever stands in a list of Sidekiq's: it is a job with its bytes unchanged, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/name.h"
#include "sources/sidekiq/mapping.h"

namespace {

const ordo::Config& config() {
  static const ordo::Config all = {
      .queues = {{.name = "a"}},
      .sources = {{.name = "web",
                   .queue = "a",
                   .map = {{.class_name = "A", .id = "/0", .key = "/1/k", .score = "/2", .lock = "/0"}}}}};
  return all;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto mapped = ordo::sources::map_job(config().sources.front(), config(), bytes, "7-0");
  require(mapped.job.payload == bytes);
  require(mapped.queue == "a");
  require(!mapped.job.id.empty() && mapped.job.id.size() <= ordo::kLongestJobName);
  require(mapped.job.key.size() <= ordo::kLongestJobName);
  require(mapped.job.max_retries.value_or(0) >= 0);
  require(!mapped.refused || (!mapped.refused->why.empty() && !mapped.refused->text.empty()));
  return 0;
}
