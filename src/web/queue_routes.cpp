// What there is of queues and counts, and pausing, resuming and removing them.
#include <algorithm>

#include <fmt/format.h>

#include "base/shorten.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

constexpr std::int64_t kMostShards = 65'536;

Response stats(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"queue"});
  return {.body = stats_json(seen_stats(desk, call, call.target.all("queue"))) + '\n'};
}

QueueView find_queue(Desk& desk, const std::string& name) {
  auto queues = desk.admin.queues();
  const auto found = std::ranges::find(queues, name, &QueueView::name);
  if (found == queues.end()) throw Problem(404, fmt::format("no queue is named {}", in_quotes(name)));
  return std::move(*found);
}

/// Which definition it has, and what was asked of it: one that pauses is paused.
std::string tag_of(const QueueView& queue) {
  const auto state = queue.state == QueueState::pausing ? QueueState::paused : queue.state;
  return fmt::format("{}-{}", queue.number, to_string(state));
}

/// Before a change, for who says by If-Match what was seen.
void refuse_changed(Desk& desk, const Call& call) {
  const auto seen = seen_of(call.request);
  if (!seen) return;
  const auto now = tag_of(find_queue(desk, call.value(0)));
  if (now != *seen)
    throw Problem(412, fmt::format("queue '{}' has changed since: its ETag is \"{}\", not \"{}\"; look again",
                                   call.value(0), now, *seen));
}

Response one_queue(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  const auto& name = call.value(0);
  const auto queue = find_queue(desk, name);
  auto limits = desk.admin.limits();
  std::erase_if(limits, [&](const LimitView& limit) {
    return limit.name != name && !limit.name.starts_with(name + ' ');
  });
  auto text = queue_json(queue);
  text.pop_back();
  const auto counts = desk.admin.stats({name});
  return {
      .body = fmt::format("{},\"counts\":{},\"limits\":{}}}\n", text,
                          queue_counts_json(counts.by_queue.at(0).second), json_array(limits, limit_json)),
      .headers = {{"ETag", '"' + tag_of(queue) + '"'}}};
}

Response remove_queue(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"with_jobs"});
  const auto jobs =
      flag_of(call.target, "with_jobs") ? Admin::RemoveJobs::with_jobs : Admin::RemoveJobs::refuse;
  const auto& name = call.value(0);
  refuse_changed(desk, call);
  if (!admin_of(desk, call).remove(name, jobs))
    throw Problem(409,
                  fmt::format("{} still has jobs or dead payloads; ?with_jobs=true removes them, too", name));
  return {.body = "{\"removed\":true}\n"};
}

Response change_queue(Desk& desk, const Call& call, bool (Admin::*change)(std::string_view)) {
  refuse_unknown(call.target, {});
  refuse_changed(desk, call);
  auto admin = admin_of(desk, call);
  const bool is_new = (admin.*change)(call.value(0));
  return {.body = fmt::format("{{\"changed\":{}}}\n", is_new)};
}

/// Answers when it is done: whoever asks waits, or asks again after a stop.
Response reshard(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  const auto body = body_of(call, {"shards"});
  const auto& queue = call.value(0);
  refuse_unknown_queue(desk, queue);
  const auto shards = whole_of(body, "shards").value_or(0);
  if (shards < 1 || shards > kMostShards)
    throw Problem(400, fmt::format("the body needs shards: a number from 1 to {}", kMostShards));
  refuse_changed(desk, call);
  const auto result = admin_of(desk, call).reshard(queue, static_cast<std::uint32_t>(shards));
  return {.body = reshard_json(queue, result) + '\n'};
}

}  // namespace

void add_queue_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/stats", Needs::viewer,
                    "The counts of every queue, or of those named by ?queue=", [&](const Call& call) {
                      return stats(desk, call);
                    }});
  routes.push_back({"GET", "/api/v1/queues", Needs::viewer, "The queues of the store", [&](const Call& call) {
                      refuse_unknown(call.target, {});
                      return list_of(seen_queues(desk, call), queue_json);
                    }});
  routes.push_back({"GET", "/api/v1/queues/{queue}", Needs::viewer,
                    "One queue: its shards, state, counts and limits",
                    [&](const Call& call) { return one_queue(desk, call); }});
  routes.push_back({"DELETE", "/api/v1/queues/{queue}", Needs::admin,
                    "Remove a queue; ?with_jobs=true: also if it has jobs",
                    [&](const Call& call) { return remove_queue(desk, call); }});
  routes.push_back({"POST", "/api/v1/queues/{queue}/pause", Needs::operator_,
                    "Start no more jobs of a queue, on any node",
                    [&](const Call& call) { return change_queue(desk, call, &Admin::pause); }});
  routes.push_back({"POST", "/api/v1/queues/{queue}/reshard", Needs::admin,
                    "Change the number of a queue's shards: {\"shards\"}; answers when it is done",
                    [&](const Call& call) { return reshard(desk, call); }, kMostSmallBody});
  routes.push_back({"POST", "/api/v1/queues/{queue}/resume", Needs::operator_,
                    "Start jobs of a paused queue again",
                    [&](const Call& call) { return change_queue(desk, call, &Admin::resume); }});
}

}  // namespace ordo::web
