// Pushes: one job, an array of them, or lines of any number.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_tree.h"
#include "faces/job_text.h"
#include "faces/ndjson_push.h"
#include "faces/push_text.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/secret.h"

namespace ordo::web {
namespace {

constexpr std::size_t kMostPushBody = 64U << 20;
constexpr std::size_t kLongestLine = 32U << 20;
constexpr std::size_t kShownIds = 1000;
constexpr std::size_t kMostJobs = 10'000;
constexpr std::size_t kMostOnce = 1'000;
constexpr std::size_t kLongestOnceKey = 128;
constexpr std::string_view kOnceHeader = "idempotency-key";

std::vector<NewJob> jobs_of(const JsonDocument::Value& root) {
  std::vector<NewJob> jobs;
  if (!root.is_array()) {
    jobs.push_back(parse_job(root.text()));
    return jobs;
  }
  if (root.size() > kMostJobs)
    throw Problem(
        413,
        fmt::format("the array has {} jobs, and {} fit; lines (application/x-ndjson) may be of any number",
                    root.size(), kMostJobs));
  for (std::size_t i = 0; i < root.size(); ++i) jobs.push_back(parse_job(root.at(i).text()));
  return jobs;
}

std::string ids_json(const std::vector<std::string>& ids) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ids.size(), kShownIds); ++i)
    text += (text.empty() ? "" : ",") + name_json(ids[i]);
  return '[' + text + ']';
}

/// The key of a request that may come twice. Of two callers, equal keys are different ones. Empty: it has
/// none.
std::string once_key_of(const Call& call) {
  if (!call.request.has(kOnceHeader)) return {};
  const std::string key(call.request.header(kOnceHeader));
  if (key.empty() || key.size() > kLongestOnceKey)
    throw Problem(400,
                  fmt::format("Idempotency-Key has {} bytes; it takes 1 to {}", key.size(), kLongestOnceKey));
  return fmt::format("{}:{}", call.caller->name, key);
}

Response push_once(Desk& desk, const Call& call, std::vector<NewJob> jobs, const std::string& key) {
  if (jobs.size() > kMostOnce)
    throw Problem(
        413, fmt::format("there are {} jobs, and with an Idempotency-Key {} fit", jobs.size(), kMostOnce));
  const auto count = jobs.size();
  const auto end = desk.client.push_once(call.value(0), std::move(jobs), {key, sha256_hex(call.body)});
  if (end.what == PushedOnce::What::other)
    throw Problem(422,
                  "another body was pushed under this Idempotency-Key; nothing was stored. Take a new key "
                  "for each push");
  if (end.what == PushedOnce::What::pushed) desk.news->count_pushed(call.value(0), count);
  return {.status = 201, .body = fmt::format("{{\"pushed\":{},\"ids\":{}}}\n", count, ids_json(end.ids))};
}

Response push(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  const auto document = JsonDocument::parse(call.body);
  if (!document)
    throw Problem(400, "the body is no JSON: it takes one job, an array of jobs, or lines of them");
  auto jobs = jobs_of(document->root());
  if (jobs.empty()) return {.status = 201, .body = "{\"pushed\":0,\"ids\":[]}\n"};
  if (const auto key = once_key_of(call); !key.empty()) return push_once(desk, call, std::move(jobs), key);
  const auto results = desk.client.push_each(call.value(0), std::move(jobs));
  std::size_t pushed = 0;
  std::string ids;
  std::string rejected;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].what == Pushed::What::rejected) {
      ObjectText object;
      object.number("index", i);
      rejected += (rejected.empty() ? "" : ",") + rejected_push_json(object, results[i]);
      continue;
    }
    pushed += results[i].is_stored() ? 1 : 0;
    if (i < kShownIds) ids += (ids.empty() ? "" : ",") + name_json(results[i].id);
  }
  desk.news->count_pushed(call.value(0), pushed);
  if (!rejected.empty()) {
    throw Problem(409,
                  "a job has the unique key already; those that are named were not stored, all others were")
        .with("pushed", fmt::to_string(pushed))
        .with("rejected", '[' + rejected + ']');
  }
  return {.status = 201, .body = fmt::format("{{\"pushed\":{},\"ids\":[{}]}}\n", pushed, ids)};
}

/// Lines of JSON that come in pieces: a commit for each thousand, and the next piece is taken when it is
/// under way.
class LineUpload final : public Upload {
 public:
  LineUpload(Desk& desk, const Call& call) : desk_(desk), queue_(call.value(0)), push_(desk.client, queue_) {
    refuse_unknown(call.target, {});
    if (call.request.has(kOnceHeader))
      throw Problem(400, "an Idempotency-Key goes with one job or an array of them, not with lines");
    refuse_unknown_queue(desk, call.value(0));
    push_.asks_of_each();  // a queue may have got a rule for unique keys since this process began
  }

  bool add(std::string_view bytes) override {
    while (!is_over_ && !bytes.empty()) {
      const auto end = bytes.find('\n');
      line_ += bytes.substr(0, end);
      if (end == std::string_view::npos) break;
      bytes.remove_prefix(end + 1);
      is_over_ = !push_.add(line_);
      line_.clear();
    }
    is_too_long_ = line_.size() > kLongestLine;
    return !is_over_ && !is_too_long_;
  }

  Response end() override {
    const auto result = is_too_long_ ? push_.end_failed("the line has more than 32 MiB") : end_of_lines();
    desk_.news->count_pushed(queue_, result.pushed);
    if (result.line == 0 && result.rejected == 0)
      return {.status = 201, .body = fmt::format("{{\"pushed\":{}}}\n", result.pushed)};
    if (result.line == 0) {
      throw Problem(
          409,
          fmt::format("{} lines were not stored, as other jobs have their unique keys; line {} is the first",
                      result.rejected, result.rejected_line))
          .with("pushed", fmt::to_string(result.pushed))
          .with("line", fmt::to_string(result.rejected_line))
          .with("existing", name_json(result.existing));
    }
    const bool is_lost = result.error_kind == ErrorKind::unavailable;
    throw Problem(is_lost ? 503 : 400,
                  fmt::format("line {}: {}; the lines before it are stored{}", result.line, result.error,
                              is_lost ? ", and it and some behind it may be" : ""))
        .with("pushed", fmt::to_string(result.pushed))
        .with("line", fmt::to_string(result.line));
  }

 private:
  NdjsonResult end_of_lines() {
    if (!is_over_ && !line_.empty()) push_.add(line_);
    return push_.end();
  }

  Desk& desk_;
  const std::string queue_;
  NdjsonPush push_;
  std::string line_;  ///< not whole yet
  bool is_over_ = false;
  bool is_too_long_ = false;
};

}  // namespace

void add_push_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"POST", "/api/v1/queues/{queue}/jobs", Needs::producer,
                    "Push one job, an array of jobs, or lines of them (application/x-ndjson)",
                    [&](const Call& call) { return push(desk, call); }, kMostPushBody,
                    [&](const Call& call) { return std::make_unique<LineUpload>(desk, call); }});
}

}  // namespace ordo::web
