// The dead set: what is in it, by job and by error; bringing back and deleting.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/fnv.h"
#include "base/json.h"
#include "base/shorten.h"
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
  const auto config = desk.config->now();
  const auto shape = [&](const JobView& job) { return whole_job_json(job, *config); };
  const Veil veil(*desk.config);
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
  std::optional<std::string> error{};  ///< the first line of it; nothing: it is to be read again
};

/// The dead of a queue by the first line of their error. There may be as many lines as dead, of 16 KiB each:
/// 64 bits of each are kept, and of some the whole.
class Groups {
 public:
  Groups(Desk& desk, const std::string& queue) : desk_(desk), queue_(queue), veil_(*desk.config) {
    each_line([&](std::string_view line, Time died_at) {
      auto& group = groups_[fnv1a(line)];
      group.first = group.count == 0 ? died_at : std::min(group.first, died_at);
      group.last = std::max(group.last, died_at);
      if (group.count++ == 0 && room_ >= line.size()) {
        room_ -= line.size();
        group.error = line;
      }
    });
    for (auto& [hash, group] : groups_) sorted_.push_back(&group);
    std::ranges::sort(sorted_, [](const Group* a, const Group* b) {
      return std::tie(b->count, a->first, a->last) < std::tie(a->count, b->first, b->last);
    });
  }

  const std::vector<Group*>& sorted() const { return sorted_; }

  /// Of those that lack it.
  void read_lines(std::span<Group* const> some) {
    std::set<const Group*> wanted;
    for (Group* group : some) {
      if (!group->error) wanted.insert(group);
    }
    if (wanted.empty()) return;
    each_line([&](std::string_view line, Time) {
      const auto found = groups_.find(fnv1a(line));
      if (found == groups_.end() || !wanted.contains(&found->second)) return;
      found->second.error = line;
      wanted.erase(&found->second);
    });
  }

 private:
  template <class Visit>
  void each_line(const Visit& visit) {
    desk_.admin.dead(queue_, {}, [&](DeadView dead) {
      veil_.cover(dead);
      visit(std::string_view(dead.error).substr(0, dead.error.find('\n')), dead.died_at);
      return true;
    });
  }

  Desk& desk_;
  const std::string& queue_;
  const Veil veil_;
  std::unordered_map<std::uint64_t, Group> groups_;
  std::vector<Group*> sorted_;
  std::size_t room_ = 8U << 20;  ///< for lines that are kept
};

Response dead_groups(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"limit", "cursor"});
  Groups groups(desk, call.value(0));
  const auto& all = groups.sorted();
  const auto first = place_behind(call.target.find("cursor").value_or(""), all.size());
  const auto limit = limit_of(call.target, kMostListed, kMostListed);
  groups.read_lines(std::span(all).subspan(first, std::min<std::size_t>(limit, all.size() - first)));
  return page_of_list(call.target, all, [](const Group* group) {
    return fmt::format(R"({{"error":{},"count":{},"first":"{}","last":"{}"}})",
                       json_string(group->error.value_or("")), group->count, format_time(group->first),
                       format_time(group->last));
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
  Veil(*desk.config).refuse_choice_by(filter.error);
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

Response edit_dead(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"kind", "key", "score"});
  const auto edit = edit_of(call);
  const JobName job{.id = call.value(1),
                    .kind = call.target.find("kind").value_or(""),
                    .key = call.target.find("key").value_or("")};
  if (!admin_of(desk, call).edit_dead(call.value(0), job, edit.payload, edit.score))
    throw Problem(404,
                  fmt::format("no dead job {} in {}; nothing was done", in_quotes(job.id), call.value(0)));
  return {.body = "{\"changed\":1,\"skipped\":[],\"missing\":[]}\n"};
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
  routes.push_back({"PUT", "/api/v1/queues/{queue}/dead/{id}/payload", Needs::operator_,
                    "Bring a dead payload back with the body in its place",
                    [&](const Call& call) { return edit_dead(desk, call); }, kMostPayloadBody});
  routes.push_back({"POST", "/api/v1/queues/{queue}/dead/delete", Needs::operator_,
                    "Delete dead jobs, by ids or by a filter",
                    [&](const Call& call) { return change_dead(desk, call, false); }, kMostSmallBody});
}

}  // namespace ordo::web
