#include "sources/sidekiq/dead_job.h"

#include <algorithm>
#include <string_view>

#include "base/json_tree.h"
#include "domain/plain_push.h"
#include "sources/sidekiq/failed_job.h"
#include "sources/sidekiq/job_reader.h"

namespace ordo::sources {
namespace {

bool has_list(const SourceOptions& source, const std::string& name) {
  return std::ranges::find(source.queues, name) != source.queues.end();
}

std::string with_error(const SourceOptions& source, const sidekiq::Job& job, const domain::DeadPayload& dead,
                       Time at) {
  auto json = job.json.with("args", job.args);
  if (job.queue.empty()) json = json.with("queue", json_of_text(source.queues.front()));
  if (job.jid.empty()) json = json.with("jid", json_of_text(dead.id));
  const auto count = failures_before(job, dead.retry_count);
  return with_failure(json, job, {dead.error_kind, dead.error, count, at}).dump();
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
