// Talking to a server, and making one clear error of everything that can be said back.
#include "store/postgres/connection.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/time_text.h"
#include "store/postgres/hosts.h"

namespace ordo::store::postgres {
namespace {

struct Explanation {
  std::string_view state;  // a SQLSTATE, or its class
  ErrorKind kind;
  const char* advice;
};

// A client that was cut off in the middle of a transaction, this one's own earlier self, too, holds its
// shards for hours, and nobody but who waits for them notices.
constexpr const char* kEvict = "SELECT ordo_evict()";
constexpr std::string_view kLockTimeout = "55P03";

constexpr const char* kStandby =
    "this server is a standby; name the primary, or all hosts and target_session_attrs=read-write";

constexpr std::array kExplanations = {
    Explanation{"22P05", ErrorKind::invalid_argument,
                "nothing was stored; only a database with ENCODING 'UTF8' has all characters"},
    Explanation{"22", ErrorKind::invalid_argument, "nothing was stored"},
    Explanation{"54000", ErrorKind::invalid_argument, "nothing was stored"},
    Explanation{"0A000", ErrorKind::unavailable, kStandby},  // of BEGIN
    Explanation{"28", ErrorKind::unavailable, "check user, password and pg_hba.conf"},
    Explanation{"3D000", ErrorKind::unavailable, "create the database"},
    Explanation{"3F000", ErrorKind::unavailable, "create the schema, or check search_path"},
    Explanation{"42501", ErrorKind::unavailable, "grant this user the right"},
    Explanation{"42883", ErrorKind::unavailable, "Ordo's functions are gone: check database and search_path"},
    Explanation{"42P01", ErrorKind::unavailable, "Ordo's tables are gone: check database and search_path"},
    Explanation{"53100", ErrorKind::unavailable, "free some space on the server's disk"},
    Explanation{"53300", ErrorKind::unavailable, "raise max_connections or use a pooler"},
    Explanation{"57014", ErrorKind::unavailable,
                "nothing was done; the server is busy, or another transaction holds what it needs"},
    Explanation{"55P03", ErrorKind::unavailable, "nothing was done; another transaction holds what it needs"},
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

// What libpq says of a URL that it cannot read may show the password.
Error unreadable() {
  return Error(ErrorKind::invalid_argument,
               "cannot read the store's address (not shown, it may hold a password): use "
               "postgres://USER@HOST:PORT/DATABASE?SETTING=VALUE, with %-escapes for special characters");
}

// A password with a plain @ or / ends where nobody wants it: what follows would be host, port or database,
// which messages show.
bool has_torn_password(std::string_view url) {
  const auto authority = url.find("://");
  if (authority == std::string_view::npos) return false;
  const auto rest = url.substr(authority + 3, url.find('?') - authority - 3);
  const auto slash = rest.find('/');
  return rest.find('@') != rest.rfind('@') ||
         (slash != std::string_view::npos && rest.find('@', slash) != std::string_view::npos);
}

Options options_of(const std::string& url) {
  char* why = nullptr;
  Options options(PQconninfoParse(url.c_str(), &why));
  PQfreemem(why);
  if (options == nullptr || has_torn_password(url)) throw unreadable();
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (std::string_view(option->keyword) != "port" || option->val == nullptr) continue;
    if (std::string_view(option->val).find_first_not_of("0123456789,") != std::string_view::npos)
      throw unreadable();
  }
  return options;
}

bool waits_for_ever(const std::string& url) {
  const auto options = options_of(url);
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (std::string_view(option->keyword) != "connect_timeout" || option->val == nullptr) continue;
    return std::atoi(option->val) <= 0;
  }
  return false;
}

}  // namespace

