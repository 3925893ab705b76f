#include "domain/new_job.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/name.h"
#include "base/push_option.h"
#include "base/shorten.h"

namespace ordo {

void check_queue_name(std::string_view name) {
  if (is_name(name)) return;
  throw Error(ErrorKind::invalid_argument,
              in_quotes(name) + " is no queue name; it takes 1 to 64 of a-z, 0-9, _ and -");
}

void refuse_push(const std::string& queue, const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              "cannot push to queue '" + queue + "': " + why + "; nothing was stored");
}

void check_new_job(const std::string& queue, const NewJob& job, std::uint64_t max_payload) {
  if (const auto why = why_no_push(job, max_payload); !why.empty()) refuse_push(queue, why);
}

const std::string& key_of(const NewJob& job) { return job.key.empty() ? job.id : job.key; }

domain::Entry entry_of(const std::string& queue, const NewJob& job) {
  domain::Entry entry;
  entry.id = job.id;
  entry.kind = job.kind.empty() ? std::string_view(queue) : job.kind;
  entry.key = key_of(job);
  entry.score = job.score;
  entry.run_at = job.run_at;
  entry.options.expires = job.expires;
  entry.options.expires_after = job.expires_after;
  entry.options.replaces_time = job.replace_time;
  copy_options(job, entry.options);
  entry.payload = job.payload;
  return entry;
}

std::optional<Unique> unique_rule_of(const QueueOptions* options, const std::string& kind) {
  const auto states_one = [](const auto& rules) { return rules.unique.has_value(); };
  const bool is_stated =
      options != nullptr && (states_one(*options) || std::ranges::any_of(options->kinds, states_one));
  if (!is_stated) return std::nullopt;  // most pushes: all the rules of a kind are much to copy
  return options_of(*options, kind).unique;
}

}  // namespace ordo
