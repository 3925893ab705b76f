// Jobs that live, and records of what has ended: lists, one, and what can be asked of them.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/shorten.h"
#include "faces/job_text.h"
#include "faces/job_traces.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

/// Visits what fits a filter, until the visitor has enough. Where some of it is not shown, as the text looked
/// for is covered there, it goes on behind that.
///
/// `ask(limit, after, visit)` visits so many behind a cursor, and returns the one of the last.
template <class View, class Ask>
Visited visit_shown(const Veil& veil, const std::string& error, const Page& page, const Ask& ask,
                    const std::function<bool(const View&)>& visit) {
  constexpr std::size_t kTimes = 8;  // each look may read the whole queue
  constexpr std::size_t kMostSeen = 10'000;
  Visited visited(page.after);
  std::size_t left = kMostSeen;
  for (std::size_t limit = *page.limit + 1;; limit = std::min(kTimes * limit, left)) {
    std::size_t seen = 0;
    bool goes_on = true;
    auto last = ask(limit, visited.cursor, [&](View view) {
      ++seen;
      veil.cover(view);
      goes_on = !veil.shows(view.error, error) || visit(view);
      return goes_on;
    });
    if (!last.empty()) visited.cursor = std::move(last);
    if (!goes_on || seen < limit) return visited;
    left -= std::min(left, seen);
    visited.is_cut = left == 0;
    if (visited.is_cut) return visited;
  }
}

Response list_jobs(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"state", "id", "key", "kind", "error", "error_kind", "retry_count", "since",
                               "until", "sort", "desc", "limit", "cursor"});
  const auto& queue = call.value(0);
  const auto state = call.target.find("state").value_or("");
  const auto id = call.target.find("id").value_or("");
  const auto page = page_of(call.target);
  const Veil veil(*desk.config);
  if (are_of_records(statuses_of(state))) {
    auto filter = record_filter_of(state, id, choice_of(call.target), page);
    const auto ask = [&](std::size_t limit, const std::string& after, const auto& visit) {
      filter.limit = limit;
      filter.after = after;
      return desk.admin.records(queue, filter, visit);
    };
    return page_of_views<RecordView>(*page.limit, record_json, [&](const auto& visit) {
      return visit_shown<RecordView>(veil, filter.error, page, ask, visit);
    });
  }
  auto filter = job_filter_of(state, id, choice_of(call.target), page);
  const auto ask = [&](std::size_t limit, const std::string& after, const auto& visit) {
    filter.limit = limit;
    filter.listing.after = after;
    return desk.admin.jobs(queue, filter, visit);
  };
  return page_of_views<JobView>(*page.limit, job_json, [&](const auto& visit) {
    return visit_shown<JobView>(veil, filter.error, page, ask, visit);
  });
}

JobName job_of(const Call& call, const std::string& id) {
  return {.id = id,
          .kind = call.target.find("kind").value_or(""),
          .key = call.target.find("key").value_or(""),
          .phase = phase_of(call.target.find("state").value_or(""))};
}

[[noreturn]] void refuse_missing(const std::string& queue, const std::string& id, std::string_view why) {
  throw Problem(404, fmt::format("no job {} in {}: {}", in_quotes(id), queue, why));
}

}  // namespace

// Those that live are looked for first: what ends meanwhile is among the records.
Response one_job(Desk& desk, const Call& call, const std::string& id) {
  refuse_unknown(call.target, {"kind", "key"});
  const auto& queue = call.value(0);
  const auto name = job_of(call, id);
  const JobFilter filter{
      .states = {kJobStates.begin(), kJobStates.end()}, .id = name.id, .kind = name.kind, .key = name.key};
  auto jobs = desk.admin.jobs(queue, filter);
  auto traces = read_traces(desk.admin, queue, name);
  const auto config = desk.config->now();
  const Veil veil(*desk.config);
  std::vector<std::string> items;
  for (auto& job : jobs) {
    auto attempts = attempts_of(job, traces);
    veil.cover(attempts, job.payloads);
    veil.cover(job);
    items.push_back(whole_job_json(job, *config, attempts));
  }
  for (auto& trace : traces.ended) {
    veil.cover(trace);
    items.push_back(trace_json(trace));
  }
  if (items.empty())
    refuse_missing(queue, id, "it was never pushed, or has ended and no record of it is kept (any more)");
  return list_of(items, [](const std::string& json) { return json; });
}

