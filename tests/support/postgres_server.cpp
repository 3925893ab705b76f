#include "support/postgres_server.h"

#include <libpq-fe.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace ordo::test {
namespace {

using namespace std::chrono_literals;

bool is_root() { return geteuid() == 0; }

std::filesystem::path make_directory() {
  // The durability of disks is not tested here.
  const char* const parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  std::string path = std::string(parent) + "/ordo-pg-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path);
  if (is_root() && std::system(("chown postgres: " + path).c_str()) != 0) {
    throw std::runtime_error("there is no user postgres; ./dev setup installs PostgreSQL");
  }
  return path;
}

std::string as_postgres(const std::string& options) {
  return is_root() ? "exec setpriv --reuid postgres --regid postgres --clear-groups " + options + " "
                   : "exec ";
}

}  // namespace

std::string postgres_programs() {
  for (const std::string path : {"/usr/lib/postgresql/15/bin", "/usr/bin", "/usr/local/bin"}) {
    if (std::filesystem::exists(path + "/initdb")) return path;
  }
  throw std::runtime_error("PostgreSQL 15 is not installed; ./dev setup does it");
}

void run_as_postgres(const std::string& command) {
  if (std::system((as_postgres("") + command).c_str()) != 0) throw std::runtime_error("failed: " + command);
}

pid_t spawn_as_postgres(const std::string& command) {
  const auto line = as_postgres("--pdeathsig KILL") + command;
  const char* const arguments[] = {"sh", "-c", line.c_str(), nullptr};
  pid_t process = 0;
  if (posix_spawnp(&process, "sh", nullptr, nullptr, const_cast<char* const*>(arguments), environ) != 0) {
    throw std::runtime_error("cannot start " + line);
  }
  return process;
}

PostgresSession::PostgresSession(const std::string& url) : handle_(PQconnectdb(url.c_str()), PQfinish) {
  if (PQstatus(handle()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(handle()));
  PQsetNoticeProcessor(
      handle(), [](void*, const char*) {}, nullptr);
}

std::string PostgresSession::run(const std::string& sql) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(handle(), sql.c_str()), PQclear);
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(handle()));
  }
  return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
}

PostgresServer::PostgresServer() : directory_(make_directory()) {
  run_as_postgres(postgres_programs() + "/initdb -D " + directory_.string() +
                  "/data -A trust -U postgres --no-sync --locale=C.UTF-8 -E UTF8 >/dev/null");
  start();
}

PostgresServer::~PostgresServer() {
  stop(SIGQUIT);
  std::error_code ignored;  // a process of the server may still be writing there
  for (int i = 0; i < 100 && std::filesystem::exists(directory_, ignored); ++i)
    std::filesystem::remove_all(directory_, ignored);
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

void PostgresServer::start(const std::string& options) {
  process_ =
      spawn_as_postgres(postgres_programs() + "/postgres -D " + directory_.string() +
                        "/data -c listen_addresses= -c unix_socket_directories=" + directory_.string() +
                        " -c max_connections=300 -c max_prepared_transactions=10 " + options + " 2>>" +
                        directory_.string() + "/log");
  const auto url = this->url("public");
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (PQping(url.c_str()) != PQPING_OK) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("PostgreSQL does not start");
    std::this_thread::sleep_for(5ms);
  }
}

void PostgresServer::stop(int signal) {
  if (process_ == 0) return;
  ::kill(process_, signal);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

void PostgresServer::kill() { stop(SIGQUIT); }

void PostgresServer::back_up() {
  run_as_postgres(postgres_programs() + "/pg_basebackup -U postgres -h " + directory_.string() + " -D " +
                  (directory_ / "backup").string() + " --checkpoint=fast --no-sync");
}

void PostgresServer::restore() {
  kill();
  std::filesystem::remove_all(directory_ / "data");
  std::filesystem::rename(directory_ / "backup", directory_ / "data");
  start();
}

std::string PostgresServer::url(const std::string& schema, const std::string& application) const {
  return "postgres://postgres@/postgres?host=" + directory_.string() + "&options=-csearch_path%3D" + schema +
         (application.empty() ? "" : "&application_name=" + application);
}

std::string PostgresServer::run(const std::string& sql) { return PostgresSession(url("public")).run(sql); }

std::string PostgresServer::new_schema() {
  static std::atomic<int> number = 0;
  const auto schema = "s" + std::to_string(++number);
  run("CREATE SCHEMA " + schema);
  return url(schema);
}

std::string PostgresServer::new_database(const std::string& encoding) {
  static std::atomic<int> number = 0;
  const auto name = "d" + std::to_string(++number);
  run("CREATE DATABASE " + name + " ENCODING '" + encoding +
      "' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
  auto url = this->url("public");
  const std::string_view database = "/postgres?";
  return url.replace(url.find(database), database.size(), "/" + name + "?");
}

}  // namespace ordo::test
