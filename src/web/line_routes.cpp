// What stands in line: the jobs of one key with what holds them, and when windows open.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/push_option.h"
#include "base/time_text.h"
#include "faces/object_text.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

constexpr std::size_t kMostLinks = 10;  // of a chain of holders

std::optional<JobView> first_of(Admin& admin, const std::string& queue, JobFilter filter) {
  filter.limit = 1;
  std::optional<JobView> first;
  admin.jobs(queue, filter, [&](JobView job) {
    first = std::move(job);
    return false;
  });
  return first;
}

/// The queues of those that hold a limit or a lock and have that id.
std::vector<std::string> queues_of_holder(Desk& desk, const std::string& queue, const WaitsFor& reason) {
  std::vector<std::string> queues;
  const auto add = [&](const std::vector<GateHolder>& holders) {
    for (const GateHolder& holder : holders) {
      if (holder.id == reason.held_by.front()) queues.push_back(holder.queue);
    }
  };
  if (reason.what == Gate::lock) {
    const auto config = desk.config->now();
    const auto* rules = config->find(queue);
    const auto& name = rules != nullptr && !rules->lock_name.empty() ? rules->lock_name : queue;
    for (const LockView& lock : desk.admin.locks()) {
      if (lock.name == name && lock.key == reason.name) add(lock.held_by);
    }
  } else if (reason.what == Gate::limit) {
    for (const LimitView& limit : desk.admin.limits()) {
      const auto name = limit.partition.empty() ? limit.name : limit.name + ": " + limit.partition;
      if (name == reason.name) add(limit.held_by);
    }
  }
  return queues;
}

/// The job that holds what another one waits for. `held_by` names the job's own queue first.
std::optional<JobView> holder_of(Desk& desk, const Call& call, const JobView& job, const WaitsFor& reason) {
  auto queues = queues_of_holder(desk, job.queue, reason);
  const bool is_own = queues.empty() || std::ranges::find(queues, job.queue) != queues.end();
  const auto& queue = is_own ? job.queue : queues.front();
  if (!call.sees(queue)) return std::nullopt;
  JobFilter filter{.id = reason.held_by.front()};
  if (reason.what == Gate::key) filter.key = job.key;
  auto holding = filter;
  holding.states = {JobStatus::running, JobStatus::awaiting};
  if (auto holder = first_of(desk.admin, queue, holding)) return holder;
  return first_of(desk.admin, queue, filter);  // it has a place in the line that is kept for it
}

/// Who holds what the first job of a line waits for, who holds what that one waits for, and so on: the last
/// is the cause. A holder in a queue that the caller does not see ends it.
std::vector<JobView> chain_of(Desk& desk, const Call& call, const JobView& first) {
  std::vector<JobView> chain{first};
  std::set<std::pair<std::string, std::string>> seen{{first.queue, first.id}};
  while (chain.size() < kMostLinks) {
    const auto& reasons = chain.back().waits_for;
    const auto held =
        std::ranges::find_if(reasons, [](const WaitsFor& reason) { return !reason.held_by.empty(); });
    if (held == reasons.end()) break;
    auto holder = holder_of(desk, call, chain.back(), *held);
    if (!holder || !seen.emplace(holder->queue, holder->id).second) break;
    chain.push_back(*std::move(holder));
  }
  return chain;
}

Response line_of_key(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"limit", "cursor"});
  const auto& queue = call.value(0);
  const auto& key = call.value(1);
  const auto page = page_of(call.target);
  refuse_unknown_queue(desk, queue);
  const JobFilter line{.key = key, .limit = *page.limit + 1, .listing = listing_of(page)};
  const Veil veil(*desk.config);
  std::string items;
  std::optional<JobView> first;
  std::size_t found = 0;
  bool has_more = false;
  const auto cursor = desk.admin.jobs(queue, line, [&](JobView job) {
    has_more = ++found > *page.limit || items.size() > kMostPageBytes;
    if (has_more) return false;
    veil.cover(job);
    items += (items.empty() ? "" : ",\n") + job_json(job);
    if (!first) first = std::move(job);
    return true;
  });
  // Of a later page the first job of the line is not known, and neither is what holds it.
  auto chain = first && page.after.empty() ? chain_of(desk, call, *first) : std::vector<JobView>{};
  for (JobView& job : chain) veil.cover(job);
  ObjectText object;
  object.text("queue", queue).name("key", key).raw("items", '[' + items + ']');
  object.text_or_null("next", has_more ? cursor : "").raw("total", "null");
  object.raw("chain", array_of(chain, [](std::string& out, const JobView& job) { out += job_json(job); }));
  return {.body = object.end() + '\n'};
}

/// `end`: how far it was looked. An opening that never ends is shown up to there.
std::string window_view_json(const WindowView& view, Time end) {
  const bool never = view.openings.empty();
  ObjectText object;
  object.raw("kind", view.kind.empty() ? "null" : name_json(view.kind));
  object.raw("windows", windows_json(view.windows)).flag("open", view.open).flag("never_opens", never);
  const bool is_always = view.windows.empty();
  const auto next = view.open && view.openings.size() > 1 ? view.openings[1] : std::pair<Time, Time>{};
  const auto opens = view.open ? next.first : (never ? Time{} : view.openings[0].first);
  object.text_or_null("opens", opens == Time{} || is_always ? "" : format_time(opens));
  const bool closes = view.open && !is_always && view.openings[0].second != Time::max();
  object.text_or_null("closes", closes ? format_time(view.openings[0].second) : "");
  object.raw("openings", array_of(view.openings, [&](std::string& out, const auto& span) {
               const auto until = span.second == Time::max() ? std::max(span.first, end) : span.second;
               out += ObjectText().time("from", span.first).time("until", until).end();
             }));
  return object
      .raw("clock_changes", array_of(view.clock_changes,
                                     [](std::string& out, Time at) { out += json_string(format_time(at)); }))
      .end();
}

Response windows_of(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"ahead"});
  const auto& queue = call.value(0);
  const auto ahead = parse_duration(call.target.find("ahead").value_or("24h"));
  if (ahead > std::chrono::hours{24 * 31}) throw Problem(400, "ahead is 31d at most");
  const auto views = desk.admin.windows(queue, ahead);
  const auto counts = desk.admin.stats({queue}).by_queue.at(0).second;
  ObjectText object;
  object.text("queue", queue)
      .text("ahead", format_duration(ahead))
      .number("waiting", counts.blocked_by_window);
  const auto end = system_clock().wall() + ahead;
  object.raw("items", array_of(views, [&](std::string& out, const WindowView& view) {
               out += window_view_json(view, end);
             }));
  return {.body = object.end() + '\n'};
}

}  // namespace

void add_line_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/queues/{queue}/keys/{key}", Needs::viewer,
                    "The jobs of one key in the order in which they start, and what holds up the first",
                    [&](const Call& call) { return line_of_key(desk, call); }});
  routes.push_back({"GET", "/api/v1/queues/{queue}/windows", Needs::viewer,
                    "When jobs of a queue may start: openings from now on, 24 hours or ?ahead=",
                    [&](const Call& call) { return windows_of(desk, call); }});
}

}  // namespace ordo::web
