// From a request to its answer: the door, the route, the body, and what its errors are called.
#include "web/api.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/name.h"
#include "base/shorten.h"
#include "web/dashboard.h"
#include "web/door.h"
#include "web/metrics.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

bool is_callback(const Route& route) { return route.path == "/callbacks/{token}"; }
constexpr std::size_t kMostBodies = std::size_t{512} << 20;  // in memory at a time

/// A request, from its header to its answer. What goes wrong becomes a problem here.
class Exchange final : public Upload {
 public:
  Exchange(Desk& desk, Door& door, const Route& route, Request request, Target target,
           std::vector<std::string> values, std::optional<Caller> caller,
           std::atomic<std::size_t>& all_bodies)
      : desk_(desk),
        door_(door),
        all_bodies_(all_bodies),
        route_(route),
        request_(std::move(request)),
        target_(std::move(target)),
        call_{request_, target_, std::move(values), std::move(caller)} {}

  ~Exchange() override { all_bodies_ -= held_; }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void takes_lines() { is_of_lines_ = true; }
  bool blocks() const override { return route_.blocks; }

  bool add(std::string_view bytes) override {
    if (!is_of_lines_) {
      is_too_large_ = call_.body.size() + bytes.size() > route_.most_body;
      if (is_too_large_ || !hold(bytes.size())) return false;
      call_.body += bytes;
      return true;
    }
    failed_ = answer([&]() -> Response {
      if (!lines_) lines_ = route_.upload(call_);
      is_wanted_ = lines_->add(bytes);
      return {};
    });
    return is_wanted_ && !has_failed();
  }

  Response end() override {
    if (has_failed()) return std::move(failed_);
    return answer([&]() -> Response {
      if (is_full_)
        throw Problem(503, "the bodies of other requests take all the room there is; send it again later")
            .header("Retry-After", "1");
      if (is_too_large_ && route_.most_body == 0) throw Problem(400, "no body is taken here");
      if (is_too_large_)
        throw Problem(
            413,
            fmt::format("the body has more than {} bytes; lines (application/x-ndjson) may be of any number",
                        route_.most_body));
      if (!is_of_lines_) return answer_of_route();
      if (!lines_) lines_ = route_.upload(call_);
      return lines_->end();
    });
  }

 private:
  Response answer_of_route() {
    if (!is_callback(route_)) return route_.answer(call_);
    door_.refuse_guesser(request_);
    auto response = answer([&] { return route_.answer(call_); });
    if (response.status == 401) door_.note_guess(request_);
    return response;
  }

  /// Bodies of all requests together have a bound.
  bool hold(std::size_t bytes) {
    held_ += bytes;
    is_full_ = (all_bodies_ += bytes) > kMostBodies;
    return !is_full_;
  }

  bool has_failed() const { return failed_.status >= 400; }

  Response answer(const std::function<Response()>& work) {
    try {
      return work();
    } catch (const Problem& problem) {
      return problem.response();
    } catch (const Error& error) {
      return problem_of_route(error).response();
    } catch (const std::exception& error) {
      desk_.log(LogLevel::error,
                fmt::format("{} {} failed: {}", request_.method, in_quotes(std::string(route_.path)),
                            Veil(*desk_.config).told(error)));
      return Problem(500, "something went wrong here; the log says what").response();
    }
  }

  /// Of an unknown queue: 404.
  Problem problem_of_route(const Error& error) {
    try {
      const bool is_of_queue = route_.path.find("{queue}") != std::string_view::npos;
      if (error.kind() == ErrorKind::invalid_argument && is_of_queue && is_unknown(call_.value(0)))
        return {404, error.what()};
    } catch (const Error& another) {  // the store is gone by now
      return problem_of(another);
    }
    return problem_of(error);
  }

  bool is_unknown(const std::string& queue) {
    if (desk_.config->now()->find(queue) != nullptr) return false;
    const auto queues = desk_.admin.queues();
    return std::ranges::find(queues, queue, &QueueView::name) == queues.end();
  }

  Desk& desk_;
  Door& door_;
  std::atomic<std::size_t>& all_bodies_;
  const Route& route_;
  Request request_;
  Target target_;
  Call call_;
  bool is_of_lines_ = false;
  bool is_wanted_ = true;
  bool is_too_large_ = false;
  bool is_full_ = false;
  std::size_t held_ = 0;  ///< of all_bodies_
  std::unique_ptr<Upload> lines_;
  Response failed_;
};

