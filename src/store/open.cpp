#include "store/open.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "store/memory/memory_store.h"
#include "store/no_store.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/raw_bench.h"
#include "store/postgres/schema.h"
#include "store/raw_bench.h"
#include "store/redis/raw_bench.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/location.h"
#include "store/sqlite/raw_bench.h"
#include "store/sqlite/shared_store.h"
#include "store/sqlite/sqlite_store.h"

namespace ordo::store {

namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kRedis = "redis";  // redis:, rediss:, redis+unix:, redis+sentinel:

bool is_postgres(std::string_view url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://");
}

/// A password may stand behind any of these, and a user before an '@'.
std::string shown(std::string_view url) {
  const auto end = url.find_first_of(":=?@");
  if (end == std::string_view::npos) return std::string(url);
  return std::string(url[end] == '@' ? "" : url.substr(0, end + 1)) + "…";
}

Error no_raw_bench(std::string_view url) {
  return Error(ErrorKind::unsupported,
               "the plain store behind " + in_quotes(shown(url)) + " cannot be measured");
}

[[noreturn]] void refuse_scheme(std::string_view url) {
  throw Error(ErrorKind::invalid_argument,
              "cannot open the store " + in_quotes(shown(url)) +
                  ": use sqlite:FILE, redis://HOST, postgres://HOST/DATABASE or memory:");
}

std::string path_of(std::string_view sqlite_url) {
  return sqlite::locate(sqlite::parse_location(sqlite_url.substr(kSqlite.size())).path);
}

/// What cannot be seen counts as there: opening it says why.
bool has_file(const std::string& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  return error || (is_there && (std::filesystem::file_size(path, error) > 0 || error));
}

void look_for_file(std::string_view url, Missing missing) {
  if (missing == Missing::made || !url.starts_with(kSqlite)) return;
  if (const auto path = path_of(url); !has_file(path)) throw no_store(path);
}

bool is_there(std::string_view url) {
  if (url.starts_with(kSqlite)) return has_file(path_of(url));
  if (!is_postgres(url)) return true;
  postgres::Connection connection{std::string(url)};
  return postgres::has_schema(connection);
}

}  // namespace

Error no_store(std::string_view place) {
  return Error(
      ErrorKind::invalid_argument,
      "no store at " + in_quotes(place) + ": name another, or push a job or start a node, which makes it");
}

namespace {

std::unique_ptr<Store> opened(std::string_view url, Clock& clock, Missing missing) {
  look_for_file(url, missing);
  if (url == "memory:") return std::make_unique<memory::MemoryStore>(clock);
  if (url.starts_with(kSqlite)) {
    return std::make_unique<sqlite::SqliteStore>(std::string(url.substr(kSqlite.size())), clock);
  }
  if (url.starts_with(kRedis)) return std::make_unique<redis::RedisStore>(redis::parse_location(url));
  if (is_postgres(url)) {
    return std::make_unique<postgres::PostgresStore>(std::string(url), clock, postgres::TimeSource::server,
                                                     missing);
  }
  refuse_scheme(url);
}

}  // namespace

std::unique_ptr<Store> open(std::string_view url, Clock& clock, Missing missing) {
  auto store = opened(url, clock, missing);
  store->excess();  // its clock is watched from now on
  return store;
}

bool make(std::string_view url, Clock& clock) {
  const bool was_there = is_there(url);
  open(url, clock);
  return !was_there;
}

std::string schema_sql(std::string_view url) {
  if (is_postgres(url)) return postgres::schema_sql();
  throw Error(ErrorKind::unsupported, "there is no SQL for the store " + in_quotes(shown(url)) +
                                          ": only PostgreSQL has tables that somebody else may make");
}

void check_url(std::string_view url) {
  if (url.starts_with(kSqlite)) {
    sqlite::parse_location(url.substr(kSqlite.size()));
  } else if (url.starts_with(kRedis)) {
    redis::parse_location(url);
  } else if (url != "memory:" && !is_postgres(url)) {
    refuse_scheme(url);
  }
}

std::shared_ptr<Store> open_shared(std::string_view url, Clock& clock, Missing missing) {
  look_for_file(url, missing);
  if (!url.starts_with(kSqlite)) return open(url, clock, missing);
  auto store = sqlite::shared_store(std::string(url.substr(kSqlite.size())), clock);
  store->excess();
  return store;
}

double raw_append_delete_rate(std::string_view url, std::uint64_t rows, std::size_t row_bytes,
                              std::size_t rows_per_commit) {
  if (url.starts_with(kRedis)) return redis::raw_append_delete_rate(url, rows, row_bytes, rows_per_commit);
  if (is_postgres(url)) {
    return postgres::raw_append_delete_rate(std::string(url), rows, row_bytes, rows_per_commit);
  }
  if (!url.starts_with(kSqlite)) throw no_raw_bench(url);
  return sqlite::raw_append_delete_rate(sqlite::parse_location(url.substr(kSqlite.size())).path + "-raw",
                                        rows, row_bytes, rows_per_commit);
}

double raw_commit_latency(std::string_view url, std::uint64_t commits) {
  if (url.starts_with(kRedis)) return redis::raw_commit_latency(url, commits);
  if (is_postgres(url)) return postgres::raw_commit_latency(std::string(url), commits);
  if (!url.starts_with(kSqlite)) throw no_raw_bench(url);
  return sqlite::raw_commit_latency(sqlite::parse_location(url.substr(kSqlite.size())).path + "-raw",
                                    commits);
}

}  // namespace ordo::store
