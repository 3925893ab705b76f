// Jobs as `push --ndjson` reads them back, as many as there are.
#include <atomic>
#include <memory>

#include <fmt/format.h>

#include "faces/export_line.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

constexpr int kMostExports = 8;           // each holds a thread of those that answer
constexpr std::size_t kSent = 64U << 10;  // bytes at a time

/// One of the exports that may run at a time.
class Turn {
 public:
  explicit Turn(std::shared_ptr<std::atomic<int>> running) : running_(std::move(running)) {
    if (++*running_ <= kMostExports) return;
    --*running_;
    throw Problem(429, fmt::format("{} exports run already; ask again when one has ended", kMostExports))
        .header("Retry-After", "10");
  }
  ~Turn() { --*running_; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::shared_ptr<std::atomic<int>> running_;
};

/// Lines on their way, some at a time.
class Lines {
 public:
  explicit Lines(const SendPiece& send) : send_(send) {}

  /// False: nobody takes them any more.
  bool add(const std::string& lines) {
    text_ += lines;
    return text_.size() < kSent || flush();
  }
  bool flush() {
    const bool is_taken = text_.empty() || send_(text_);
    text_.clear();
    return is_taken;
  }

 private:
  const SendPiece& send_;
  std::string text_;
};

Response attachment(const std::string& name, Download download) {
  return {.type = "application/x-ndjson",
          .headers = {{"Content-Disposition", fmt::format("attachment; filename=\"{}.ndjson\"", name)},
                      {"Vary", "Accept"}},
          .download = std::move(download)};
}

/// Who asks for JSON means the job of that name: exports are none.
bool wants_job(const Request& request) {
  const auto wanted = lower(request.header("accept"));
  const auto has = [&](std::string_view type) { return wanted.find(type) != std::string::npos; };
  return has("application/json") && !has("*/*") && !has("application/x-ndjson");
}

Response export_jobs(Desk& desk, const Call& call, const std::shared_ptr<std::atomic<int>>& running) {
  if (wants_job(call.request)) return one_job(desk, call, "export");
  refuse_unknown(call.target,
                 {"state", "id", "key", "kind", "error", "error_kind", "retry_count", "since", "until"});
  const auto& queue = call.value(0);
  refuse_unknown_queue(desk, queue);
  const auto filter = job_filter_of(call.target.find("state").value_or(""),
                                    call.target.find("id").value_or(""), choice_of(call.target), {});
  for (const auto state : filter.states) {
    if (state == JobStatus::dead)
      throw Problem(400, fmt::format("the dead are exported at /api/v1/queues/{}/dead/export", queue));
  }
  if (are_of_records(filter.states)) throw Problem(400, "records of what has ended cannot be exported");
  const auto turn = std::make_shared<Turn>(running);
  return attachment(queue, [&desk, queue, filter, turn](const SendPiece& send) {
    Lines lines(send);
    const Veil veil(*desk.config);
    desk.admin.export_jobs(queue, filter, [&](JobView job) {
      veil.cover(job);
      return !veil.shows(job.error, filter.error) || lines.add(export_lines(job));
    });
    lines.flush();
  });
}

Response export_dead(Desk& desk, const Call& call, const std::shared_ptr<std::atomic<int>>& running) {
  refuse_unknown(call.target, {"id", "key", "kind", "error", "error_kind", "retry_count", "since", "until"});
  const auto& queue = call.value(0);
  refuse_unknown_queue(desk, queue);
  auto filter = dead_filter_of(choice_of(call.target));
  if (const auto ids = call.target.all("id"); !ids.empty()) filter.ids = ids;
  const auto turn = std::make_shared<Turn>(running);
  return attachment(queue + "-dead", [&desk, queue, filter, turn](const SendPiece& send) {
    Lines lines(send);
    const Veil veil(*desk.config);
    desk.admin.dead(queue, filter, [&](DeadView dead) {
      veil.cover(dead);
      return !veil.shows(dead.error, filter.error) || lines.add(export_line(dead));
    });
    lines.flush();
  });
}

}  // namespace

void add_export_routes(std::vector<Route>& routes, Desk& desk) {
  const auto running = std::make_shared<std::atomic<int>>(0);
  routes.push_back({"GET", "/api/v1/queues/{queue}/jobs/export", Needs::viewer,
                    "All jobs that fit, as lines that a push takes (application/x-ndjson)",
                    [&desk, running](const Call& call) { return export_jobs(desk, call, running); }});
  routes.push_back({"GET", "/api/v1/queues/{queue}/dead/export", Needs::viewer,
                    "All dead payloads that fit, as lines that a push takes (application/x-ndjson)",
                    [&desk, running](const Call& call) { return export_dead(desk, call, running); }});
}

}  // namespace ordo::web
