#include "runtime/response_inbox.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/shorten.h"

namespace ordo::runtime {

void ResponseInbox::serve(const QueueOptions& queue) {
  const std::lock_guard lock(mutex_);
  response_ttls_[queue.name] = queue.response_ttl;
}

bool ResponseInbox::tick() {
  const auto ttl_of = [this](const std::string& queue) {
    const std::lock_guard lock(mutex_);
    const auto ttl = response_ttls_.find(queue);
    return ttl != response_ttls_.end() ? ttl->second : QueueOptions{}.response_ttl;
  };
  const auto answers = store::drain_inbox(store_, node_, ttl_of, held_);
  const bool goes_on = !std::ranges::all_of(answers, &store::InboxAnswer::waits);
  if (!log_) return goes_on;
  std::map<Responded, int> counts;
  for (const auto& answer : answers) {
    const auto say = [&](LogLevel level, const std::string& what) {
      LogLine line;
      line.level = level;
      line.queue = answer.queue;
      line.message = fmt::format("the response to {} of queue '{}' that a transaction has left {}",
                                 in_quotes(answer.key), answer.queue, what);
      log_(line);
    };
    if (answer.waits) {
      say(LogLevel::warning, "waits for a node of a newer version, with all others for it: " + answer.error);
      continue;
    }
    if (!answer.error.empty()) {
      say(LogLevel::error, "is dropped: " + answer.error);
      continue;
    }
    ++counts[answer.what];
    const bool is_kept = answer.what == Responded::accepted || answer.what == Responded::buffered ||
                         answer.what == Responded::duplicate;
    if (!is_kept) say(LogLevel::warning, fmt::format("is {}, and dropped", to_string(answer.what)));
  }
  std::string all;
  for (const auto& [what, count] : counts)
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", count, to_string(what));
  if (!all.empty()) log_(LogLevel::info, "responses that transactions have left: " + all);
  return goes_on;
}

}  // namespace ordo::runtime