std::string place_of(const std::string& url) {
  const auto options = options_of(url);
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
  // A server that is cut off is noticed; the URL's own settings come later and win, but for one that waits
  // for ever. The time to connect is that of each of several hosts.
  const std::string connect_s = "3";
  Settings settings = {
      {"connect_timeout", connect_s}, {"keepalives_idle", "15"}, {"tcp_user_timeout", "30000"},
      {"application_name", "ordo"},   {"dbname", url},           {"client_encoding", "UTF8"}};
  if (waits_for_ever(url)) settings.emplace_back("connect_timeout", connect_s);
  const auto hosts = look_up_hosts(settings);
  if (!hosts.trouble.empty()) {
    throw DatabaseError(ErrorKind::unavailable, "cannot connect to " + place_ + ": " + hosts.trouble, "");
  }
  if (!hosts.names.empty()) {
    settings.insert(settings.end(),
                    {{"host", hosts.names}, {"hostaddr", hosts.addresses}, {"port", hosts.ports}});
  }
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : settings) {
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  handle_.reset(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (PQstatus(handle_.get()) != CONNECTION_OK) fail("connect to", nullptr);
  PQsetnonblocking(handle_.get(), 1);
  PQsetNoticeReceiver(handle_.get(), take_notice, this);
}

// A session that is told not to wait for a standby any more says with a mere warning that it has committed.
void Connection::take_notice(void* self, const PGresult* notice) {
  const char* const from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (from != nullptr && std::string_view(from) == "SyncRepWaitForLSN")
    static_cast<Connection*>(self)->is_confirmed_ = false;
}

void Connection::fail(std::string_view task, const PGresult* result) const {
  const char* const code = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = code == nullptr ? "" : code;
  const char* const said = state.empty() ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const auto line = first_line(said != nullptr ? said : PQerrorMessage(handle_.get()));
  auto explanation = explain(state);
  if (state.empty() && line.ends_with("session is read-only"))
    explanation.advice = kStandby;  // libpq's own words
  // Of a connection that the server refuses libpq tells no state.
  if (state.empty() && (line.ends_with("too many clients already") ||
                        line.find("remaining connection slots are reserved") != std::string::npos))
    explanation = explain("53300");
  const bool lost = PQstatus(handle_.get()) != CONNECTION_OK;
  throw DatabaseError(explanation.kind,
                      "cannot " + std::string(task) + " " + place_ + ": " + line +
                          (state.empty() ? "" : " (" + state + ")") + "; " + explanation.advice,
                      lost ? "" : state);
}

// Whatever waits is over at once: closing asks nobody.
void Connection::give_up() {
  shutdown(socket(), SHUT_RDWR);
  throw DatabaseError(ErrorKind::unavailable,
                      "cannot " + task_ + " " + place_ + ": no answer within " + format_duration(patience_) +
                          "; it, the network or a proxy is stuck, or a pooler has no session free",
                      "");
}

// False: nothing has moved for as long as the call may take.
bool Connection::wait_for_socket(bool has_unsent) {
  auto* const tls = static_cast<SSL*>(PQsslStruct(handle_.get(), "OpenSSL"));
  if (tls != nullptr && SSL_pending(tls) > 0) return true;  // read from the socket already
  const auto events = static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN);
  pollfd waiting{.fd = socket(), .events = events, .revents = 0};
  const auto end = system_clock().steady() + patience_;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - system_clock().steady()).count();
    if (left <= 0) return false;
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready != 0 && !(ready < 0 && errno == EINTR)) return true;
  }
}

// Sends what is to be sent, until a result is there. Of a connection that is lost next_result() tells.
void Connection::await() {
  for (;;) {
    const int unsent = PQflush(handle_.get());
    if (unsent == 0 && PQisBusy(handle_.get()) == 0) return;
    if (PQstatus(handle_.get()) != CONNECTION_OK) return;
    // Of a long call that has just ended the answer may be on its way.
    const bool goes_on =
        wait_for_socket(unsent > 0) || (is_under_way_ && (is_under_way_() || wait_for_socket(unsent > 0)));
    if (!goes_on) give_up();
    if (PQconsumeInput(handle_.get()) != 1) return;
  }
}

PGresult* Connection::next_result() {
  await();
  return PQgetResult(handle_.get());
}

void Connection::run_plain(const char* sql) {
  if (PQsendQuery(handle_.get(), sql) != 1) fail(task_, nullptr);
  std::optional<Result> error;
  while (auto* const raw = next_result()) {
    Result result(raw);
    const auto status = PQresultStatus(raw);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && !error) error.emplace(std::move(result));
  }
  if (error) fail(task_, error->handle());
}

void Connection::run_script(std::string_view task, const char* sql, Duration patience) {
  task_ = task;
  patience_ = patience;
  run_plain(sql);
}

