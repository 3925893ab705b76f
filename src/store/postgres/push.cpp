// The public push inside a caller's transaction. What a job may be is checked by ordo_push, once for all
// languages.
#include <ordo/postgres.hpp>

#include <libpq-fe.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include <ordo/error.hpp>

namespace ordo::postgres {
namespace {

constexpr const char* kPush =
    "SELECT ordo_push($1::text, $2::bytea, $3::text, $4::text, $5::text, $6::float8,"
    " 'epoch'::timestamptz + $7::bigint * interval '1 microsecond', $8::bigint * interval '1 microsecond',"
    " $9::int, $10::bigint * interval '1 microsecond')";

using Argument = std::optional<std::string>;

Argument micros(const std::optional<Duration>& value) {
  return value ? Argument(std::to_string(value->count())) : std::nullopt;
}

Argument micros(const std::optional<Time>& value) {
  return value ? Argument(std::to_string(value->time_since_epoch().count())) : std::nullopt;
}

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
  const std::array<Argument, 10> arguments = {
      std::string(queue),
      job.payload,
      job.id,
      job.key,
      job.kind,
      number(job.score),
      micros(job.run_at),
      micros(job.delay),
      job.priority ? Argument(std::to_string(*job.priority)) : std::nullopt,
      micros(job.timeout)};
  std::array<const char*, 10> values{};
  std::array<int, 10> lengths{};
  std::array<int, 10> formats{};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values[i] = arguments[i] ? arguments[i]->c_str() : nullptr;
    lengths[i] = arguments[i] ? static_cast<int>(arguments[i]->size()) : 0;
  }
  formats[1] = 1;
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
      PQexecParams(connection, kPush, 10, nullptr, values.data(), lengths.data(), formats.data(), 0),
      PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) fail(queue, result.get(), connection);
  return {PQgetvalue(result.get(), 0, 0), static_cast<std::size_t>(PQgetlength(result.get(), 0, 0))};
}

}  // namespace ordo::postgres
