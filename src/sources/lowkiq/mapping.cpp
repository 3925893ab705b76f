#include "sources/lowkiq/mapping.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/name.h"
#include "base/time_text.h"
#include "sources/lowkiq/origin.h"

namespace ordo::sources {
namespace {

std::optional<double> real_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// A job of Lowkiq counts its retries from 0, and dies with the failure that makes the count its greatest.
std::optional<std::int32_t> retries_left(const std::string& count, std::int32_t most) {
  const auto done = real_of(count);
  if (!done || *done < 0) return std::nullopt;
  return static_cast<std::int32_t>(std::max(0.0, most - 1 - std::min<double>(*done, most)));
}

}  // namespace

std::vector<MappedJob> map_lowkiq_job(const SourceOptions& source, const Config& config,
                                      const SidekiqOrigin::Taken& taken) {
  const auto rules = options_of(*config.find(source.queue), source.queue);
  std::vector<MappedJob> mapped;
  for (const auto& [bytes, score] : taken.payloads) {
    auto& [queue, job, refused] = mapped.emplace_back(MappedJob{source.queue, {}});
    job.id = taken.bytes;
    job.payload = bytes;
    job.score = real_of(score);
    if (taken.set != LowkiqOrigin::kDead) {
      if (const auto at = real_of(taken.score)) job.run_at = time_of_seconds(*at);
      job.max_retries = retries_left(taken.retries, rules.max_retries);
    }
    if (job.id.empty() || job.id.size() > kLongestJobName) {
      refused = {"malformed",
                 fmt::format("its id has {} bytes; 1 to {} fit", job.id.size(), kLongestJobName)};
      job.id = source.name + "-" + taken.position;
    } else if (!job.score) {
      refused = {"malformed", "its score " + score + " is no finite number"};
    } else if (bytes.size() > rules.max_payload) {
      refused = {"too_large",
                 fmt::format("it has {} bytes, and its queue takes {}", bytes.size(), rules.max_payload)};
    }
  }
  return mapped;
}

}  // namespace ordo::sources
