// Connections that say nothing any more: a dropped flow, a stuck proxy, a server that hangs.

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <sstream>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_silence_test {

using namespace std::chrono_literals;

class PostgresSilence : public PostgresFixture {
 protected:
  ~PostgresSilence() override {
    for (const auto pid : stopped_) kill(pid, SIGCONT);
  }

  /// The processes of the server that serve the store now say nothing more.
  void silence() {
    std::istringstream pids(session().run(
        "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = 'ordo'"));
    for (pid_t pid = 0; pids >> pid;) {
      ASSERT_EQ(kill(pid, SIGSTOP), 0);
      stopped_.push_back(pid);
    }
    ASSERT_FALSE(stopped_.empty());
  }

  /// By the call's own clock: one that waits for longer, or once more, says something else or is answered.
  template <class Body>
  void fails(Body body, const std::string& why = "no answer within 5s") {
    try {
      body();
      FAIL() << "it answered";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unavailable);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  std::vector<pid_t> stopped_;
};

TEST_F(PostgresSilence, every_call_ends_in_time_and_the_next_has_a_connection_of_its_own) {
  const auto grant = own();
  const auto log = owners_reader(grant);
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  EXPECT_TRUE(store_->renew("n1"));
  silence();
  auto renewed = std::async(std::launch::async, [&] { fails([&] { store_->renew("n1"); }); });
  auto read = std::async(std::launch::async, [&] { fails([&] { log->read(10); }); });
  fails([&] { commit(grant, 1, seqs_); });
  renewed.get();
  read.get();
  EXPECT_TRUE(store_->renew("n1"));
  append("b");
  EXPECT_EQ(rest(*log), Texts{"b"});
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
}

// The lease does not wait for as long as other calls may.
TEST_F(PostgresSilence, a_renewal_waits_for_as_long_as_it_is_told_and_the_next_is_answered) {
  own();
  EXPECT_TRUE(store_->renew("n1"));
  silence();
  fails([&] { store_->renew("n1", 500ms); }, "no answer within 500ms");
  EXPECT_TRUE(store_->renew("n1"));
}

TEST_F(PostgresSilence, a_sleeping_reader_notices_it) {
  const auto log = owners_reader(own());
  EXPECT_EQ(rest(*log), Texts{});
  auto failures = std::async(std::launch::async, [&] {
    for (int count = 0;; ++count) {
      try {
        log->wait(24h);
        return count;
      } catch (const Error&) {
        // as a node does
      }
    }
  });
  while (session().run("SELECT count(*) FROM ordo_sleeper") != "1") std::this_thread::yield();
  silence();
  const auto second = open();
  append_and_wait(*second, {{.shard = shard(), .bytes = "a"}});
  EXPECT_GT(failures.get(), 0) << "it asks now and then, and gives up";
  EXPECT_EQ(rest(*log), Texts{"a"});
}

// What was under way when the connection went silent may still happen: the batch says so.
TEST_F(PostgresSilence, a_delta_of_unknown_outcome_is_written_once) {
  const auto grant = own();
  append("a");
  const auto log = owners_reader(grant);
  EXPECT_EQ(rest(*log), Texts{"a"});
  auto blocker = session();
  blocker.run("BEGIN");
  blocker.run("SELECT * FROM ordo_shard FOR UPDATE");
  auto committed = std::async(std::launch::async, [&] { return commit(grant, 1, seqs_); });
  const std::string waiting =
      "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ordo_commit%'";
  while (session().run("SELECT count(*) " + waiting) != "1") std::this_thread::yield();
  stopped_.push_back(std::stoi(session().run("SELECT pid " + waiting)));
  kill(stopped_[0], SIGSTOP);
  EXPECT_THROW(committed.get(), Error);
  blocker.run("COMMIT");
  kill(stopped_[0], SIGCONT);  // and it goes on
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
  EXPECT_EQ(whole(), Texts{});
}

// Known: the server ends what takes too long before its client goes.
TEST_F(PostgresSilence, who_waits_for_another_transaction_is_told_that_nothing_was_done) {
  auto blocker = session();
  blocker.run("BEGIN");
  blocker.run("SELECT * FROM ordo_queue FOR UPDATE");
  try {
    store_->set_paused("orders", true);
    FAIL() << "it answered";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing was done"), std::string::npos) << error.what();
  }
  blocker.run("COMMIT");
  EXPECT_TRUE(store_->set_paused("orders", true));
}

// Each time that it has said nothing for as long as other calls may take the server is asked.
TEST_F(PostgresSilence, a_long_call_is_waited_for_as_long_as_the_server_is_at_it) {
  auto blocker = session();
  blocker.run("BEGIN");
  blocker.run("SELECT * FROM ordo_queue FOR UPDATE");
  auto removed = std::async(std::launch::async, [&] { return store_->remove("orders"); });
  const std::string waits_for_long =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ordo_remove%'"
      " AND xact_start < clock_timestamp() - interval '12 s'";
  while (session().run(waits_for_long) != "1" && removed.wait_for(100ms) != std::future_status::ready) {
  }
  blocker.run("COMMIT");
  EXPECT_TRUE(removed.get());
}

// It is in nobody's way any more only when it is gone: the server cannot end it.
TEST_F(PostgresSilence, a_long_call_names_the_stopped_process_that_has_a_lock_which_it_needs) {
  auto blocker = session();
  blocker.run("SET application_name = 'dump'");
  blocker.run("BEGIN");
  blocker.run("SELECT * FROM ordo_queue FOR UPDATE");
  const auto pid = std::stoi(blocker.run("SELECT pg_backend_pid()"));
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  stopped_.push_back(pid);
  fails([&] { store_->remove("orders"); },
        "nothing was done; another transaction holds what it needs: process " + std::to_string(pid) +
            " (dump, user ");
  EXPECT_TRUE(store_->queues().find("orders") != nullptr);
  kill(pid, SIGCONT);
  blocker.run("COMMIT");
  EXPECT_TRUE(store_->remove("orders"));
}

// As the committer's own session would be, cut off in the middle.
TEST_F(PostgresSilence, a_client_that_stopped_half_way_holds_up_no_commit) {
  const auto grant = own();
  auto stopped = session();
  stopped.run("BEGIN");
  stopped.run("UPDATE ordo_shard SET clean = false");
  EXPECT_EQ(commit(grant, 1), CommitResult::applied);
  EXPECT_THROW(stopped.run("COMMIT"), std::runtime_error);
}

TEST(PostgresConnect, is_not_waited_for_long) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 8), 0);  // the kernel takes connections, nobody speaks
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto url = "postgres://user:s3cret@127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/jobs";
  for (const std::string settings : {"", "?sslmode=disable&connect_timeout=0"}) {
    try {
      const postgres::PostgresStore store(url + settings, system_clock());
      ADD_FAILURE() << "it answered";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("timeout"), std::string::npos) << error.what();
    }
  }
  close(listener);
}

}  // namespace postgres_silence_test
}  // namespace ordo::store
