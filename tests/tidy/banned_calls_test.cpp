// Calls that may stand in named places only: time, chance, waiting, loose threads and catching.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source_tree.h"

namespace ordo::tidy {
namespace {

/// Words are whole identifiers; one that ends in "(" is a call.
struct Ban {
  std::string_view name;
  std::vector<std::string_view> words;
  std::string_view instead;
};

const std::vector<Ban> kBans = {
    {"clock",
     {"system_clock::now", "steady_clock::now", "high_resolution_clock::now", "clock_gettime(",
      "gettimeofday(", "std::time(", "time(nullptr", "time(0", "time(NULL"},
     "take a Clock (base/clock.h)"},
    {"random",
     {"random_device", "getrandom(", "arc4random(", "rand(", "srand("},
     "take a Random (base/random.h)"},
    {"sleep",
     {"sleep_for(", "sleep_until(", "sleep(", "usleep(", "nanosleep("},
     "wait on a condition with a stop_token"},
    {"detach", {"detach()"}, "own the thread: std::jthread"},
    {"fork", {"fork(", "vfork("}, "posix_spawn: the child of a threaded process may only exec"},
    {"catch", {"catch("}, "let it pass; catching is done in the few places that CONTRIBUTING.md names"},
};

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether `code` holds `word` as the pattern of a Ban.
bool holds(std::string_view code, std::string_view word) {
  const bool is_call = word.ends_with('(');
  const std::string_view name = word.substr(0, word.size() - (is_call ? 1 : 0));
  for (std::size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    if (at > 0 && is_identifier(code[at - 1])) continue;
    const std::string_view rest = code.substr(at + name.size());
    if (!rest.empty() && is_identifier(rest[0])) continue;
    const std::size_t next = rest.find_first_not_of(' ');
    if (!is_call || (next != std::string_view::npos && rest[next] == '(')) return true;
  }
  return false;
}

struct Allowed {
  std::string_view ban;
  std::string_view path;  ///< a file, or a folder with its '/'
  std::string_view reason;
};

const std::vector<Allowed> kAllowed = {
    {"clock", "src/base/clock.cpp", "the one reader of the machine's clocks"},
    {"random", "src/base/random.cpp", "the one reader of the machine's randomness"},
    {"detach", "src/client/store_callback.cpp",
     "the store's own thread cannot wait for the end of the store"},
    {"detach", "src/base/look_up.cpp", "nothing ends a look-up of the system's, and nobody may wait for it"},
    {"catch", "src/client/unique_push.cpp",
     "tells a callback what its push has thrown, on a thread of the client"},
    {"catch", "src/server/config_reading.cpp", "adds the line to what is wrong with a value"},
    {"catch", "src/server/config_file.cpp", "adds the line to what only the whole config shows"},
    {"catch", "src/sources/source_threads.cpp",
     "the loop of a source: its trouble is told, and holds up nothing else"},
    {"catch", "src/sources/sidekiq/retry_set.cpp", "a job that cannot be written is retried by Ordo"},
    {"catch", "src/domain/fields.h", "makes a value of why stored bytes are no record"},
    {"catch", "src/domain/retry.cpp", "around the user's retry function"},
    {"catch", "src/domain/throttle.cpp", "around the user's throttler"},
    {"catch", "tests/simulation/", "plays the service loops of nodes and clients"},
    {"catch", "include/ordo/worker.hpp", "around the user's perform, job by job"},
    {"catch", "src/store/redis/registry.cpp", "a node joins although what a reshard left cannot be removed"},
    {"catch", "src/base/start_thread.h", "says which limit keeps a thread from starting"},
    {"catch", "src/cli/signals.cpp", "stops without a thread of its own when there is none to have"},
    {"catch", "src/cli/work_command.cpp", "a config that cannot be read again is told, and the node goes on"},
    {"catch", "src/cli/web_command.cpp", "a config that cannot be read again is told, and the site goes on"},
    {"catch", "src/execute/command_worker.cpp", "what cannot be started is no failure of the jobs"},
    {"catch", "src/execute/library.cpp", "around the user's ordo_load"},
    {"catch", "src/execute/protocol.cpp", "tells a worker program why its job cannot wait for a key"},
    {"catch", "src/runtime/wait_desk.cpp",
     "a wait that cannot be opened is the run's failure, or not its fault"},
    {"catch", "src/store/response_inbox.cpp", "those before it are given, and need not be kept"},
    {"catch", "src/store/waits.cpp", "a log that was closed meanwhile is there again in a moment"},
    {"catch", "src/runtime/pool.cpp", "around the user's perform and error hooks"},
    {"catch", "src/runtime/node.cpp", "the loops of the node's threads"},
    {"catch", "src/runtime/node_threads.cpp", "what a thread of the node throws ends it"},
    {"catch", "src/runtime/user_calls.cpp", "around the user's handlers of events and deaths"},
    {"catch", "src/runtime/trouble.cpp", "gives the text of what the store completed with"},
    {"catch", "src/runtime/follower.cpp", "what cannot be loaded keeps nothing from being read; thrown on"},
    {"catch", "src/runtime/fetcher.h", "answers the run that asked, then throws on"},
    {"catch", "src/server/server.cpp", "around the user's hooks"},
    {"catch", "src/client/audit.h", "notes that a change has failed; thrown on"},
    {"catch", "src/client/audit.cpp", "what cannot be noted of a failure must not hide it"},
    {"catch", "src/client/ask_owners.cpp", "an owner that cannot be asked is done without"},
    {"catch", "src/client/idle_owner.cpp",
     "the loop that renews a copy's leases, and its end without a store"},
    {"catch", "src/client/client.cpp", "looks at why the store refused a push, on a thread of its own"},
    {"catch", "src/client/store_handle.cpp",
     "tries again where a reshard has moved the queue meanwhile; says why the new files are looked for"},
    {"catch", "src/client/source_list.cpp", "an origin that cannot be asked is shown as such"},
    {"catch", "src/client/worker.cpp", "the text of what the user's perform threw"},
    {"catch", "src/cli/main_entry.cpp", "the CLI's main: every error becomes a message and an exit code"},
    {"catch", "src/web/api.cpp", "the HTTP route: every error becomes a problem"},
    {"catch", "src/web/session_routes.cpp", "the log-in page tells people what is wrong with their token"},
    {"catch", "src/web/stats_watch.cpp", "a store that is away for a moment is asked again a second later"},
    {"catch", "src/web/connection.cpp", "what cannot be read of a request is answered; a connection ends"},
    {"catch", "src/faces/ndjson_push.cpp",
     "names the line that cannot be pushed; those before it stay pushed"},
    {"catch", "src/cli/push_command.cpp", "names the line that cannot be read; those before it are pushed"},
    {"catch", "src/store/sqlite/committer.cpp",
     "the committer's loop: an error belongs to those who wait for it"},
    {"catch", "src/store/redis/pipeline.cpp",
     "the pipeline's loop: an error belongs to those who wait for it, and the connection is made anew"},
    {"catch", "src/store/redis/slot_map.cpp", "of several servers one has to answer"},
    {"catch", "src/store/redis/sentinel.cpp", "of several sentinels one has to answer"},
    {"catch", "src/store/redis/log_reader.cpp", "a server that is gone keeps its own shards waiting alone"},
    {"catch", "src/store/postgres/postgres_store.cpp", "a wake is only a hint, and nodes end with one"},
    {"catch", "src/store/postgres/connection.cpp",
     "repeats what a server undid, and puts out a session that hangs"},
    {"catch", "src/store/postgres/pool.h", "a connection on which something failed is not used again"},
    {"catch", "src/store/postgres/committer.cpp",
     "the committer's loop: an error belongs to those who wait for it"},
    {"catch", "src/store/memory/memory_store.cpp",
     "gives an append's error to its completion, like a store with a thread"},
};

bool is_allowed(std::string_view ban, std::string_view path, std::set<const Allowed*>& used) {
  for (const Allowed& allowed : kAllowed) {
    const bool covers = allowed.path.ends_with('/') ? path.starts_with(allowed.path) : path == allowed.path;
    if (allowed.ban != ban || !covers) continue;
    used.insert(&allowed);
    return true;
  }
  return false;
}

TEST(BannedCalls, words_are_whole_identifiers) {
  EXPECT_TRUE(holds("} catch (...) {", "catch("));
  EXPECT_TRUE(holds("std::this_thread::sleep_for(1s);", "sleep_for("));
  EXPECT_TRUE(holds("auto t = std::chrono::steady_clock::now();", "steady_clock::now"));
  EXPECT_FALSE(holds("int catches(int);", "catch("));
  EXPECT_FALSE(holds("brand(x)", "rand("));
  EXPECT_TRUE(holds("thread.detach();", "detach()"));
  EXPECT_FALSE(holds("guard.detach(7);", "detach()"));
}

TEST(BannedCalls, stand_only_where_the_table_allows) {
  std::set<const Allowed*> used;
  const auto check = [&](const std::string& path, const Line& line) {
    for (const Ban& ban : kBans) {
      const bool found =
          std::ranges::any_of(ban.words, [&](std::string_view word) { return holds(line.text, word); });
      if (ban.name == "catch" && is_test_code(path)) continue;  // tests look at what is thrown
      if (!found || is_allowed(ban.name, path, used)) continue;
      ADD_FAILURE() << path << ":" << line.number << ": " << line.text << "\n  " << ban.name
                    << " is banned here: " << ban.instead;
    }
  };
  for (const std::string_view folder : {"include", "src", "tests/simulation"}) {
    for (const std::string& path : files_under(folder, {".h", ".hpp", ".cpp"})) {
      for (const Line& line : code_of(path)) check(path, line);
    }
  }
  for (const Allowed& allowed : kAllowed) {
    EXPECT_TRUE(used.contains(&allowed))
        << allowed.path << " no longer needs its exception for " << allowed.ban;
  }
}

}  // namespace
}  // namespace ordo::tidy
