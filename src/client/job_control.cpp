// Wishes about jobs: of one, which its name must tell from others, and of all that fit a filter.
#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "client/page_sizes.h"
#include "client/several_jobs.h"
#include "domain/job_question.h"
#include "store/blocking.h"

namespace ordo {
namespace {

bool is_waiting(JobStatus state) {
  return state == JobStatus::due || state == JobStatus::scheduled || state == JobStatus::retrying;
}

/// Throws for one of these, which are those of one name, that does not wait for its time: if none does, or
/// with `alone` also beside one that does.
void refuse_active(std::string_view call, std::span<const domain::ListedJob> jobs, bool alone) {
  const auto waits = [](const domain::ListedJob& job) { return is_waiting(job.view.state); };
  const auto active = std::ranges::find_if_not(jobs, waits);
  if (active == jobs.end() || (!alone && std::ranges::any_of(jobs, waits))) return;
  const auto& job = *active;
  std::string why = "runs already";
  if (job.view.state == JobStatus::awaiting) {
    why = job.asks.response.empty() ? "has its response, which is handled next"
                                    : "waits for a response to " + in_quotes(job.asks.response);
  }
  throw Error(ErrorKind::conflict,
              fmt::format("{}: job {} {}; nothing was done", call, in_quotes(job.view.id), why));
}

bool is_of_waiting(const JobFilter& filter) {
  return !filter.states.empty() && std::ranges::all_of(filter.states, is_waiting);
}

Error not_of_running(std::string_view call) {
  return Error(ErrorKind::invalid_argument,
               fmt::format("{} is of queued jobs, not of running ones; nothing was done", call));
}

/// Of the jobs of one name, those that are meant. Throws where a cancel does not say which.
void choose_phase(std::string_view call, JobPhase phase, std::vector<domain::ListedJob>& jobs) {
  const auto waits = [](const domain::ListedJob& job) { return is_waiting(job.view.state); };
  const auto waiting = std::ranges::count_if(jobs, waits);
  const bool has_both = waiting > 0 && waiting < std::ssize(jobs);
  if (phase == JobPhase::any && has_both) {
    throw Error(
        ErrorKind::conflict,
        fmt::format(
            "{}: one job {} runs, and another waits; nothing was done; say which is meant: queued or running",
            call, in_quotes(jobs.front().view.id)));
  }
  if (phase != JobPhase::any)
    std::erase_if(jobs, [&](const auto& job) { return waits(job) != (phase == JobPhase::queued); });
}

}  // namespace

Error several_jobs(std::string_view call, std::string_view queue, const std::string& id,
                   const KindsAndKeys& kinds_and_keys) {
  constexpr std::size_t kNamed = 10;
  std::string names;
  std::size_t left = kinds_and_keys.size();
  for (const auto& [kind, key] : kinds_and_keys) {
    if (kinds_and_keys.size() - left == kNamed) break;
    names += fmt::format("{}kind {} key {}", names.empty() ? "" : ", ", in_quotes(kind), in_quotes(key));
    --left;
  }
  if (left > 0) names += fmt::format(" and {} more", left);
  return Error(
      ErrorKind::conflict,
      fmt::format("{}: {} jobs of queue '{}' have the id {}: {}; nothing was done; name the kind and the key",
                  call, kinds_and_keys.size(), queue, in_quotes(id), names));
}

bool Admin::Impl::control(std::string_view name, const JobName& job, domain::EntryType type,
                          std::optional<Time> new_time) {
  if (job.id.empty()) throw Error(ErrorKind::invalid_argument, "a job needs an id");
  bool is_found = false;
  handle_->until_done(name, [&](const store::QueueDefinition& queue) {
    is_found = control(queue, job, type, new_time);
    return is_found;
  });
  return is_found;
}

bool Admin::Impl::control(const store::QueueDefinition& queue, const JobName& job, domain::EntryType type,
                          std::optional<Time> new_time) {
  KindsAndKeys found;
  std::optional<Time> expires;  // whatever its run_at
  const JobFilter filter{.id = job.id, .kind = job.kind, .key = job.key};
  const auto now = handle_->store().now();
  each_rebuilt(queue, rebuild_for(queue, filter), [&](const Rebuilt& rebuilt) {
    domain::each_fitting(rebuilt.machine, filter, now, [&](const FittingJob& each) {
      found.emplace(each.kind, each.job->key());
      const auto expiry = each.job->extra ? each.job->extra->options.expiry() : std::nullopt;
      if (expiry && !expiry->after) expires = expiry->at;
    });
  });
  if (found.empty()) return false;
  const auto* call = type == domain::EntryType::cancel ? "cancel"
                     : type == domain::EntryType::kill ? "kill"
                     : new_time                        ? "reschedule"
                                                       : "run-now";
  if (found.size() > 1) throw several_jobs(call, queue.name, job.id, found);
  // Its owner knows best what it does just now.
  const ListOrder order({}, handle_->options(queue.name), now);
  auto jobs = list(queue, filter, order, now);
  if (type != domain::EntryType::cancel) {
    if (job.phase == JobPhase::running) throw not_of_running(call);
    refuse_active(call, jobs, type == domain::EntryType::kill);
  } else {
    choose_phase(call, job.phase, jobs);
    if (job.phase != JobPhase::any && jobs.empty()) return false;
  }
  if (new_time && expires && *expires <= *new_time) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: job {} expires at {}, before it may start: {}; nothing was done", call,
                            in_quotes(job.id), format_time(*expires), format_time(*new_time)));
  }
  domain::Entry entry;
  entry.type = type;
  entry.id = job.id;
  if (type == domain::EntryType::cancel) entry.phase = job.phase;
  std::tie(entry.kind, entry.key) = *found.begin();
  if (new_time) {
    entry.run_at = written_time(*new_time);
    entry.options.replaces_time = true;
  }
  store::append_and_wait(
      handle_->store(), {{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}});
  return true;
}