Result Connection::run(std::string_view task, const char* sql, const Parameters& parameters,
                       Duration patience) {
  constexpr int kAttempts = 4;
  for (int attempt = 1;; ++attempt) {
    try {
      begin_pipeline(patience);
      if (mark_) {
        send(task, "SELECT pg_advisory_xact_lock($1)", Parameters().number(*mark_));
        patience_ = kAnswer;
      }
      send(task, sql, parameters);
      return std::move(finish_pipeline().back());
    } catch (const DatabaseError& error) {
      const bool may_evict = attempt == 1 && error.state() == kLockTimeout && sql != kEvict;
      if (attempt == kAttempts || !is_whole_ || !(may_evict || error.state().starts_with("40"))) throw;
      if (may_evict) evict();
    }
  }
}

void Connection::evict() { run("put out who holds the shards of", kEvict); }

// A connection on which it fails is used no more.
Result Connection::run_long(std::string_view task, const char* sql, const Parameters& parameters,
                            const LookAt& look_at) {
  mark_ = static_cast<std::int64_t>(Random::from_system().next() >> 1);
  std::string holder;
  is_under_way_ = [end = system_clock().steady() + kLongAnswer, mark = *mark_, look_at, &holder] {
    if (system_clock().steady() >= end) return false;
    auto progress = look_at(mark);
    if (!progress.waits_for.empty()) holder = std::move(progress.waits_for);
    return progress.goes_on;
  };
  try {
    auto result = run(task, sql, parameters, kLongAnswer);
    mark_.reset();
    is_under_way_ = {};
    return result;
  } catch (const DatabaseError& error) {
    if (error.state() != kLockTimeout || holder.empty()) throw;
    throw DatabaseError(error.kind(), error.what() + (": " + holder) + "; end it, then try again",
                        error.state());
  }
}

void Connection::begin_pipeline(Duration patience) {
  task_ = "write to";
  patience_ = patience;
  is_confirmed_ = true;
  is_whole_ = PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
  if (PQenterPipelineMode(handle_.get()) != 1) fail(task_, nullptr);
  sent_ = 0;
  if (!is_whole_) return;
  // Before the client gives up the server does: then it is known that nothing has happened.
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  using std::chrono::milliseconds;
  const auto lock_ms = std::min(ms * 3 / 10, std::chrono::duration_cast<milliseconds>(kLongLock).count());
  send("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", {});
  send(
      "SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),"
      " set_config('idle_in_transaction_session_timeout', '0', true),"
      " set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), "
      "'on'), true), set_config('jit', 'off', true)",  // small tables that no one has analysed seem huge to
                                                       // it
      Parameters().text(std::to_string(ms - ms / 10)).text(std::to_string(lock_ms)));
}

void Connection::send(const char* sql, const Parameters& parameters) {
  const auto pointers = parameters.pointers();
  if (PQsendQueryParams(handle_.get(), sql, parameters.count(), parameters.types_.data(),
                        pointers.values.data(), pointers.lengths.data(), pointers.formats.data(), 1) != 1) {
    fail(task_, nullptr);
  }
}

void Connection::send(std::string_view task, const char* sql, const Parameters& parameters) {
  task_ = task;
  send(sql, parameters);
  ++sent_;
}

std::vector<Result> Connection::finish_pipeline() {
  if (is_whole_) send("COMMIT", {});
  if (PQpipelineSync(handle_.get()) != 1) fail(task_, nullptr);
  std::vector<Result> results;
  std::optional<Result> error;
  for (bool at_sync = false; !at_sync;) {
    PGresult* const raw = next_result();
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
  const bool in_step = PQexitPipelineMode(handle_.get()) == 1;  // if not, is_usable() tells, too
  if (error) {
    if (in_step && PQtransactionStatus(handle_.get()) == PQTRANS_INERROR) run_plain("ROLLBACK");
    fail(task_, error->handle());
  }
  if (!std::exchange(is_confirmed_, true)) {
    throw DatabaseError(
        ErrorKind::unavailable,
        "cannot " + task_ + " " + place_ +
            ": no standby has confirmed it, as an administrator ended the wait; it may be lost with this "
            "server; check the standbys (pg_stat_replication)",
        "");
  }
  constexpr std::ptrdiff_t kBegin = 2, kCommit = 1;
  if (is_whole_ && std::ssize(results) >= kBegin + kCommit) {
    results.pop_back();
    results.erase(results.begin(), results.begin() + kBegin);
  }
  if (!in_step || results.size() != sent_) fail(task_, nullptr);
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
