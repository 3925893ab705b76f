// Sources as people see and reset them: what the store has of them, and what waits at their origins.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>
#include <ordo/sidekiq.hpp>

#include "base/nearest.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "domain/records.h"
#include "domain/source_row.h"
#include "sources/inlet.h"
#include "sources/queue_room.h"
#include "sources/sidekiq/look.h"
#include "sources/sidekiq/origin.h"
#include "sources/sidekiq/queue_names.h"
#include "store/shard_states.h"

namespace ordo {
namespace {

constexpr int kResetAttempts = 100;  // that the source was faster

void read_source_row(store::Store& store, SourceView& view, std::string& position) {
  const auto bytes = store.wait_row(domain::kSourceRows, view.options.name);
  if (!bytes) return;
  const auto row = domain::decode_source_row(*bytes);
  if (!row) {
    view.trouble = "how far it is cannot be read: " + row.why();
    return;
  }
  position = row->position;
  view.taken = row->taken;
  view.refused = row->refused;
  if (row->at != Time{}) view.last = row->at;
}

void look_at_origin(SourceView& view, const std::string& position) {
  try {
    const auto look = sources::look_at_sidekiq(view.options, position);
    view.waiting = look.waiting;
    view.lag = look.lag;
    view.is_taken = look.is_taken;
    view.others = look.others;
    if (look.is_behind)
      view.trouble =
          "its server has lost jobs that were taken: see its node's log, then `ordo sources reset " +
          view.options.name + "`";
  } catch (const Error& error) {
    view.trouble = error.what();
  }
}

bool is_full(StoreHandle& handle, const SourceOptions& options) {
  return sources::QueueRoom(handle.store(), handle.clock(), sources::queue_names(options), options.ahead)
             .left() == 0;
}

using CountsBySource = std::map<std::pair<std::string, std::string>, std::uint64_t>;

/// Failed jobs that wait to be brought to the origin of their source, by queue and the name of the source.
CountsBySource hand_overs_by_source(store::Store& store) {
  std::map<std::uint32_t, std::string> queues;
  for (const auto& queue : store.queues().queues) queues[queue.number] = queue.name;
  CountsBySource counts;
  for (const auto& row : store.shards()) {
    const auto queue = queues.find(row.shard.queue);
    if (queue == queues.end() || domain::decode_counts(row.counts).or_empty().hand_overs == 0) continue;
    for (const auto& facts : store.load(std::span(&row.shard, 1))) {
      for (const auto& [seq, state] : store::read_states(facts.states).jobs) {
        if (state.hand_over) ++counts[{queue->second, state.hand_over.source}];
      }
    }
  }
  return counts;
}

/// Takes those out that the source brings; of Resque none does.
std::uint64_t take_hand_overs(CountsBySource& counts, const SourceOptions& source) {
  std::uint64_t taken = 0;
  if (source.dialect == sidekiq::Dialect::resque) return taken;
  for (const auto& queue : sources::queue_names(source)) {
    if (const auto found = counts.extract({queue, source.name}); !found.empty()) taken += found.mapped();
  }
  return taken;
}

std::string failed_jobs_wait(std::uint64_t count) {
  return fmt::format("{} failed {}", count, count == 1 ? "job waits" : "jobs wait");
}

Finding without_source(const std::string& queue, const std::string& name, std::uint64_t count) {
  return {.level = Finding::Level::bad,
          .what = fmt::format("{} for source '{}' to bring them from queue '{}' into Sidekiq's set of "
                              "retries, and this config has no such source of the queue",
                              failed_jobs_wait(count), name, queue),
          .advice = fmt::format("give a source of Sidekiq or Verk the name '{}' again, with the queue '{}'",
                                name, queue),
          .about = Finding::About::source,
          .queue = queue,
          .name = name,
          .effect = failed_jobs_wait(count),
          .jobs = count,
          .needs_person = true};
}

/// Takes out of `waiting` what they bring.
std::vector<SourceView> look_at_sources(StoreHandle& handle, CountsBySource& waiting) {
  std::vector<SourceView> views;
  for (const auto& options : handle.config().sources) {
    SourceView view{.options = options, .origin = sources::origin_name(options)};
    std::string position;
    read_source_row(handle.store(), view, position);
    if (view.trouble.empty()) look_at_origin(view, position);
    view.is_full = view.is_taken && is_full(handle, options);
    view.hand_overs = take_hand_overs(waiting, options);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace

std::vector<SourceView> Admin::Impl::sources() {
  auto waiting = hand_overs_by_source(handle_->store());
  return look_at_sources(*handle_, waiting);
}

std::vector<SourceCounts> Admin::Impl::source_counts() {
  std::vector<SourceCounts> all;
  for (const auto& options : handle_->config().sources) {
    SourceView view{.options = options};
    std::string position;
    read_source_row(handle_->store(), view, position);
    auto& counts =
        all.emplace_back(SourceCounts{.name = options.name, .taken = view.taken, .last = view.last});
    for (const auto& [why, count] : view.refused) counts.refused += count;
  }
  return all;
}

void Admin::Impl::reset_source(std::string_view name) {
  const auto& all = handle_->config().sources;
  const auto options = std::ranges::find(all, name, &SourceOptions::name);
  if (options == all.end()) {
    std::vector<std::string> names;
    for (const auto& each : all) names.push_back(each.name);
    throw Error(ErrorKind::invalid_argument,
                "this config has no source " + in_quotes(name) + "; " + nearest_hint(name, names));
  }
  for (int attempt = 0; attempt < kResetAttempts; ++attempt) {
    sources::Inlet inlet(handle_->store(), handle_->config(), std::string(name));
    auto next = inlet.row();
    if (sources::SidekiqOrigin::is_reset(next.position)) return;
    // It would stay until the server loses jobs, and then nobody would be told.
    if (!sources::look_at_sidekiq(*options, next.position).is_behind)
      throw Error(ErrorKind::conflict,
                  "the source " + in_quotes(name) + " needs no reset: its server has lost nothing");
    next.position = sources::SidekiqOrigin::kEnd + next.position;
    if (inlet.append({}, std::move(next)) == sources::Inlet::Appended::done) return;
  }
  throw Error(ErrorKind::unavailable,
              "cannot reset the source " + in_quotes(name) + ": it goes on all the time, and needs no reset");
}

void Admin::Impl::examine_sources(std::vector<Finding>& findings) {
  auto left = hand_overs_by_source(handle_->store());
  for (const auto& view : look_at_sources(*handle_, left)) {
    const auto& name = view.options.name;
    if (view.hand_overs > 0 && (!view.is_taken || !view.trouble.empty())) {
      findings.push_back(
          {.level = Finding::Level::bad,
           .what = fmt::format("{} for source '{}' to bring them into Sidekiq's set of retries",
                               failed_jobs_wait(view.hand_overs), name),
           .advice = "the node that takes jobs for it does so: start one, or mend what it says of Redis",
           .about = Finding::About::source,
           .name = name,
           .effect = failed_jobs_wait(view.hand_overs),
           .jobs = view.hand_overs,
           .needs_person = true});
    }
    if (!view.trouble.empty()) {
      findings.push_back({.level = Finding::Level::bad,
                          .what = fmt::format("source '{}' takes nothing: {}", name, view.trouble),
                          .advice = "see docs/sidekiq.md; its jobs wait where they are",
                          .about = Finding::About::source,
                          .name = name,
                          .needs_person = true});
      continue;
    }
    if (!view.others.empty()) {
      findings.push_back(
          {.level = Finding::Level::warning,
           .what = fmt::format("Sidekiq takes jobs from lists of source '{}', too: {}", name,
                               fmt::join(view.others, ", ")),
           .advice = fmt::format("each job goes to one of the two, and order is lost: let it leave {} alone",
                                 fmt::join(view.options.queues, ", ")),
           .about = Finding::About::source,
           .name = name,
           .needs_person = true});
    }
    if (!view.is_taken && view.waiting > 0) {
      findings.push_back(
          {.level = Finding::Level::bad,
           .what = fmt::format("{} jobs wait for source '{}', and no node takes them", view.waiting, name),
           .advice = "start a node whose config has the source",
           .about = Finding::About::source,
           .name = name,
           .needs_person = true});
    } else if (view.waiting > 0 && view.is_full) {
      findings.push_back(
          {.level = Finding::Level::warning,
           .what = fmt::format("source '{}' takes nothing more: {} jobs or more of its queues are due or run",
                               name, view.options.ahead),
           .advice =
               fmt::format("{} jobs wait at {} until there are fewer; add workers for {}, or raise ahead",
                           view.waiting, view.origin, fmt::join(sources::queue_names(view.options), ", ")),
           .about = Finding::About::source,
           .name = name});
    } else if (view.others.empty()) {
      findings.push_back({Finding::Level::good,
                          fmt::format("source '{}' has taken {} jobs from {}; {} wait", name, view.taken,
                                      view.origin, view.waiting),
                          ""});
    }
  }
  for (const auto& [of, count] : left) findings.push_back(without_source(of.first, of.second, count));
}

}  // namespace ordo