std::optional<domain::ListedJob> Admin::Impl::waiting_job(std::string_view call,
                                                          const store::QueueDefinition& queue,
                                                          const JobName& job) {
  const auto now = handle_->store().now();
  const JobFilter filter{.id = job.id, .kind = job.kind, .key = job.key};
  auto jobs = list(queue, filter, ListOrder({}, handle_->options(queue.name), now), now);
  KindsAndKeys found;
  for (const auto& each : jobs) found.emplace(each.view.kind, each.view.key);
  if (found.size() > 1) throw several_jobs(call, queue.name, job.id, found);
  if (job.phase == JobPhase::running) throw not_of_running(call);
  refuse_active(call, jobs, /*alone=*/false);
  const auto waiting =
      std::ranges::find_if(jobs, [](const auto& each) { return is_waiting(each.view.state); });
  return waiting == jobs.end() ? std::nullopt : std::optional(std::move(*waiting));
}

std::uint64_t Admin::Impl::count_jobs(std::string_view name, const JobFilter& filter) {
  std::uint64_t count = 0;
  const auto queue = handle_->existing_queue(name);
  if (!queue) return count;
  const auto now = handle_->store().now();
  const auto active = active_now(*queue, filter);
  each_rebuilt(*queue, rebuild_for(*queue, filter), [&](const Rebuilt& rebuilt) {
    domain::each_fitting(rebuilt.machine, filter, now, [&](const FittingJob& each) {
      if (!active.contains({rebuilt.id, each.job->arrival()})) ++count;
    });
  });
  check_not_moved(*queue, "count");
  return count;
}

// The store says only what ran a second ago.
Admin::Impl::ActiveJobs Admin::Impl::active_now(const store::QueueDefinition& queue,
                                                const JobFilter& filter) {
  ActiveJobs active;
  if (!is_of_waiting(filter)) return active;
  const auto now = handle_->store().now();
  const domain::ListingWish wish{{.states = {JobStatus::running, JobStatus::awaiting},
                                  .id = filter.id,
                                  .kind = filter.kind,
                                  .key = filter.key},
                                 ListOrder({}, nullptr, now),
                                 now,
                                 domain::kMostRows};
  domain::JobListing listing(wish);
  ask_owners(shards_for(queue, filter), wish, listing);
  for (const auto& job : listing.take()) active.insert(job.asks.place);
  return active;
}

std::uint64_t Admin::Impl::control_all(std::string_view name, const JobFilter& filter,
                                       domain::EntryType type) {
  if (!is_of_waiting(filter)) {
    throw Error(ErrorKind::invalid_argument,
                "many jobs at once are due, scheduled or retrying ones: say which of these");
  }
  if (!handle_->existing_queue(name)) return 0;
  std::uint64_t changed = 0;
  handle_->until_done(name, [&](const store::QueueDefinition& queue) {
    control_all(queue, filter, type, changed);
    return false;
  });
  return changed;
}

void Admin::Impl::control_all(const store::QueueDefinition& queue, const JobFilter& filter,
                              domain::EntryType type, std::uint64_t& changed) {
  constexpr std::size_t kTogether = 1000;
  const auto now = handle_->store().now();
  const auto runs = active_now(queue, filter);
  each_rebuilt(queue, rebuild_for(queue, filter), [&](const Rebuilt& rebuilt) {
    using Name = std::tuple<std::string, std::string, std::string>;
    std::set<Name> kept;  // an owner kills none beside an active one of its name
    const auto is_active = [&](const domain::Job& job) {
      return job.place == domain::Place::running || job.place == domain::Place::awaiting ||
             runs.contains({rebuilt.id, job.arrival()});
    };
    rebuilt.machine.each_job([&](const domain::Job& job, const std::string& kind) {
      if (type == domain::EntryType::kill && is_active(job)) kept.emplace(kind, job.key(), job.id());
    });
    std::vector<store::NewEntry> entries;
    const auto append = [&] {
      const auto count = entries.size();
      if (count == 0) return;
      store::append_and_wait(handle_->store(), std::exchange(entries, {}));
      changed += count;
    };
    domain::each_fitting(rebuilt.machine, filter, now, [&](const FittingJob& each) {
      const bool is_kept = !kept.empty() && kept.contains(Name{each.kind, each.job->key(), each.job->id()});
      if (is_kept || is_active(*each.job)) return;
      domain::Entry entry;
      entry.type = type;
      if (type == domain::EntryType::cancel) entry.phase = JobPhase::queued;
      entry.kind = each.kind;
      entry.key = each.job->key();
      entry.id = each.job->id();
      entries.push_back({rebuilt.id, domain::encode(entry)});
      if (entries.size() == kTogether) append();
    });
    append();
  });
}

}  // namespace ordo
