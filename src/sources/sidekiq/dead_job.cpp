#include "sources/sidekiq/dead_job.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/shorten.h"
#include "domain/error_text.h"
#include "domain/plain_push.h"
#include "sources/sidekiq/job_reader.h"
#include "sources/sidekiq/job_writer.h"

namespace ordo::sources {
namespace {

constexpr std::size_t kMostErrorBytes = 10'000;  // Sidekiq's own bound

bool has_list(const SourceOptions& source, const std::string& name) {
  return std::ranges::find(source.queues, name) != source.queues.end();
}

Json text_of(std::string_view text) { return Json::parse(json_string(text)); }  // also what is not UTF-8

/// Sidekiq counts from 0 with the first failure; what was taken from its retry set has failed before.
std::int64_t failures_of(const sidekiq::Job& job, std::int32_t here) {
  const bool is_verk = job.dialect == sidekiq::Dialect::verk;
  const std::int64_t before = job.retry_count ? std::int64_t{*job.retry_count} + (is_verk ? 0 : 1) : 0;
  return std::max<std::int64_t>(before + here, 0);
}

std::string with_error(const SourceOptions& source, const sidekiq::Job& job, const domain::DeadPayload& dead,
                       Time at) {
  const auto failures = failures_of(job, dead.retry_count);
  const auto now = Json::parse(float_seconds(at));
  auto json = job.json.with("args", job.args);
  if (job.queue.empty()) json = json.with("queue", text_of(source.queues.front()));
  if (job.jid.empty()) json = json.with("jid", text_of(dead.id));
  json = json.with("retry_count", failures)
             .with("error_class", std::string(to_string(dead.error_kind)))
             .with("error_message", text_of(domain::cut(dead.error, kMostErrorBytes)));
  if (!job.failed_at) json = json.with("failed_at", now);
  if (failures > 0) json = json.with("retried_at", now);
  return json.dump();
}

}  // namespace

std::optional<std::string> write_dead_job(const SourceOptions& source, const domain::DeadPayload& dead,
                                          Time at) {
  std::string_view bytes = dead.payload;
  if (dead.is_entry) {
    if (!domain::is_plain_push(bytes)) return std::nullopt;
    bytes = domain::field_of_plain_push(bytes, "payload");
  }
  std::string why;
  const auto job = read_job(bytes, {}, why);
  if (job && (job->queue.empty() || has_list(source, job->queue))) return with_error(source, *job, dead, at);
  // What is malformed stays as it is, as Sidekiq itself does; its name says where it came from.
  if (!job && dead.is_entry && dead.id.starts_with(source.name + "-")) return std::string(bytes);
  return std::nullopt;
}

}  // namespace ordo::sources
