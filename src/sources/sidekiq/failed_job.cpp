// A failed job in the words of Sidekiq 6.4.1 (Sidekiq::JobRetry) and Verk 1.7 (Verk.RetrySet).
#include "sources/sidekiq/failed_job.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/fnv.h"
#include "base/json.h"
#include "base/shorten.h"
#include "domain/error_text.h"
#include "sources/sidekiq/job_reader.h"
#include "sources/sidekiq/job_writer.h"

namespace ordo::sources {
namespace {

constexpr std::size_t kMostErrorBytes = 10'000;  // Sidekiq's own bound

bool is_verk(const sidekiq::Job& job) { return job.dialect == sidekiq::Dialect::verk; }

/// How many lines of a backtrace the job asks for.
std::size_t lines_asked(const sidekiq::Job& job) {
  const auto asked = job.json.contains("backtrace") ? job.json["backtrace"] : Json();
  if (asked.is_bool()) return asked.as_bool() ? SIZE_MAX : 0;
  return static_cast<std::size_t>(count_at(job.json, "backtrace").value_or(0));
}

/// Of an error of several lines those behind the first, as Sidekiq packs them; empty: there are none.
std::string packed_backtrace(std::string_view error, std::size_t most) {
  std::vector<Json> lines;
  for (auto end = error.find('\n'); end != std::string_view::npos && lines.size() < most;) {
    error.remove_prefix(end + 1);
    end = error.find('\n');
    if (const auto line = error.substr(0, end); !line.empty()) lines.push_back(json_of_text(line));
  }
  if (lines.empty()) return {};
  const auto text = Json::array(lines).dump();
  std::string packed(compressBound(text.size()), '\0');
  auto size = static_cast<uLongf>(packed.size());
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           text.size());
  packed.resize(size);
  std::string base64;
  append_base64(base64, packed);
  return base64;
}

/// A list of the source, as nobody might take from another. `retry_queue` is the job's own wish.
std::string queue_of(const SourceOptions& source, const sidekiq::Job& job) {
  if (job.json.contains("retry_queue") && job.json["retry_queue"].is_string() &&
      !job.json["retry_queue"].as_string().empty())
    return job.json["retry_queue"].as_string();
  const bool is_ours = std::ranges::find(source.queues, job.queue) != source.queues.end();
  return is_ours ? job.queue : source.queues.front();
}

/// Pages list and name jobs by their scores, and jobs of one run fail at the same time: the fraction is made
/// of the name.
std::string due_at(const sidekiq::Job& job, std::int64_t count, const domain::JobState& state) {
  constexpr std::uint64_t kMicroseconds = 1'000'000;
  const auto chance = fnv1a(state.hand_over.name);
  const auto jitter = static_cast<std::int64_t>(chance / kMicroseconds % (is_verk(job) ? 30 : 10));
  const auto most = std::min<std::int64_t>(count, 1000);  // as a job may say any number
  const auto delay = most * most * most * most + 15 + (jitter + (is_verk(job) ? 1 : 0)) * (most + 1);
  const auto second = std::chrono::floor<std::chrono::seconds>(state.set_at.time_since_epoch()).count();
  return fmt::format("{}.{:06}", second + delay, chance % kMicroseconds);
}

}  // namespace

Json json_of_text(std::string_view text) { return Json::parse(json_string(text)); }

std::int64_t failures_before(const sidekiq::Job& job, std::int32_t here) {
  const std::int64_t before = job.retry_count ? std::int64_t{*job.retry_count} + (is_verk(job) ? 0 : 1) : 0;
  return std::max<std::int64_t>(before + here, 0);
}

Json with_failure(Json json, const sidekiq::Job& job, const JobFailure& failure) {
  const auto now = Json::parse(float_seconds(failure.at));
  json = json.with("retry_count", failure.count)
             .with("error_class", std::string(to_string(failure.kind)))
             .with("error_message", json_of_text(domain::cut(failure.error, kMostErrorBytes)));
  if (!job.failed_at) json = json.with("failed_at", now);
  if (failure.count > 0) json = json.with("retried_at", now);
  return json;
}

std::optional<Retry> write_retry(const SourceOptions& source, std::string_view id, std::string_view payload,
                                 const domain::JobState& state, std::optional<std::int32_t> retries_left) {
  std::string why;
  const auto job = read_job(payload, {}, why);
  // The workers of the other one take it out of the set, and fail to read it.
  if (!job || is_verk(*job) != (source.dialect == sidekiq::Dialect::verk)) return std::nullopt;
  const auto before = failures_before(*job, state.retry_count);
  const auto count = before + (is_verk(*job) ? 1 : 0);  // as its dialect counts
  auto json = job->json.with("queue", json_of_text(queue_of(source, *job)));
  if (job->jid.empty()) json = json.with("jid", json_of_text(id));
  if (!job->retries && retries_left)  // else Sidekiq's poller gives it 25
    json = json.with(is_verk(*job) ? "max_retry_count" : "retry", failures_before(*job, 0) + *retries_left);
  json = with_failure(json, *job, {state.error_kind, state.error, before, state.set_at});
  if (is_verk(*job)) {
    const auto now = Json::parse(whole_seconds(state.set_at));
    json = json.with("retry_count", count).with(before > 0 ? "retried_at" : "failed_at", now);
  }
  if (const auto lines = lines_asked(*job); lines > 0) {
    if (const auto backtrace = packed_backtrace(state.error, lines); !backtrace.empty())
      json = json.with("error_backtrace", backtrace);
  }
  return Retry{json.dump(), due_at(*job, count, state)};
}

}  // namespace ordo::sources
