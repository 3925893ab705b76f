#include "domain/new_job.h"

#include <algorithm>
#include <cmath>

#include <ordo/error.hpp>

#include "base/name.h"
#include "base/shorten.h"
#include "base/window_text.h"
#include "domain/option_bounds.h"

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
  const auto check_name = [&](const char* what, const std::string& name) {
    if (name.size() > kLongestJobName) {
      refuse_push(queue, std::string("the ") + what + " has " + std::to_string(name.size()) +
                             " bytes, at most 255 fit");
    }
  };
  check_name("id", job.id);
  check_name("key", job.key);
  check_name("kind", job.kind);
  const auto of_job = [&] { return " of job " + in_quotes(job.id); };
  if (job.payload.size() > max_payload) {
    refuse_push(queue, "the payload" + of_job() + " has " + std::to_string(job.payload.size()) +
                           " bytes, at most " + std::to_string(max_payload) +
                           " fit; store it elsewhere and push its place, or set max_payload of the queue");
  }
  if (job.score && !std::isfinite(*job.score))
    refuse_push(queue, "the score" + of_job() + " is not a finite number");
  if (job.run_at && job.delay)
    refuse_push(queue, "job " + in_quotes(job.id) + " has both run_at and delay; give one");
  if (job.expires && job.expires_after)
    refuse_push(queue, "job " + in_quotes(job.id) + " has both expires and expires_after; give one");
  if (job.timeout && *job.timeout <= Duration{0})
    refuse_push(queue, "the timeout" + of_job() + " is not positive");
  if (job.max_retries && *job.max_retries < 0)
    refuse_push(queue, "the number of retries" + of_job() + " is below 0");
  if (job.weight && (*job.weight <= Decimal() || job.weight->millionths() > Decimal::kMost))
    refuse_push(queue, "the weight" + of_job() + " is " + job.weight->text() + ", and more than 0 is needed");
  if (job.partition) check_name("partition", *job.partition);
  if (job.lock) check_name("lock", *job.lock);
  if (job.lock && job.lock->empty()) refuse_push(queue, "the lock" + of_job() + " is empty; leave it out");
  if (job.unique) check_name("unique key", *job.unique);
  if (job.unique && job.unique->empty())
    refuse_push(queue, "the unique key" + of_job() + " is empty; leave it out");
  if (job.windows.size() > kMostJobWindows) {
    refuse_push(queue, "job " + in_quotes(job.id) + " has " + std::to_string(job.windows.size()) +
                           " windows, at most " + std::to_string(kMostJobWindows) + " fit");
  }
  for (const auto& window : job.windows) {
    const auto why = why_no_window(window);
    if (!why.empty()) refuse_push(queue, "a window" + of_job() + " cannot be kept: " + why);
  }
}

const std::string& key_of(const NewJob& job) { return job.key.empty() ? job.id : job.key; }

domain::Entry entry_of(const std::string& queue, const NewJob& job) {
  domain::Entry entry;
  entry.id = job.id;
  entry.kind = job.kind.empty() ? std::string_view(queue) : job.kind;
  entry.key = key_of(job);
  entry.score = job.score;
  entry.run_at = job.run_at;
  entry.options.priority = job.priority;
  entry.options.timeout = job.timeout;
  entry.options.expires = job.expires;
  entry.options.expires_after = job.expires_after;
  entry.options.windows = job.windows;
  entry.options.replaces_time = job.replace_time;
  domain::copy_more_options(job, entry.options);
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
