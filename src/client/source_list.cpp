// Sources as people see and reset them: what the store has of them, and what waits at their origins.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>

#include "base/nearest.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "domain/source_row.h"
#include "sources/inlet.h"
#include "sources/queue_room.h"
#include "sources/sidekiq/look.h"
#include "sources/sidekiq/origin.h"
#include "sources/sidekiq/queue_names.h"

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

}  // namespace

std::vector<SourceView> Admin::Impl::sources() {
  std::vector<SourceView> views;
  for (const auto& options : handle_->config().sources) {
    SourceView view{.options = options, .origin = sources::origin_name(options)};
    std::string position;
    read_source_row(handle_->store(), view, position);
    if (view.trouble.empty()) look_at_origin(view, position);
    views.push_back(std::move(view));
  }
  return views;
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
  std::vector<std::string> names;
  for (const auto& options : handle_->config().sources) names.push_back(options.name);
  if (std::ranges::find(names, name) == names.end()) {
    throw Error(ErrorKind::invalid_argument,
                "this config has no source " + in_quotes(name) + "; " + nearest_hint(name, names));
  }
  const auto& options = *std::ranges::find(handle_->config().sources, name, &SourceOptions::name);
  for (int attempt = 0; attempt < kResetAttempts; ++attempt) {
    sources::Inlet inlet(handle_->store(), handle_->config(), std::string(name));
    auto next = inlet.row();
    if (sources::SidekiqOrigin::is_reset(next.position)) return;
    // It would stay until the server loses jobs, and then nobody would be told.
    if (!sources::look_at_sidekiq(options, next.position).is_behind)
      throw Error(ErrorKind::conflict,
                  "the source " + in_quotes(name) + " needs no reset: its server has lost nothing");
    next.position = sources::SidekiqOrigin::kEnd + next.position;
    if (inlet.append({}, std::move(next)) == sources::Inlet::Appended::done) return;
  }
  throw Error(ErrorKind::unavailable,
              "cannot reset the source " + in_quotes(name) + ": it goes on all the time, and needs no reset");
}

void Admin::Impl::examine_sources(std::vector<Finding>& findings) {
  for (const auto& view : sources()) {
    const auto& name = view.options.name;
    if (!view.trouble.empty()) {
      findings.push_back({.level = Finding::Level::bad,
                          .what = fmt::format("source '{}' takes nothing: {}", name, view.trouble),
                          .advice = "see docs/sidekiq.md; its jobs wait where they are",
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
           .name = name,
           .needs_person = true});
    }
    if (!view.is_taken && view.waiting > 0) {
      findings.push_back(
          {.level = Finding::Level::bad,
           .what = fmt::format("{} jobs wait for source '{}', and no node takes them", view.waiting, name),
           .advice = "start a node whose config has the source",
           .name = name,
           .needs_person = true});
    } else if (view.waiting > 0 && is_full(*handle_, view.options)) {
      findings.push_back(
          {.level = Finding::Level::warning,
           .what = fmt::format("source '{}' takes nothing more: {} jobs or more of its queues are due or run",
                               name, view.options.ahead),
           .advice =
               fmt::format("{} jobs wait at {} until there are fewer; add workers for {}, or raise ahead",
                           view.waiting, view.origin, fmt::join(sources::queue_names(view.options), ", ")),
           .name = name});
    } else if (view.others.empty()) {
      findings.push_back({Finding::Level::good,
                          fmt::format("source '{}' has taken {} jobs from {}; {} wait", name, view.taken,
                                      view.origin, view.waiting),
                          ""});
    }
  }
}

}  // namespace ordo
