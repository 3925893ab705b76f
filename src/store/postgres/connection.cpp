// Talking to a server, and making one clear error of everything that can be said back.
#include "store/postgres/connection.h"

#include <poll.h>

#include <array>
#include <utility>

namespace ordo::store::postgres {
namespace {

struct Explanation {
  std::string_view state;  // a SQLSTATE, or its class
  ErrorKind kind;
  const char* advice;
};

constexpr std::array kExplanations = {
    Explanation{"22", ErrorKind::invalid_argument, "nothing was stored"},
    Explanation{"54000", ErrorKind::invalid_argument, "nothing was stored"},
    Explanation{
        "25006", ErrorKind::unavailable,
        "this server is a standby; name the primary, or all hosts and target_session_attrs=read-write"},
    Explanation{"28", ErrorKind::unavailable, "check user, password and pg_hba.conf"},
    Explanation{"3D000", ErrorKind::unavailable, "create the database"},
    Explanation{"3F000", ErrorKind::unavailable, "create the schema, or check search_path"},
    Explanation{"42501", ErrorKind::unavailable, "grant this user the right"},
    Explanation{"42883", ErrorKind::unavailable, "Ordo's functions are gone: check database and search_path"},
    Explanation{"42P01", ErrorKind::unavailable, "Ordo's tables are gone: check database and search_path"},
    Explanation{"53100", ErrorKind::unavailable, "free some space on the server's disk"},
    Explanation{"53300", ErrorKind::unavailable, "raise max_connections or use a pooler"},
    Explanation{"55P03", ErrorKind::unavailable, "another transaction holds the row; it is tried again"},
    Explanation{"57P", ErrorKind::unavailable, "the server is going down or coming up; it is tried again"},
    Explanation{"XX001", ErrorKind::corrupt, "stop all its users and restore a backup"},
    Explanation{"XX002", ErrorKind::corrupt, "rebuild the index with REINDEX"},
};

Explanation explain(std::string_view state) {
  for (const auto& explanation : kExplanations) {
    if (state.starts_with(explanation.state)) return explanation;
  }
  return {state, ErrorKind::unavailable,
          state.empty() ? "check that it runs and can be reached" : "see its log"};
}

std::string first_line(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  return std::string(line.empty() ? "it does not answer" : line);
}

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

}  // namespace

std::string place_of(const std::string& url) {
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(url.c_str(), &why));
  if (options == nullptr) {
    // What libpq says of it may show the password.
    PQfreemem(why);
    throw Error(ErrorKind::invalid_argument,
                "cannot read the store's address (not shown, it may hold a password): use "
                "postgres://USER@HOST:PORT/DATABASE?SETTING=VALUE, with %-escapes for special characters");
  }
  std::string host = "the default host", database = "its default database";
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || *option->val == '\0') continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "host" || (keyword == "hostaddr" && host.starts_with("the "))) host = option->val;
    if (keyword == "port") host += std::string(":") + option->val;
    if (keyword == "dbname") database = option->val;
  }
  return "PostgreSQL at " + host + ", database " + database;
}

Connection::Connection(const std::string& url) : place_(place_of(url)) {
  // A server that is cut off is noticed; the URL's own settings come later and win.
  const std::array keywords = {"connect_timeout",
                               "keepalives_idle",
                               "tcp_user_timeout",
                               "application_name",
                               "dbname",
                               "client_encoding",
                               static_cast<const char*>(nullptr)};
  const std::array values = {
      "10", "15", "30000", "ordo", url.c_str(), "UTF8", static_cast<const char*>(nullptr)};
  handle_.reset(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (PQstatus(handle_.get()) != CONNECTION_OK) fail("connect to", nullptr);
  PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);
}

void Connection::fail(std::string_view task, const PGresult* result) const {
  const char* const code = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = code == nullptr ? "" : code;
  const char* const said = state.empty() ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const auto explanation = explain(state);
  const bool lost = PQstatus(handle_.get()) != CONNECTION_OK;
  throw DatabaseError(explanation.kind,
                      "cannot " + std::string(task) + " " + place_ + ": " +
                          first_line(said != nullptr ? said : PQerrorMessage(handle_.get())) +
                          (state.empty() ? "" : " (" + state + ")") + "; " + explanation.advice,
                      lost ? "" : state);
}

Result Connection::checked(std::string_view task, PGresult* raw) const {
  Result result(raw);
  const auto status = PQresultStatus(raw);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(task, raw);
  return result;
}

Result Connection::run(std::string_view task, const char* sql, const Parameters& parameters) {
  const auto pointers = parameters.pointers();
  return checked(task,
                 PQexecParams(handle_.get(), sql, parameters.count(), parameters.types_.data(),
                              pointers.values.data(), pointers.lengths.data(), pointers.formats.data(), 1));
}

void Connection::run_script(std::string_view task, const char* sql) {
  checked(task, PQexec(handle_.get(), sql));
}

void Connection::begin_pipeline() {
  if (PQenterPipelineMode(handle_.get()) != 1) fail("write to", nullptr);
  sent_ = 0;
}

void Connection::send(std::string_view task, const char* sql, const Parameters& parameters) {
  task_ = task;
  const auto pointers = parameters.pointers();
  if (PQsendQueryParams(handle_.get(), sql, parameters.count(), parameters.types_.data(),
                        pointers.values.data(), pointers.lengths.data(), pointers.formats.data(), 1) != 1) {
    fail(task, nullptr);
  }
  ++sent_;
}

std::vector<Result> Connection::finish_pipeline() {
  if (PQpipelineSync(handle_.get()) != 1) fail(task_, nullptr);
  std::vector<Result> results;
  std::optional<Result> error;
  for (bool at_sync = false; !at_sync;) {
    PGresult* const raw = PQgetResult(handle_.get());
    if (raw == nullptr) {  // the end of one statement's results
      if (PQstatus(handle_.get()) != CONNECTION_OK) fail(task_, nullptr);
      continue;
    }
    Result result(raw);
    const auto status = PQresultStatus(raw);
    if (status == PGRES_PIPELINE_SYNC) {
      at_sync = true;
    } else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      results.push_back(std::move(result));
    } else if (!error && status != PGRES_PIPELINE_ABORTED) {
      error.emplace(std::move(result));
      if (PQstatus(handle_.get()) != CONNECTION_OK) break;
    }
  }
  if (error) {
    const int in_step = PQexitPipelineMode(handle_.get());
    static_cast<void>(in_step);  // is_usable() tells
    fail(task_, error->handle());
  }
  if (PQexitPipelineMode(handle_.get()) != 1) fail(task_, nullptr);
  if (results.size() != sent_) fail(task_, nullptr);
  return results;
}

bool Connection::is_usable() {
  if (PQstatus(handle_.get()) != CONNECTION_OK || PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF ||
      PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) {
    return false;
  }
  // Nothing is expected now: what can be read are notifications, or the server's farewell and then the end.
  pollfd readable{.fd = socket(), .events = POLLIN, .revents = 0};
  while (poll(&readable, 1, 0) != 0) {
    if (PQconsumeInput(handle_.get()) != 1 || PQstatus(handle_.get()) != CONNECTION_OK) return false;
  }
  return true;
}

bool Connection::take_notifications() {
  PQconsumeInput(handle_.get());
  bool found = false;
  while (auto* const notification = PQnotifies(handle_.get())) {
    PQfreemem(notification);
    found = true;
  }
  return found;
}

}  // namespace ordo::store::postgres