std::string media_type(const Request& request) {
  auto type = request.header("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return lower(type);
}

bool has_body(const Request& request) {
  const auto length = request.header("content-length");
  return request.has("transfer-encoding") || (!length.empty() && length != "0");
}

/// What is less is read to its end, so that the connection goes on.
constexpr std::size_t kNoticedBody = 64U << 10;

/// 0: it does not say.
std::uint64_t length_of(const Request& request) {
  const auto text = request.header("content-length");
  std::uint64_t length = 0;
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

Response ready(Desk& desk, const std::function<std::string()>& why_not_ready) {
  static_cast<void>(desk.admin.queues());  // throws where the store cannot be reached
  if (const auto why = why_not_ready(); !why.empty()) throw Problem(503, why);
  return {.body = "{\"ready\":true}\n"};
}

}  // namespace

Api::Api(const ListenAddress& address, Desk desk, std::function<std::string()> why_not_ready, Clock& clock)
    : desk_(std::move(desk)), why_not_ready_(std::move(why_not_ready)), door_(address, desk_.config, clock) {
  add_dashboard_routes(routes_);
  routes_.push_back({"GET",
                     "/healthz",
                     Needs::nobody,
                     "This process answers",
                     [](const Call&) { return Response{.body = "{\"ok\":true}\n"}; },
                     0,
                     {},
                     false});
  routes_.push_back({"GET", "/readyz", Needs::viewer, "The store can be reached, and the node does its work",
                     [this](const Call&) { return ready(desk_, why_not_ready_); }});
  routes_.push_back({"GET", "/metrics", Needs::viewer, "Counts for Prometheus",
                     [this](const Call& call) { return metrics(desk_, call); }});
  routes_.push_back({"GET", "/openapi.json", Needs::viewer, "This API as an OpenAPI 3.1 document",
                     [this](const Call&) { return Response{.body = openapi_of(routes_)}; }});
  add_session_routes(routes_, door_);
  add_queue_routes(routes_, desk_);
  add_export_routes(routes_, desk_);  // before those of one job
  add_job_routes(routes_, desk_);
  add_dead_routes(routes_, desk_);
  add_push_routes(routes_, desk_);
  add_response_routes(routes_, desk_);
  add_gate_routes(routes_, desk_);
  add_node_routes(routes_, desk_);
  add_audit_routes(routes_, desk_);
  add_line_routes(routes_, desk_);
  add_event_routes(routes_, desk_);
  add_problem_routes(routes_, desk_);
  add_source_routes(routes_, desk_);
}

std::string Api::told(const std::exception& error) const { return Veil(*desk_.config).told(error); }

std::unique_ptr<Upload> Api::open(const Request& request) {
  door_.refuse_strangers(request);
  auto target = parse_target(request.target);
  if (!target)
    throw Problem(400, "the target of the request is no path, or has a % without two hexadecimal digits");
  auto match = find_route(routes_, request.method, is_dashboard_page(*target) ? Target{} : *target);
  std::optional<Caller> caller;
  if (match.route.needs != Needs::nobody) caller = door_.caller_of(request);
  const bool is_of_queue = match.route.path.find("{queue}") != std::string_view::npos;
  door_.admit(request, match.route, is_of_queue ? match.values.at(0) : "", caller);
  const auto type = media_type(request);
  const bool is_of_lines = type == "application/x-ndjson" && match.route.upload;
  // Pages of other sites can send other types without being asked whether they may. A token says that it is
  // meant.
  const bool is_form = type == "application/x-www-form-urlencoded" && match.route.path == kLogInPath;
  if (has_body(request) && !is_of_lines && type != "application/json" && !is_callback(match.route) &&
      !is_form) {
    throw Problem(415, fmt::format("a body of type {} is not taken here; application/json{} is",
                                   in_quotes(type), match.route.upload ? " or application/x-ndjson" : ""));
  }
  if (!is_of_lines && length_of(request) > std::max<std::size_t>(match.route.most_body, kNoticedBody))
    throw Problem(413, fmt::format("the body has more than {} bytes", match.route.most_body));
  auto exchange = std::make_unique<Exchange>(desk_, door_, match.route, request, *std::move(target),
                                             std::move(match.values), std::move(caller), all_bodies_);
  if (is_of_lines) exchange->takes_lines();
  return exchange;
}

}  // namespace ordo::web
