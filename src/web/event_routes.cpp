// What happens, as it happens, and what happened in the last hour.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "faces/job_text.h"
#include "faces/object_text.h"
#include "web/desk.h"
#include "web/news.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::string_view kStats = "stats";

std::vector<std::string> all_names() {
  std::vector<std::string> names{std::string(kStats)};
  for (auto type = EventType::job_started; type <= EventType::throttler_failed;
       type = static_cast<EventType>(static_cast<int>(type) + 1))
    names.emplace_back(to_string(type));
  return names;
}

/// What one client reads.
class EventFeed final : public Feed {
 public:
  EventFeed(std::shared_ptr<News> news, EventRing::Reader reader, std::string_view last_id)
      : news_(std::move(news)), reader_(std::move(reader)), reading_(*news_) {
    if (wants_passing()) news_->events().add_watcher();
    news_->events().place(reader_, last_id);
  }
  ~EventFeed() override {
    if (wants_passing()) news_->events().remove_watcher();
  }
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  std::string take() override {
    std::string text;
    news_->events().read(reader_, text);
    if (reader_.wants(kStats)) news_->stats().tell(seen_, reader_.queues, text);
    return text;
  }

 private:
  bool wants_passing() const { return reader_.wants("job_started") || reader_.wants("job_finished"); }

  std::shared_ptr<News> news_;
  EventRing::Reader reader_;
  News::Reading reading_;
  std::uint64_t seen_ = 0;  ///< of the stats
};

std::set<std::string> set_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

Response events(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"queue", "event"});
  EventRing::Reader reader{.queues = set_of(call.target.all("queue")),
                           .names = set_of(call.target.all("event"))};
  for (const auto& name : reader.names) {
    static const auto kNames = all_names();
    if (std::ranges::find(kNames, name) == kNames.end())
      throw Problem(400,
                    fmt::format("no event is named {}; {}", in_quotes(name), nearest_hint(name, kNames)));
  }
  for (const auto& queue : reader.queues) {
    refuse_unseen(call, queue);
    refuse_unknown_queue(desk, queue);
  }
  if (reader.queues.empty() && !call.sees_all()) reader.queues = set_of(call.caller->queues);
  return {.type = "text/event-stream",
          .feed = std::make_shared<EventFeed>(desk.news, std::move(reader),
                                              call.request.header("last-event-id"))};
}

std::string number_or_null(const std::optional<std::uint64_t>& number) {
  return number ? fmt::to_string(*number) : "null";
}
std::string real_or_null(const std::optional<double>& number) {
  return number ? json_number(*number) : "null";
}

template <class Of>
std::string series(const std::vector<History::Point>& points, const Of& of) {
  return array_of(points, [&](std::string& out, const History::Point& point) { out += of(point); });
}

std::string history_json(const History::Wish& wish, const std::vector<History::Point>& points) {
  using Point = History::Point;
  ObjectText object;
  object.text("of", wish.kind.empty() ? "store" : "process").text("step", format_duration(wish.step));
  object.raw("times", series(points, [](const Point& point) { return json_string(format_time(point.at)); }));
  object.raw("pushed", series(points, [](const Point& point) { return number_or_null(point.pushed); }));
  object.raw("done", series(points, [](const Point& point) { return number_or_null(point.done); }));
  object.raw("failed", series(points, [](const Point& point) { return number_or_null(point.failed); }));
  object.raw("dead", series(points, [](const Point& point) { return number_or_null(point.dead); }));
  object.raw("lag", series(points, [](const Point& point) { return real_or_null(point.lag); }));
  for (const auto& [name, times, share] :
       {std::tuple("run_p50", &Point::run, 0.5), std::tuple("run_p95", &Point::run, 0.95),
        std::tuple("wait_p50", &Point::wait, 0.5), std::tuple("wait_p95", &Point::wait, 0.95)}) {
    object.raw(name, series(points, [times = times, share = share](const Point& point) {
                 return real_or_null((point.*times).percentile(share));
               }));
  }
  return object.end();
}

/// "10s", or a number of seconds.
Duration step_of(const Target& target) {
  const auto text = target.find("step").value_or("1s");
  const bool is_number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto step = parse_duration(is_number ? text + 's' : text);
  if (step < seconds{1} || step > hours{1} || step % seconds{1} != Duration{0})
    throw Problem(400, fmt::format("step is {}; whole seconds are taken, 1s to 1h", in_quotes(text)));
  return step;
}

// Steps begin at multiples of their length, so that who asks again gets the same ones.
Time floor_to(Time time, Duration step) { return time - time.time_since_epoch() % step; }

Response history(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"queue", "kind", "from", "to", "step"});
  const auto now = system_clock().wall();
  History::Wish wish{.queue = call.target.find("queue").value_or(""),
                     .kind = call.target.find("kind").value_or(""),
                     .step = step_of(call.target)};
  const auto to = call.target.find("to");
  const auto from = call.target.find("from");
  wish.to = to ? moment_of(*to) : now;
  wish.from = std::max(from ? moment_of(*from) : wish.to - hours{1}, now - hours{1});
  wish.to = std::min(wish.to, now);
  wish.from = floor_to(wish.from, wish.step);
  if (wish.queue.empty() && !call.sees_all())
    throw Problem(403, "this token is for some queues only: name one of them with ?queue=");
  refuse_unseen(call, wish.queue);
  if (!wish.queue.empty()) refuse_unknown_queue(desk, wish.queue);
  return {.body = history_json(wish, desk.news->history().read(wish)) + '\n'};
}

}  // namespace

void add_event_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/events", Needs::viewer,
                    "Events as they come (text/event-stream), and each second the stats that changed",
                    [&](const Call& call) { return events(desk, call); }});
  routes.push_back({"GET", "/api/v1/stats/history", Needs::viewer,
                    "What happened in each second of the last hour",
                    [&](const Call& call) { return history(desk, call); }});
}

}  // namespace ordo::web
