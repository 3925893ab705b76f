#include "sources/sidekiq/dead_job.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/json_tree.h"
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

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `id` is the name of the source and a place in its stream: NAME-MS-NUMBER.
bool is_named_by(const SourceOptions& source, std::string_view id) {
  const auto start = source.name + "-";
  if (!id.starts_with(start)) return false;
  id.remove_prefix(start.size());
  const auto dash = id.find('-');
  return dash != std::string_view::npos && is_number(id.substr(0, dash)) && is_number(id.substr(dash + 1));
}

/// Sidekiq's page of the dead fails as a whole when it finds JSON that is no object.
bool is_fit_for_pages(std::string_view bytes) {
  const auto json = JsonDocument::parse(bytes);
  return !json || json->root().is_object();
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
  if (!job && dead.is_entry && is_named_by(source, dead.id) && is_fit_for_pages(bytes))
    return std::string(bytes);
  return std::nullopt;
}

}  // namespace ordo::sources
