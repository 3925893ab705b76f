// The public push inside a caller's transaction. What a job may be is checked by ordo_push, once for all
// languages.
#include <ordo/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/push_option.h"
#include "base/time_text.h"
#include "domain/new_job.h"

namespace ordo::postgres {
namespace {

// Names as bytes, whatever encoding the connection has. What PostgreSQL reckons with as a floating point
// number stays exact as whole seconds.
constexpr const char* kPush =
    "SELECT convert_to(ordo_push(convert_from($1::bytea, 'UTF8'), $2::bytea, convert_from($3::bytea, 'UTF8'),"
    " convert_from($4::bytea, 'UTF8'), convert_from($5::bytea, 'UTF8'), $6::float8,"
    " 'epoch'::timestamptz + $7::bigint / 1000000 * interval '1 second'"
    "                      + $7::bigint % 1000000 * interval '1 microsecond',"
    " $8::bigint * interval '1 microsecond', $9::int, $10::bigint * interval '1 microsecond',"
    " convert_from($11::bytea, 'UTF8')::jsonb), 'UTF8')";
constexpr std::array<int, 11> kFormats = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1};
constexpr int kBytes = 1;

// PostgreSQL knows the times after any delay of these, from wherever in the years 0 to 9999. What is then
// out of these years is brought within them where the entry is read.
constexpr Duration kMostDelay = kLastTime - kFirstTime;
constexpr Duration kLeastDelay = -kMostDelay / 2;

using Argument = std::optional<std::string>;

Argument micros(Duration value) { return std::to_string(value.count()); }

Argument number(std::optional<double> value) {
  if (!value) return std::nullopt;
  std::array<char, 32> text{};
  return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), *value).ptr);
}

// Hours, as an interval has no room for as many seconds.
std::string interval_of(Duration span) {
  const auto bounded = std::clamp(span, -kMostDelay, kMostDelay);
  const auto us = std::abs(bounded.count());
  return fmt::format("\"+{}{}:{:02}:{:02}.{:06}\"", bounded.count() < 0 ? "-" : "", us / 3'600'000'000,
                     us / 60'000'000 % 60, us / 1'000'000 % 60, us % 1'000'000);
}

/// As ordo_expiry takes it, which knows more times than a timestamptz.
std::string expiry_of(const NewJob& job) {
  if (job.expires_after) return interval_of(*job.expires_after);
  if (!job.expires) return {};
  if (*job.expires == Time::max()) return "\"infinity\"";
  return std::to_string(written_time(*job.expires).time_since_epoch().count()) + "e-6";
}

std::string value_of(const PushOption& option, const NewJob& job) {
  if (is_of<MomentPlace>(option)) return expiry_of(job);
  auto json = option_json(option, job);
  const auto* const place = std::get_if<std::optional<std::string> NewJob::*>(&option.place);
  const bool has_zero = json.find("\\u0000") != std::string::npos;
  if (place == nullptr || !has_zero) return json;
  json.clear();
  append_base64_json(json, *(job.*(*place)));  // jsonb knows no zero bytes in a text
  return json;
}

// What has no argument of its own; nothing: the job has none of it.
Argument options_of(const NewJob& job) {
  std::string json;
  for (const auto& option : kPushOptions) {
    if (option.sql != SqlPlace::options) continue;
    const auto value = value_of(option, job);
    if (!value.empty()) json += fmt::format("{}\"{}\":{}", json.empty() ? '{' : ',', option.name, value);
  }
  return json.empty() ? std::nullopt : Argument(json + '}');
}

[[noreturn]] void fail(std::string_view queue, const PGresult* result, const PGconn* connection) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string_view code = state == nullptr ? "" : state;
  const bool is_refused = code.starts_with("22") || code.starts_with("54");
  throw Error(is_refused ? ErrorKind::invalid_argument : ErrorKind::unavailable,
              "cannot push to queue '" + std::string(queue) +
                  "' in this transaction: " + (said != nullptr ? said : PQerrorMessage(connection)) +
                  (code == "42883" ? "; is Ordo's schema on the search_path?" : "; roll back"));
}

}  // namespace

std::string push(pg_conn* connection, std::string_view queue, const NewJob& job) {
  const std::string name(queue);
  check_queue_name(name);
  check_new_job(name, job);
  if (job.unique) {
    refuse_push(name,
                "a unique key needs its rule, which this call does not take; call ordo_push with the option "
                "unique, or push the job with a Client");
  }
  std::array<Argument, 11> arguments = {name, job.payload, job.id, job.key, job.kind, number(job.score)};
  if (job.run_at) arguments[6] = micros(written_time(*job.run_at).time_since_epoch());
  if (job.delay) arguments[7] = micros(std::clamp(*job.delay, kLeastDelay, kMostDelay));
  if (job.priority) arguments[8] = std::to_string(*job.priority);
  if (job.timeout) arguments[9] = micros(written_timeout(*job.timeout));
  arguments[10] = options_of(job);
  std::array<const char*, 11> values{};
  std::array<int, 11> lengths{};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values[i] = arguments[i] ? arguments[i]->c_str() : nullptr;
    lengths[i] = arguments[i] ? static_cast<int>(arguments[i]->size()) : 0;
  }
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
      PQexecParams(connection, kPush, 11, nullptr, values.data(), lengths.data(), kFormats.data(), kBytes),
      PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) fail(queue, result.get(), connection);
  return {PQgetvalue(result.get(), 0, 0), static_cast<std::size_t>(PQgetlength(result.get(), 0, 0))};
}

}  // namespace ordo::postgres
