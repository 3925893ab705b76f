#include "sources/sidekiq/job_reader.h"

#include <algorithm>
#include <limits>

#include <ordo/error.hpp>

#include "base/json_tree.h"
#include "base/shorten.h"
#include "base/time_text.h"

namespace ordo::sources {
namespace {

constexpr std::int64_t kLeastMilliseconds = 100'000'000'000;

std::optional<Json> member(const Json& object, std::string_view key) {
  if (!object.contains(key)) return std::nullopt;
  return object[key];
}

/// What other programs read, too, must not fail on a field of another type: it says nothing then.
std::string text_at(const Json& object, std::string_view key) {
  const auto found = member(object, key);
  return found && found->is_string() ? found->as_string() : std::string();
}

std::optional<Time> time_at(const Json& object, std::string_view key) {
  const auto found = member(object, key);
  return found ? read_job_time(*found) : std::nullopt;
}

/// The arguments as an array; Verk's are JSON within a string. An empty object is what Lua's cjson makes of
/// an empty array.
std::optional<Json> args_of(const Json& job, std::string& why) {
  const auto stated = member(job, "args");
  if (!stated) {
    why = "it has no args";
    return std::nullopt;
  }
  auto args = *stated;
  if (args.is_string()) {
    const auto text = args.as_string();
    if (!JsonDocument::parse(text)) {
      why = "its args are a string that holds no JSON";
      return std::nullopt;
    }
    args = Json::parse(text);
  }
  if (args.is_object() && args.size() == 0) return Json::array();
  if (args.is_array()) return args;
  why = "its args are not an array";
  return std::nullopt;
}

/// A key within `json` that is not among `known`.
std::optional<std::string> unknown_key(const JsonDocument::Value& json,
                                       const std::vector<std::string>& known) {
  if (!json.is_array() && !json.is_object()) return std::nullopt;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json.is_object()) {
      auto key = json.key_at(i);
      if (std::ranges::find(known, key) == known.end()) return key;
    }
    if (auto found = unknown_key(json.at(i), known)) return found;
  }
  return std::nullopt;
}

/// What the job says of retries, in the words of its dialect.
void read_retries(const Json& json, sidekiq::Job& job) {
  if (const auto retry = member(json, "retry"); retry && retry->is_bool()) {
    job.retries = retry->as_bool() ? sidekiq::kDefaultRetries : 0;
    job.keeps_dead = retry->as_bool();
  } else {
    job.retries = count_at(json, "retry");
  }
  if (!job.retries) job.retries = count_at(json, "max_retry_count");
  const auto dead = member(json, "dead");
  if (dead && dead->is_bool() && !dead->as_bool()) job.keeps_dead = false;
}

}  // namespace

std::optional<std::int32_t> count_at(const Json& object, std::string_view key, std::int32_t least) {
  const auto found = member(object, key);
  if (!found || !found->is_number()) return std::nullopt;
  const auto document = JsonDocument::parse(found->dump());
  const auto number = document->root().as_int();
  if (!number) return std::nullopt;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(*number, least, kMost));
}

std::optional<Time> read_job_time(const Json& number) {
  if (!number.is_number()) return std::nullopt;
  const auto text = number.dump();
  const auto document = JsonDocument::parse(text);
  const auto value = document->root().as_double();
  if (!value) return std::nullopt;
  const bool is_whole = text.find_first_of(".eE") == std::string::npos;
  const bool is_milliseconds = is_whole && *value > static_cast<double>(kLeastMilliseconds);
  return time_of_seconds(is_milliseconds ? *value / 1000 : *value);
}

std::optional<sidekiq::Job> read_job(std::string_view payload,
                                     const std::optional<std::vector<std::string>>& args_keys,
                                     std::string& why) {
  if (!JsonDocument::parse(payload)) {
    why = "it is no JSON";
    return std::nullopt;
  }
  const auto json = Json::parse(payload);
  if (!json.is_object()) {
    why = "it is JSON, but not an object";
    return std::nullopt;
  }
  sidekiq::Job job;
  job.class_name = text_at(json, "class");
  if (job.class_name.empty()) {
    why = "it names no class";
    return std::nullopt;
  }
  const auto args = args_of(json, why);
  if (!args) return std::nullopt;
  job.args = *args;
  if (args_keys) {
    const auto document = JsonDocument::parse(args->dump());
    if (const auto key = unknown_key(document->root(), *args_keys)) {
      why = "its args have the unknown key " + in_quotes(*key);
      return std::nullopt;
    }
  }
  job.wrapped = text_at(json, "wrapped");
  job.queue = text_at(json, "queue");
  job.jid = text_at(json, "jid");
  read_retries(json, job);
  job.retry_count = count_at(json, "retry_count", -1);  // Sidekiq Web's `Retry now` counts back
  job.created_at = time_at(json, "created_at");
  job.enqueued_at = time_at(json, "enqueued_at");
  job.at = time_at(json, "at");
  job.failed_at = time_at(json, "failed_at");
  job.retried_at = time_at(json, "retried_at");
  job.error_class = text_at(json, "error_class");
  job.error_message = text_at(json, "error_message");
  const bool is_verk = json["args"].is_string() || json.contains("max_retry_count");
  job.dialect = is_verk           ? sidekiq::Dialect::verk
                : job.jid.empty() ? sidekiq::Dialect::resque
                                  : sidekiq::Dialect::sidekiq;
  job.json = json;
  return job;
}

}  // namespace ordo::sources

namespace ordo::sidekiq {

std::string_view to_string(Dialect dialect) {
  switch (dialect) {
    case Dialect::sidekiq:
      return "sidekiq";
    case Dialect::resque:
      return "resque";
    case Dialect::verk:
      return "verk";
  }
  return "sidekiq";
}

Job Job::parse(std::string_view payload, const std::optional<std::vector<std::string>>& args_keys) {
  std::string why;
  auto job = sources::read_job(payload, args_keys, why);
  if (job) return *std::move(job);
  throw Error(ErrorKind::invalid_argument, "cannot read a Sidekiq job: " + why);
}

}  // namespace ordo::sidekiq
