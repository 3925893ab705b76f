#include "sources/lowkiq/mapping.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/name.h"
#include "base/number_text.h"
#include "base/time_text.h"
#include "sources/lowkiq/origin.h"

namespace ordo::sources {
namespace {

// What lowkiq_move.lua puts behind a job: "retries", their count, then payloads with their scores.
constexpr std::size_t kRetries = 1;
constexpr std::size_t kFirstPayload = 2;

/// A job of Lowkiq counts its retries from 0, and dies with the failure that makes the count its greatest.
std::optional<std::int32_t> retries_left(const std::string& count, std::int32_t most) {
  const auto done = read_number<double>(count);
  if (!done || !(*done >= 0)) return std::nullopt;
  return static_cast<std::int32_t>(std::max(0.0, most - 1 - std::min<double>(*done, most)));
}

}  // namespace

std::vector<MappedJob> map_lowkiq_job(const SourceOptions& source, const Config& config,
                                      const SidekiqOrigin::Taken& taken) {
  const auto rules = options_of(*config.find(source.queue), source.queue);
  const auto at = read_number<double>(taken.score);
  std::vector<MappedJob> all;
  for (std::size_t i = kFirstPayload; i + 1 < taken.more.size(); i += 2) {
    const auto& bytes = taken.more[i];
    const auto& score = taken.more[i + 1];
    auto& mapped = all.emplace_back(MappedJob{source.queue, {}});
    mapped.is_dead = taken.set == LowkiqOrigin::kDead;
    mapped.is_part = true;
    auto& job = mapped.job;
    auto& refused = mapped.refused;
    job.id = taken.bytes;
    job.payload = bytes;
    job.score = read_number<double>(score);
    if (job.score && !std::isfinite(*job.score)) job.score.reset();
    if (!mapped.is_dead) {
      if (at) job.run_at = time_of_seconds(*at);
      job.max_retries = retries_left(taken.more[kRetries], rules.max_retries);
    }
    if (job.id.empty() || job.id.size() > kLongestJobName) {
      refused = {"malformed",
                 fmt::format("its id has {} bytes; 1 to {} fit", job.id.size(), kLongestJobName)};
      job.id = source.name + "-" + taken.position;
    } else if (!job.score) {
      refused = {"malformed", "its score " + score + " is no finite number"};
    } else {
      refused = refusal_of_size(bytes.size(), rules.max_payload);
    }
  }
  return all;
}

}  // namespace ordo::sources