namespace {

/// What one job is asked for. Where several fit, the message names them.
template <class Ask>
Response ask_job(const Call& call, const Ask& ask,
                 std::initializer_list<std::string_view> known = {"kind", "key", "state"}) {
  refuse_unknown(call.target, known);
  const auto& id = call.value(1);
  const bool is_there = ask(call.value(0), job_of(call, id));
  if (!is_there)
    refuse_missing(call.value(0), id,
                   "none is queued or runs, or not in the state that is meant; nothing was done");
  return {.status = 202, .body = "{\"requested\":1}\n"};
}

Response reschedule(Desk& desk, const Call& call) {
  const auto body = body_of(call, {"run_at"});
  if (!body.contains("run_at"))
    throw Problem(400, "the body needs run_at: RFC 3339, Unix seconds, or \"+2h\"");
  const auto run_at = body["run_at"];
  const auto at = moment_of(run_at.is_number() ? run_at.dump() : run_at.as_string());
  return ask_job(call, [&](const auto& queue, const JobName& job) {
    return admin_of(desk, call).reschedule(queue, job, at);
  });
}

Response edit(Desk& desk, const Call& call) {
  const auto edit = edit_of(call);
  return ask_job(call,
                 [&](const auto& queue, const JobName& job) {
                   return admin_of(desk, call).edit(queue, job, edit.payload, edit.score);
                 },
                 {"kind", "key", "state", "score"});
}

/// {"filter":{…},"count":N}: who says how many there are knows what is done. "dry_run":true instead of a
/// count: nothing is done, and the answer is that number.
Response change_many(Desk& desk, const Call& call, JobChange change) {
  const auto body = body_of(call, {"filter", "count", "dry_run"});
  const auto& queue = call.value(0);
  const auto wanted =
      filter_of(body, {"state", "id", "kind", "key", "error", "error_kind", "retry_count", "since", "until"});
  const auto filter = job_filter_of(text_of(wanted, "state"), text_of(wanted, "id"), choice_of(wanted), {});
  if (!are_of_waiting(filter.states))
    throw Problem(400, "the filter needs a state: due, scheduled, retrying, or queued for all three");
  Veil(*desk.config).refuse_choice_by(filter.error);
  const auto there = desk.admin.count_jobs(queue, filter);
  if (is_dry_run(body))
    return {.status = 202, .body = fmt::format("{{\"requested\":0,\"count\":{}}}\n", there)};
  refuse_other_count(body, there);
  const auto changed = there == 0 ? 0 : admin_of(desk, call).change_jobs(queue, filter, change);
  return {.status = 202, .body = fmt::format("{{\"requested\":{}}}\n", changed)};
}

}  // namespace

void add_job_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/queues/{queue}/jobs", Needs::viewer,
                    "Jobs of a queue in the order they would start, or records",
                    [&](const Call& call) { return list_jobs(desk, call); }});
  routes.push_back({"GET", "/api/v1/queues/{queue}/jobs/{id}", Needs::viewer,
                    "One job, and what is kept of its ended runs",
                    [&](const Call& call) { return one_job(desk, call, call.value(1)); }});
  const auto add_verb = [&](std::string_view path, std::string_view what,
                            bool (Admin::*ask)(std::string_view, const JobName&)) {
    routes.push_back({"POST", path, Needs::operator_, what, [&desk, ask](const Call& call) {
                        return ask_job(call, [&](const auto& queue, const JobName& job) {
                          auto admin = admin_of(desk, call);
                          return (admin.*ask)(queue, job);
                        });
                      }});
  };
  add_verb("/api/v1/queues/{queue}/jobs/{id}/cancel", "End a queued or running job", &Admin::cancel);
  add_verb("/api/v1/queues/{queue}/jobs/{id}/run-now", "Make a waiting job due", &Admin::run_now);
  add_verb("/api/v1/queues/{queue}/jobs/{id}/kill", "Move a waiting job to the dead set", &Admin::kill);
  routes.push_back({"POST", "/api/v1/queues/{queue}/jobs/{id}/reschedule", Needs::operator_,
                    "Give a waiting job another time: {\"run_at\"}",
                    [&](const Call& call) { return reschedule(desk, call); }, kMostSmallBody});
  routes.push_back({"PUT", "/api/v1/queues/{queue}/jobs/{id}/payload", Needs::operator_,
                    "Replace a payload of a waiting job by the body",
                    [&](const Call& call) { return edit(desk, call); }, kMostPayloadBody});
  const auto add_bulk = [&](std::string_view path, std::string_view what, JobChange change) {
    routes.push_back({"POST", path, Needs::operator_, what,
                      [&desk, change](const Call& call) { return change_many(desk, call, change); },
                      kMostSmallBody});
  };
  add_bulk("/api/v1/queues/{queue}/jobs/cancel", "End all waiting jobs that fit a filter", JobChange::cancel);
  add_bulk("/api/v1/queues/{queue}/jobs/run-now", "Make all waiting jobs due that fit a filter",
           JobChange::run_now);
  add_bulk("/api/v1/queues/{queue}/jobs/kill", "Move all waiting jobs that fit a filter to the dead set",
           JobChange::kill);
}

}  // namespace ordo::web
