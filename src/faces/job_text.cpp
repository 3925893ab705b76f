#include "faces/job_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/nearest.h"
#include "base/number_text.h"
#include "base/push_option.h"
#include "base/shorten.h"
#include "base/time_text.h"

namespace ordo {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::invalid_argument, what); }

std::string unknown_key(const std::string& key) {
  std::vector<std::string> known;
  for (const auto& option : kPushOptions) known.emplace_back(option.name);
  return fmt::format("unknown key {}; {}", json_string(shortened(key)), nearest_hint(key, known));
}

}  // namespace

Time moment_of(std::string_view text) {
  const auto now = system_clock().wall();
  if (const auto seconds = read_number<double>(text); seconds && std::isfinite(*seconds))
    return time_of_unix_seconds(*seconds);
  return text.starts_with('-') ? time_after(now, -parse_duration(text.substr(1))) : parse_time(text, now);
}

NewJob parse_job(std::string_view json) {
  const auto document = JsonDocument::parse(json);
  if (!document) {
    std::string rest;
    std::size_t error_at = 0;
    append_minified(rest, json, &error_at);
    refuse(error_at < json.size()
               ? fmt::format("this is no JSON: byte {} of {} is wrong", error_at + 1, json.size())
               : fmt::format("this is no JSON: it ends too early, after byte {}", json.size()));
  }
  const auto object = document->root();
  if (!object.is_object()) refuse(R"(a job is a JSON object, like {"id":"42","payload":{"v":1}})");
  NewJob job;
  unsigned seen = 0;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const std::string key = object.key_at(i);
    const auto* const option = std::ranges::find(kPushOptions, key, &PushOption::name);
    if (option == std::end(kPushOptions)) refuse(unknown_key(key));
    const auto bit = 1U << (option - kPushOptions);
    if ((seen & bit) != 0) refuse(fmt::format("duplicate key {}", json_string(key)));
    seen |= bit;
    set_option(job, *option, object.at(i));
  }
  return job;
}

}  // namespace ordo
