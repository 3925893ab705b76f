// The dead set: what is in it, by job and by error; bringing back and deleting.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/json.h"
#include "base/time_text.h"
#include "faces/job_text.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

constexpr std::size_t kShownSkipped = 1000;

Response list_dead(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"id", "key", "kind", "error", "error_kind", "retry_count", "since", "until",
                               "sort", "desc", "limit", "cursor"});
  const auto page = page_of(call.target);
  auto filter = dead_filter_of(choice_of(call.target));
  if (const auto ids = call.target.all("id"); !ids.empty()) filter.ids = ids;
  const auto shape = [&](const JobView& job) { return whole_job_json(job, desk.config); };
  const Veil veil(desk.config.web);
  return page_of_views<JobView>(*page.limit, shape, [&](const auto& visit) {
    return desk.admin.dead_jobs(call.value(0), filter, listing_of(page), [&](JobView job) {
      veil.cover(job);
      return !veil.shows(job.error, filter.error) || visit(job);
    });
  });
}

struct Group {
  std::uint64_t count = 0;
  Time first{};
  Time last{};
};

Response dead_groups(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"limit", "cursor"});
  std::map<std::string, Group> groups;
  const Veil veil(desk.config.web);
  desk.admin.dead(call.value(0), {}, [&](DeadView dead) {
    veil.cover(dead);
    auto& group = groups[dead.error.substr(0, dead.error.find('\n'))];
    group.first = group.count == 0 ? dead.died_at : std::min(group.first, dead.died_at);
    group.last = std::max(group.last, dead.died_at);
    ++group.count;
    return true;
  });
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& each) { return each.second.count; });
  return page_of_list(call.target, sorted, [](const auto& each) {
    const auto& [error, group] = each;
    return fmt::format(R"({{"error":{},"count":{},"first":"{}","last":"{}"}})", json_string(error),
                       group.count, format_time(group.first), format_time(group.last));
  });
}

/// {"filter":{…},"as_of":…}: what it fits, with the moment up to which it does.
DeadCount counted(Desk& desk, const Call& call, const Json& body, DeadFilter& filter) {
  filter = dead_filter_of(
      choice_of(filter_of(body, {"kind", "key", "error", "error_kind", "retry_count", "since", "until"})));
  if (body.contains("as_of")) {
    const auto as_of = parse_time(body["as_of"].as_string());
    filter.until = filter.until ? std::min(*filter.until, as_of) : as_of;
  }
  Veil(desk.config.web).refuse_choice_by(filter.error);
  const auto there = desk.admin.count_dead(call.value(0), filter);
  if (!filter.until) filter.until = there.until;
  return there;
}

/// {"ids":[…]}, or {"filter":{…},"as_of":…,"count":N}: the number of payloads, as who says it knows what is
/// done.
DeadFilter chosen_of(Desk& desk, const Call& call, const Json& body) {
  if (body.contains("ids") == body.contains("filter"))
    throw Problem(400, "the body needs ids or a filter, one of the two; an empty filter fits all");
  DeadFilter filter;
  if (body.contains("ids")) {
    if (body.contains("count") || body.contains("as_of") || body.contains("dry_run"))
      throw Problem(400, "count, as_of and dry_run go with a filter; ids say themselves what is meant");
    filter.ids.emplace();
    for (std::size_t i = 0; i < body["ids"].size(); ++i) filter.ids->push_back(body["ids"][i].as_string());
    return filter;
  }
  const auto there = counted(desk, call, body, filter);
  if (whole_of(body, "count") != static_cast<std::int64_t>(there.payloads)) {
    throw Problem(409, fmt::format("{} payloads of {} jobs fit; with \"count\":{} it is done", there.payloads,
                                   there.jobs, there.payloads))
        .with("count", fmt::to_string(there.payloads))
        .with("as_of", json_string(format_time(*filter.until)));
  }
  return filter;
}

/// Of the given ids, those that no dead job has, as JSON.
std::string missing_of(Desk& desk, const std::string& queue, const DeadFilter& filter) {
  const auto missing = missing_ids(desk.admin, queue, filter);
  if (missing.empty()) return "[]";
  std::string names;
  for (const auto& id : missing) names += (names.empty() ? "" : ",") + name_json(id);
  if (missing.size() == filter.ids->size())
    throw Problem(404, "no dead job has one of these ids; nothing was done")
        .with("missing", '[' + names + ']');
  return '[' + names + ']';
}

Response change_dead(Desk& desk, const Call& call, bool retry) {
  refuse_unknown(call.target, {});
  const auto& queue = call.value(0);
  const auto body = body_of(call, {"ids", "filter", "as_of", "count", "dry_run"});
  if (is_dry_run(body) && body.contains("filter") && !body.contains("ids")) {
    DeadFilter wanted;
    const auto there = counted(desk, call, body, wanted);
    return {.body = fmt::format(R"({{"changed":0,"skipped":[],"missing":[],"count":{},"as_of":"{}"}})",
                                there.payloads, format_time(*wanted.until)) +
                    '\n'};
  }
  const auto filter = chosen_of(desk, call, body);
  const auto missing = missing_of(desk, queue, filter);
  std::string skipped;
  std::size_t count = 0;
  const auto note = [&](const SkippedRetry& job) {
    if (++count > kShownSkipped) return;
    skipped += fmt::format(R"({}{{"id":{},"existing":{}}})", skipped.empty() ? "" : ",", name_json(job.id),
                           name_json(job.existing));
  };
  auto admin = admin_of(desk, call);
  const auto changed = retry ? admin.retry_dead(queue, filter, note) : admin.delete_dead(queue, filter);
  return {.body =
              fmt::format("{{\"changed\":{},\"skipped\":[{}],\"missing\":{}}}\n", changed, skipped, missing)};
}

}  // namespace

void add_dead_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/queues/{queue}/dead", Needs::viewer,
                    "Dead jobs of a queue, with all their payloads",
                    [&](const Call& call) { return list_dead(desk, call); }});
  routes.push_back({"GET", "/api/v1/queues/{queue}/dead/groups", Needs::viewer,
                    "The dead by the first line of their error",
                    [&](const Call& call) { return dead_groups(desk, call); }});
  routes.push_back({"POST", "/api/v1/queues/{queue}/dead/retry", Needs::operator_,
                    "Bring dead jobs back, by ids or by a filter",
                    [&](const Call& call) { return change_dead(desk, call, true); }, kMostSmallBody});
  routes.push_back({"POST", "/api/v1/queues/{queue}/dead/delete", Needs::operator_,
                    "Delete dead jobs, by ids or by a filter",
                    [&](const Call& call) { return change_dead(desk, call, false); }, kMostSmallBody});
}

}  // namespace ordo::web
