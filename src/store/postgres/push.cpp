// The public push inside a caller's transaction. What a job may be is checked by ordo_push, once for all
// languages.
#include <ordo/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include <ordo/error.hpp>

#include "base/time_text.h"
#include "domain/job_options.h"
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
    " $8::bigint * interval '1 microsecond', $9::int, $10::bigint * interval '1 microsecond'), 'UTF8')";
constexpr std::array<int, 10> kFormats = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0};
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
  if (job.expires || !job.windows.empty() || domain::has_gate_options(job) || job.unique) {
    refuse_push(name,
                "expires, windows, unique keys and what limits and locks ask for do not go through SQL; push "
                "the job with a "
                "Client");
  }
  std::array<Argument, 10> arguments = {name, job.payload, job.id, job.key, job.kind, number(job.score)};
  if (job.run_at) arguments[6] = micros(written_time(*job.run_at).time_since_epoch());
  if (job.delay) arguments[7] = micros(std::clamp(*job.delay, kLeastDelay, kMostDelay));
  if (job.priority) arguments[8] = std::to_string(*job.priority);
  if (job.timeout) arguments[9] = micros(written_timeout(*job.timeout));
  std::array<const char*, 10> values{};
  std::array<int, 10> lengths{};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values[i] = arguments[i] ? arguments[i]->c_str() : nullptr;
    lengths[i] = arguments[i] ? static_cast<int>(arguments[i]->size()) : 0;
  }
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
      PQexecParams(connection, kPush, 10, nullptr, values.data(), lengths.data(), kFormats.data(), kBytes),
      PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) fail(queue, result.get(), connection);
  return {PQgetvalue(result.get(), 0, 0), static_cast<std::size_t>(PQgetlength(result.get(), 0, 0))};
}

}  // namespace ordo::postgres
