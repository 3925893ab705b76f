#include "execute/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "execute/guard.h"

namespace ordo::execute {
namespace process_test {

using namespace std::chrono_literals;

/// The test program is its own guard.
[[gnu::constructor]] void be_a_guard(int argc, char** argv) {
  if (argc > 1 && argv[1] == kGuardArgument) ::_exit(guard_main(argc, argv));
}

const std::string kSelf = "/proc/self/exe";

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

Process::Sinks no_log() {
  return {[](int, std::string_view) {}, [](int, std::string_view) {}};
}

std::unique_ptr<Process> start(const std::string& script, const std::string& guard = kSelf,
                               std::shared_ptr<LeaseSignal> lease = nullptr) {
  return std::make_unique<Process>(shell(script), guard, std::move(lease), no_log());
}

/// The next answer, or the text "(ended)", within 60 s.
std::string answer_of(Process& process) {
  const Duration end = system_clock().steady() + 60s;
  while (system_clock().steady() < end) {
    if (const auto answer = process.next_answer()) return std::string(*answer);
    if (process.has_ended()) return "(ended)";
    process.wait(end - system_clock().steady(), -1);
  }
  return "(timeout)";
}

/// Waits up to 60 s for the end of a process that need not be a child.
bool ends(pid_t pid) {
  const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd watched{fd.get(), POLLIN, 0};
  return !fd || ::poll(&watched, 1, 60'000) == 1;
}

class ProcessTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Guard, ProcessTest, testing::Values(kSelf, std::string()),
                         [](const auto& test) { return test.param.empty() ? "without" : "with"; });

TEST_P(ProcessTest, answers_and_tells_how_it_ended) {
  const auto process = start("read line; echo \"{$line}\"; exit 3", GetParam());
  process->send("hello\n");
  EXPECT_EQ(answer_of(*process), "{hello}");
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_EQ(process->how_it_ended(), "exited with code 3");
  EXPECT_FALSE(process->ignored_request());
}

TEST_P(ProcessTest, a_request_that_was_not_read_is_known) {
  const auto process = start("echo '{}'; exit 0", GetParam());
  EXPECT_EQ(answer_of(*process), "{}");
  process->send("hello\n");
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_TRUE(process->ignored_request());
}

TEST_P(ProcessTest, its_children_die_with_it) {
  const auto process = start("sleep 1000 & echo \"{$!}\"; exit 0", GetParam());
  const auto answer = answer_of(*process);
  const pid_t grandchild = std::stoi(answer.substr(1));
  EXPECT_EQ(answer_of(*process), "(ended)");  // although the grandchild holds the pipes
  EXPECT_TRUE(ends(grandchild));
}

TEST_P(ProcessTest, kill_ends_the_whole_group) {
  const auto process = start("sleep 1000 & echo \"{$!}\"; wait", GetParam());
  const pid_t grandchild = std::stoi(answer_of(*process).substr(1));
  process->kill();
  EXPECT_TRUE(process->has_ended());
  EXPECT_TRUE(ends(grandchild));
}

/// Without a guard it leads its group, and cannot leave it so.
constexpr const char* kLeaver = R"(exec python3 -c '
import os, time
try: os.setsid()
except OSError: pass
print("{%d}" % os.getpid(), flush=True)
os.fork()
time.sleep(1000)')";

TEST_P(ProcessTest, kill_ends_a_worker_that_has_left_the_group) {
  const auto process = start(kLeaver, GetParam());
  const pid_t worker = std::stoi(answer_of(*process).substr(1));
  process->kill();
  EXPECT_TRUE(process->has_ended());
  EXPECT_TRUE(ends(worker));
}

TEST_P(ProcessTest, end_all_ends_a_worker_that_has_left_the_group) {
  std::vector<std::unique_ptr<Process>> processes;
  processes.push_back(start(kLeaver, GetParam()));
  EXPECT_NE(answer_of(*processes[0]), "(ended)");
  Process::end_all(processes, 0s, 60s);
  EXPECT_EQ(processes[0]->how_it_ended(), "killed by signal TERM");
}

TEST_P(ProcessTest, has_only_the_standard_streams) {
  int inherited[2];  // not close-on-exec
  ASSERT_EQ(::pipe(inherited), 0);
  const auto process = start("for f in 0 1 2 3 4 5 6 7 8 9 10 " + std::to_string(inherited[0]) + " " +
                                 std::to_string(inherited[1]) +
                                 "; do [ -e /proc/$$/fd/$f ] && found=\"$found $f\"; done; echo \"{$found}\"",
                             GetParam());
  EXPECT_EQ(answer_of(*process), "{ 0 1 2}");
  ::close(inherited[0]);
  ::close(inherited[1]);
}

TEST_P(ProcessTest, has_a_group_of_its_own) {
  const auto process =
      start("read -r pid comm state ppid pgrp rest < /proc/$$/stat; echo \"{$pgrp}\"", GetParam());
  const auto group = std::stoi(answer_of(*process).substr(1));
  EXPECT_NE(group, ::getpgrp());
}

TEST_P(ProcessTest, end_all_is_graceful_for_as_long_as_it_may) {
  std::string log;
  Process::Sinks sinks{[&](int, std::string_view line) { log.append(line).append(";"); },
                       [](int, std::string_view) {}};
  std::vector<std::unique_ptr<Process>> processes;
  const std::string ready = "echo '{}'; ";
  for (const auto* script : {"cat >/dev/null; echo end of input >&2",
                             "trap 'echo terminated >&2; exit 0' TERM; while :; do sleep 1000 & wait; done",
                             "trap '' TERM; while :; do sleep 1000; done"}) {
    processes.push_back(std::make_unique<Process>(shell(ready + script), GetParam(), nullptr, sinks));
    EXPECT_EQ(answer_of(*processes.back()), "{}");
  }
  const Duration before = system_clock().steady();
  Process::end_all(processes, 300ms, 300ms);
  const Duration took = system_clock().steady() - before;
  EXPECT_GE(took, 600ms);
  EXPECT_LT(took, 60s);
  EXPECT_EQ(log, "end of input;terminated;");
  for (const auto& process : processes) EXPECT_TRUE(process->has_ended());
  EXPECT_EQ(processes[0]->how_it_ended(), "exited with code 0");
}

TEST_P(ProcessTest, signals_that_are_blocked_or_ignored_here_are_not_there) {
  ::signal(SIGUSR1, SIG_IGN);
  const auto process = start("kill -USR1 $$; echo '{alive}'", GetParam());
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_EQ(process->how_it_ended(), "killed by signal USR1");
  ::signal(SIGUSR1, SIG_DFL);
}

TEST(Guard, kills_the_group_when_its_node_is_gone) {
  Spawned spawned = spawn_worker(shell("sleep 1000 & echo $!; wait"), kSelf);
  char text[32] = {};
  pollfd watched{spawned.output.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, 60'000), 1);
  ASSERT_GT(::read(spawned.output.get(), text, sizeof text - 1), 0);
  spawned.guard.reset();  // what the kernel does to the descriptors of a killed node
  EXPECT_TRUE(ends(std::stoi(text)));
  EXPECT_TRUE(ends(spawned.pid));
  EXPECT_EQ(::waitpid(spawned.pid, nullptr, 0), spawned.pid);
}

TEST(Guard, kills_when_the_lease_ends) {
  const auto lease = std::make_shared<LeaseSignal>();
  const auto process = start("echo '{}'; sleep 1000", kSelf, lease);
  EXPECT_EQ(answer_of(*process), "{}");
  lease->extend(1h);
  lease->extend(50ms);
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_EQ(process->ending().failure, FailureKind::lease_lost);
}

TEST(Guard, kills_a_worker_that_has_left_the_group) {
  const auto lease = std::make_shared<LeaseSignal>();
  const auto process = start(kLeaver, kSelf, lease);
  const pid_t worker = std::stoi(answer_of(*process).substr(1));
  lease->extend(50ms);
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_EQ(process->ending().failure, FailureKind::lease_lost);
  EXPECT_TRUE(ends(worker));
}

TEST(Guard, knows_the_lease_from_its_start) {
  const auto lease = std::make_shared<LeaseSignal>();
  lease->extend(0s);
  const auto process = start("sleep 1000", kSelf, lease);
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_EQ(process->ending().failure, FailureKind::lease_lost);
}

TEST(Guard, an_extended_lease_does_not_end) {
  for (Duration first = 300ms;; first *= 2) {
    const auto lease = std::make_shared<LeaseSignal>();
    const Duration end = system_clock().steady() + first;
    lease->extend(first);
    const auto process = start("read line; echo '{}'", kSelf, lease);
    lease->extend(Duration::max());
    if (system_clock().steady() > end - first / 2 && first < 60s) continue;  // it started too slowly
    while (system_clock().steady() < end + 100ms) process->wait(100ms, -1);
    process->send("\n");
    EXPECT_EQ(answer_of(*process), "{}");
    return;
  }
}

TEST(Guard, its_own_death_ends_the_worker) {
  const auto process = start("sleep 1000 & echo \"{$!}\"; kill -KILL $PPID; wait");
  const pid_t grandchild = std::stoi(answer_of(*process).substr(1));
  EXPECT_EQ(answer_of(*process), "(ended)");
  EXPECT_EQ(process->ending().failure, FailureKind::crash);
  EXPECT_TRUE(ends(grandchild));
}

TEST(Guard, says_why_the_command_did_not_start) {
  const Process::Sinks sinks = no_log();
  Process process({"ordo-no-such-program"}, kSelf, nullptr, sinks);
  EXPECT_EQ(answer_of(process), "(ended)");
  EXPECT_TRUE(process.ending().is_not_started());
  EXPECT_EQ(process.ending().text,
            "cannot run the command \"ordo-no-such-program\": No such file or directory (is it installed, "
            "and is its path right?)");
}

TEST(Guard, that_cannot_run_has_not_started_its_command) {
  const Process::Sinks sinks = no_log();
  Process process({"/bin/true"}, "/bin/false", nullptr, sinks);
  EXPECT_EQ(answer_of(process), "(ended)");
  EXPECT_TRUE(process.ending().is_not_started());
  EXPECT_EQ(process.ending().text.find(
                "cannot run the command \"/bin/true\": the guard that was to start it exited with code 1"),
            0u);
}

TEST(Guard, runs_for_nodes_only) {
  char name[] = "ordo", argument[] = "--guard", command[] = "true";
  char* argv[] = {name, argument, command, nullptr};
  EXPECT_EQ(guard_main(3, argv), 2);  // descriptor 3 is no such socket here
}

}  // namespace process_test
}  // namespace ordo::execute
