// Pushes under a key: the row of the key and all entries are one step of the store, so a call whose end
// nobody knows can be made again.
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/fnv.h"
#include "base/time_text.h"
#include "client/client_impl.h"
#include "domain/new_job.h"

namespace ordo {
namespace {

constexpr int kOnceAttempts = 1000;  // that a queue was resharded, or a key forgotten, in that moment
constexpr std::size_t kMostOnceJobs = 1000;
constexpr std::size_t kLongestOnceKey = 200;
constexpr std::size_t kLongestOnceContent = 255;
constexpr Duration kOnceKept = std::chrono::hours{24};

/// Beside the rows of unique keys, whose names are 16 bytes of a hash.
std::string once_row_key(const std::string& key) { return "once:" + key; }

/// Of the job at that place: the same whenever it is pushed under the key.
std::string id_under(const std::string& key, std::size_t place) {
  std::string id = "once-";
  for (const char byte : fnv1a_128(fmt::format("{}:{}", place, key)))
    id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return id;
}

void check_once(const std::string& queue, const std::vector<NewJob>& jobs, const OnceKey& once) {
  if (once.key.empty() || once.key.size() > kLongestOnceKey)
    refuse_push(queue,
                fmt::format("the key of a push has 1 to {} bytes, not {}", kLongestOnceKey, once.key.size()));
  if (once.content.empty() || once.content.size() > kLongestOnceContent)
    refuse_push(queue, fmt::format("what says the content of a push has 1 to {} bytes, not {}",
                                   kLongestOnceContent, once.content.size()));
  if (jobs.size() > kMostOnceJobs)
    refuse_push(queue, fmt::format("{} jobs under one key, at most {} fit", jobs.size(), kMostOnceJobs));
}

/// Of a key that is taken.
PushedOnce known_end(bool is_same, const std::vector<NewJob>& jobs) {
  PushedOnce end{.what = is_same ? PushedOnce::What::again : PushedOnce::What::other};
  for (std::size_t i = 0; is_same && i < jobs.size(); ++i) end.ids.push_back(jobs[i].id);
  return end;
}

}  // namespace

PushedOnce Client::Impl::push_under_key(const std::string& queue, std::vector<NewJob> jobs,
                                        const OnceKey& once) {
  check_once(queue, jobs, once);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].id.empty()) jobs[i].id = id_under(once.key, i);
  }
  // First: what was stored under it may be refused by now, when its expiry has passed or the config is
  // another.
  if (const auto there = handle_->store().wait_row(store::Store::unique_rows(queue), once_row_key(once.key)))
    return known_end(*there == once.content, jobs);
  if (has_unique(queue, jobs))
    refuse_push(queue,
                "jobs with unique keys are not pushed under another key: their own keeps them from being "
                "there twice");
  const auto push = prepare(queue, std::move(jobs));
  PushedOnce end{.ids = ids_of(*push)};
  if (push->jobs.empty()) return end;
  auto& store = handle_->store();
  bool was_refused = false;
  for (int attempt = 0; attempt < kOnceAttempts; ++attempt) {
    const auto definition = open_route(queue, was_refused);
    store::RowStep step{
        {once_row_key(once.key), once.content, true, time_after(store.now(), kOnceKept)}, std::nullopt, {}};
    for (const auto& job : push->jobs) step.entries.push_back(new_entry(definition, entry_of(queue, job)));
    std::vector<store::RowStep> steps;
    steps.push_back(std::move(step));
    const auto result = store.step_rows(store::Store::unique_rows(queue), std::move(steps)).front();
    was_refused = result.what == store::RowResult::What::refused;
    if (result.what == store::RowResult::What::done) return end;
    if (was_refused || !result.there) continue;
    return known_end(*result.there == once.content, push->jobs);
  }
  throw Error(ErrorKind::unavailable,
              "cannot push to queue '" + queue + "': it is resharded again and again; try again");
}

}  // namespace ordo
