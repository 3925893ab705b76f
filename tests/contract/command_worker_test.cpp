#include "execute/command_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "execute/protocol.h"

namespace ordo::execute {
namespace command_worker_test {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// process_test.cpp makes the test program its own guard.
class CommandWorkerTest : public testing::TestWithParam<std::string> {
 protected:
  CommandWorkerTest() { options_.guard = GetParam(); }

  std::unique_ptr<CommandWorker> worker(std::vector<std::string> command) {
    options_.command = std::move(command);
    options_.log = [this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      log_.emplace_back(text);
      if (on_log_) on_log_(text);
    };
    return std::make_unique<CommandWorker>(options_);
  }
  std::unique_ptr<CommandWorker> shell(const std::string& script) {
    return worker({"/bin/sh", "-c", script});
  }

  std::vector<Outcome> run(Worker& worker, std::vector<BatchJob> jobs, Duration timeout = 60s,
                           unsigned thread = 0) {
    Batch batch("orders", "charge", std::move(jobs), timeout, thread, stop_.get_token());
    worker.perform(batch);
    return batch.take_outcomes(Outcome::fail("(nothing reported)"));
  }
  Outcome run_one(Worker& worker, Duration timeout = 60s, unsigned thread = 0) {
    return run(worker, {job("1")}, timeout, thread)[0];
  }

  static BatchJob job(std::string id, std::string payload = "") {
    return {.id = id, .key = id, .payloads = {{std::move(payload), 1}}};
  }

  static std::optional<FailureKind> why_alone(const Outcome& outcome) {
    return outcome.is_put_back_alone() ? std::optional(outcome.failure) : std::nullopt;
  }

  std::string all_logs() {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& line : log_) all.append(line).append("\n");
    return all;
  }

  CommandOptions options_{.command = {}, .queue = "orders", .kind = "charge"};
  std::mutex mutex_;
  std::vector<std::string> log_;
  std::function<void(std::string_view)> on_log_;
  std::stop_source stop_;
};

INSTANTIATE_TEST_SUITE_P(Guard, CommandWorkerTest,
                         testing::Values(std::string("/proc/self/exe"), std::string()),
                         [](const auto& test) { return test.param.empty() ? "without" : "with"; });

const std::string kTellPid = "while read line; do echo '{\"results\":{\"1\":{\"discard\":\"'$$'\"}}}'; done";

TEST_P(CommandWorkerTest, one_process_serves_a_thread_from_its_first_batch_on) {
  const auto worker = shell(kTellPid);
  const auto pid = run_one(*worker).text;
  EXPECT_EQ(run_one(*worker).text, pid);
  EXPECT_NE(run_one(*worker, 60s, 1).text, pid);
  EXPECT_EQ(run_one(*worker).text, pid);
}

TEST_P(CommandWorkerTest, answers_in_python) {
  const auto python = worker({"python3", "-c",
                              "import json, sys\n"
                              "for line in sys.stdin:\n"
                              "  jobs = json.loads(line)['jobs']\n"
                              "  print('a print does not harm', flush=True)\n"
                              "  print({'order': 7}, flush=True)\n"
                              "  print(json.dumps({'level': 'info', 'of': {'ok': 1}}), flush=True)\n"
                              "  results = {j['id']: {'discard': json.dumps(j['payloads'])} for j in jobs}\n"
                              "  print(json.dumps({'results': results}), flush=True)\n"});
  const auto outcomes =
      run(*python, {job("1", R"({ "v" : [1, 2.50] })"), job("заказ", "\xff"), job("3", "")});
  EXPECT_EQ(outcomes[0].text, R"([{"v": [1, 2.5]}])");
  EXPECT_EQ(outcomes[1].text, R"([{"$base64": "/w=="}])");
  EXPECT_EQ(outcomes[2].text, R"([""])");
  EXPECT_THAT(all_logs(), AllOf(HasSubstr(" stdout: a print does not harm\n"),
                                HasSubstr(" stdout, no answer: {'order': 7}\n"),
                                HasSubstr(R"( stdout, no answer: {"level": "info", "of": {"ok": 1}})")));
}

TEST_P(CommandWorkerTest, a_crash_tells_its_signal_and_last_words) {
  const auto worker = shell("read line; echo first >&2; echo last words >&2; kill -SEGV $$");
  for (int i = 0; i < 2; ++i) {
    const auto outcome = run_one(*worker);
    EXPECT_EQ(outcome.kind, Outcome::Kind::failed);
    EXPECT_EQ(outcome.failure, FailureKind::crash);
    EXPECT_EQ(outcome.text,
              "the worker process was killed by signal SEGV: last words\nstderr:\nfirst\nlast words");
  }
  EXPECT_THAT(all_logs(), AllOf(StartsWith("orders/charge["), HasSubstr("] stderr: last words\n")));
}

TEST_P(CommandWorkerTest, an_exit_tells_its_code_and_the_end_of_stderr) {
  const auto worker = shell("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; exit 3");
  const auto outcome = run_one(*worker);
  EXPECT_EQ(outcome.failure, FailureKind::crash);
  EXPECT_THAT(outcome.text, StartsWith("the worker process exited with code 3: "));
  EXPECT_TRUE(outcome.text.ends_with("\nline 1999"));
  EXPECT_NEAR(static_cast<double>(outcome.text.size()), 4096 + 48, 10);
  EXPECT_EQ(run_one(*shell("exit 0")).text, "the worker process exited with code 0 without an answer");
}

TEST_P(CommandWorkerTest, a_crash_is_a_failure_of_none_of_several) {  // rules 3.1
  const auto worker = shell("exit 1");
  for (const auto& outcome : run(*worker, {job("1"), job("2")}))
    EXPECT_EQ(why_alone(outcome), FailureKind::crash);
  EXPECT_THAT(all_logs(), HasSubstr("exited with code 1; it ran 2 jobs, which are put back "
                                    "and run one by one"));
}

TEST_P(CommandWorkerTest, a_timeout_is_a_failure_of_none_of_several) {
  const auto worker = shell("read line; sleep 1000");
  for (const auto& outcome : run(*worker, {job("1"), job("2")}, 100ms))
    EXPECT_EQ(why_alone(outcome), FailureKind::timeout);
}

// It may be for a timeout, which the node sees first: the runner knows (runner_test.cpp).
TEST_P(CommandWorkerTest, a_stop_puts_several_back_to_run_alone) {
  stop_.request_stop();
  for (const auto& outcome : run(*shell("read line"), {job("1"), job("2")}))
    EXPECT_EQ(why_alone(outcome), FailureKind::timeout);
}

TEST_P(CommandWorkerTest, what_its_process_never_saw_is_just_put_back) {
  const std::string big = '"' + std::string(kMaxLine / 2, '7') + '"';
  for (const auto* end : {"exit 1", "echo '{no answer'"}) {
    const auto outcomes =
        run(*shell(std::string("head -n 1 > /dev/null; ") + end), {job("1", big), job("2", big)});
    EXPECT_EQ(outcomes[0].kind, Outcome::Kind::failed) << "it was alone";
    EXPECT_EQ(outcomes[1].kind, Outcome::Kind::put_back);
    EXPECT_EQ(why_alone(outcomes[1]), std::nullopt);
  }
}

TEST_P(CommandWorkerTest, a_command_that_cannot_run_is_not_the_fault_of_its_jobs) {
  for (const auto& [program, why] :
       {std::pair("ordo-no-such-program", "No such file or directory (is it installed"),
        std::pair("/etc/passwd", "Permission denied (is it executable?)")}) {
    const auto bad = worker({program});
    const auto outcome = run_one(*bad);
    EXPECT_TRUE(outcome.is_not_started());
    EXPECT_THAT(outcome.text, StartsWith("cannot run the command \"" + std::string(program) + "\": " + why));
  }
}

/// No more descriptors can be opened while it lives, but for so many.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    rlimit less = before_;
    less.rlim_cur = static_cast<rlim_t>(next + left);
    ::setrlimit(RLIMIT_NOFILE, &less);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_P(CommandWorkerTest, without_descriptors_threads_share_the_processes_there_are) {
  std::atomic<bool> reads = false;
  const auto worker = shell(
      "while read line; do case $line in *wait*) echo reads; sleep 1000;; esac; "
      "echo '{\"results\":{\"1\":{\"discard\":\"'$$'\"}}}'; done");
  on_log_ = [&](std::string_view text) { reads = reads || text.ends_with(" stdout: reads"); };
  const auto pid = run_one(*worker).text;
  {
    const FewDescriptors few(32 +
                             2);  // those that are kept for the store, an event's, and one of a pipe's two
    EXPECT_EQ(run_one(*worker, 60s, 1).text, pid);
    EXPECT_EQ(run_one(*worker, 60s, 0).text, pid);
    std::thread other([&] { run(*worker, {job("1", "\"wait\"")}, 60s, 0); });
    while (!reads) std::this_thread::yield();
    const auto outcome = run_one(*worker, 60s, 1);
    EXPECT_TRUE(outcome.is_not_started());
    EXPECT_THAT(outcome.text,
                HasSubstr("Too many open files (the limit of open files is reached: ulimit -n)"));
    stop_.request_stop();
    other.join();
  }
  stop_ = {};
  EXPECT_EQ(run_one(*worker, 60s, 1).kind, Outcome::Kind::discarded);
}

TEST_P(CommandWorkerTest, a_timeout_kills) {
  const auto worker = shell("read line; sleep 1000");
  const auto outcome = run_one(*worker, 100ms);
  EXPECT_EQ(outcome.failure, FailureKind::timeout);
  EXPECT_EQ(outcome.text, "the run took longer than its timeout of 100ms; the worker process was killed");
}

TEST_P(CommandWorkerTest, a_stop_kills_and_puts_back) {
  const auto worker = shell("read line; echo begun; sleep 1000");
  on_log_ = [this](std::string_view text) {
    if (text.ends_with(" stdout: begun")) stop_.request_stop();
  };
  EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::put_back);
  EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::put_back);  // already requested: nothing is started
}

TEST_P(CommandWorkerTest, a_stop_of_another_thread_wakes_the_run) {
  const auto worker = shell("read line; sleep 1000");
  const std::jthread stopper([this] { stop_.request_stop(); });
  EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::put_back);
}

TEST_P(CommandWorkerTest, babble_is_cut_and_does_not_outlive_the_timeout) {
  const auto worker = shell("yes");
  std::size_t lines = 0;
  options_.log = nullptr;
  on_log_ = [&](std::string_view) {
    ++lines;
    log_.clear();
  };
  for (Duration timeout = 200ms; lines < 1000 && timeout < 60s; timeout *= 2) {  // it may start slowly
    EXPECT_EQ(run_one(*worker, timeout).failure, FailureKind::timeout);
  }
  EXPECT_GT(lines, 1000U);
}

TEST_P(CommandWorkerTest, a_long_line_is_cut) {
  const auto worker = shell(
      "read line; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after; echo '{\"ok\":true}'; cat "
      ">/dev/null");
  EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::done);
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_EQ(log_[0].size() - log_[0].find('x'), kMaxLogLine);
  EXPECT_THAT(log_[1], HasSubstr(" stdout: after"));
}

TEST_P(CommandWorkerTest, an_endless_answer_is_refused) {
  const auto worker = shell("read line; printf '{'; yes | tr -d '\\n'");
  const auto outcome = run_one(*worker);
  EXPECT_EQ(outcome.failure, FailureKind::handler);
  EXPECT_EQ(outcome.text, "the worker process wrote an answer line of more than 16 MiB");
}

TEST_P(CommandWorkerTest, an_answer_needs_no_newline_at_the_end) {
  const auto worker = shell("read line; printf '{\"ok\":true}'");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::done);
}

TEST_P(CommandWorkerTest, a_command_may_end_after_each_answer) {
  const auto worker = shell("read line; echo '{\"ok\":true}'; exit 7");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::done);
}

TEST_P(CommandWorkerTest, a_wrong_answer_fails_the_batch_and_starts_the_process_again) {
  const auto worker = shell("read line; echo '{\"ok\":\"yes\"}'; while :; do sleep 1000; done");
  const auto outcome = run_one(*worker);
  EXPECT_EQ(outcome.failure, FailureKind::handler);
  EXPECT_EQ(outcome.text,
            "the worker process gave a wrong answer: it has neither \"ok\": true or false nor \"results\"\n"
            "got {\"ok\":\"yes\"}\n"
            "Answers are JSON (docs/command-workers.md); print anything else to stderr.");
  EXPECT_EQ(run_one(*worker).text, outcome.text);  // from a new process: the first one answers once
}

TEST_P(CommandWorkerTest, a_second_answer_is_not_taken_for_the_next_one) {
  const auto worker = shell(
      "read line; echo '{\"results\":{\"1\":{\"discard\":\"'$$'\"}}}{\"results\":' | tr '\\n' x | sed "
      "'s/}{/}\\n{/'; "
      "cat >/dev/null");
  const auto first = run_one(*worker);
  EXPECT_EQ(first.kind, Outcome::Kind::discarded);
  const auto second = run_one(*worker);
  EXPECT_EQ(second.kind, Outcome::Kind::discarded);
  EXPECT_NE(first.text, second.text);
  EXPECT_THAT(all_logs(), HasSubstr("wrote an answer that nobody asked for"));
}

TEST_P(CommandWorkerTest, a_program_that_goes_on_failing_is_started_after_pauses) {
  const auto worker = shell("read line; echo \"{'ok': True} $line\"; cat >/dev/null");
  int failed = 0;
  const Duration end = system_clock().steady() + 60s;
  Outcome outcome;
  do {
    outcome = run(*worker, {job("1", "\"secret\"")})[0];
    if (outcome.is_not_started()) break;
    EXPECT_THAT(outcome.text,
                HasSubstr("gave a wrong answer: it is no valid JSON\ngot {'ok': True} {\"queue\":"));
    ++failed;
  } while (system_clock().steady() < end);
  EXPECT_GE(failed, 10);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("processes of \"/bin/sh\" ended badly, the last one gave a wrong "
                                            "answer: it is no valid JSON"),
                                  Not(HasSubstr("queue"))));
  EXPECT_THAT(all_logs(), AllOf(HasSubstr("gave a wrong answer"), Not(HasSubstr("secret"))));
}

TEST_P(CommandWorkerTest, a_program_that_answers_now_and_then_is_started_at_once) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("ordo-now-and-then-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto worker = shell("read line; cd " + folder.string() +
                            "; echo x >>runs; [ $(($(wc -l <runs) % 5)) = 0 ] && echo '{\"ok\":true}'");
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(run_one(*worker).is_not_started());
  std::filesystem::remove_all(folder);
}

TEST_P(CommandWorkerTest, a_closed_output_tells_how_the_process_ended) {
  const auto worker = shell("read line; exec >&-; sleep 0.5; echo last words >&2; exit 7");
  const auto outcome = run_one(*worker);
  EXPECT_EQ(outcome.failure, FailureKind::crash);
  EXPECT_EQ(outcome.text, "the worker process exited with code 7: last words");
}

TEST_P(CommandWorkerTest, a_closed_output_is_not_waited_for_without_end) {
  const auto worker = shell("read line; exec >&-; sleep 1000");
  EXPECT_EQ(run_one(*worker).text,
            "the worker process closed its standard output without an answer and did not end, is killed");
}

TEST_P(CommandWorkerTest, a_closed_input_is_not_waited_for_without_end) {
  const auto worker = shell("exec <&-; sleep 1000");
  EXPECT_EQ(run_one(*worker).text,
            "the worker process closed its standard input without reading its request and did not end, is "
            "killed");
}

TEST_P(CommandWorkerTest, who_has_read_its_request_may_close_its_input_and_answer) {
  const auto worker = shell("read line; exec <&-; sleep 0.3; echo '{\"ok\":true}'; sleep 1000");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::done);
  EXPECT_THAT(all_logs(), HasSubstr("closed its standard input, is killed between two runs"));
}

TEST_P(CommandWorkerTest, a_child_that_holds_the_output_does_not_delay_the_end) {
  const auto worker = shell("sleep 1000 & exit 5");
  EXPECT_EQ(run_one(*worker).text, "the worker process exited with code 5");
}

TEST_P(CommandWorkerTest, has_the_environment_and_folder_of_its_node) {
  ::setenv("ORDO_TEST_VALUE", "inherited", 1);
  const auto worker = shell("read line; echo '{\"ok\":false,\"error\":\"'$ORDO_TEST_VALUE $(pwd -P)'\"}'");
  EXPECT_EQ(run_one(*worker).text,
            "inherited " +
                std::string(
                    std::unique_ptr<char, decltype(&std::free)>(::realpath(".", nullptr), std::free).get()));
}

TEST_P(CommandWorkerTest, a_batch_is_cut_into_lines_that_fit) {
  if (GetParam().empty()) return;  // a guard makes no difference here
  const auto python = worker(
      {"python3", "-c",
       "import json, sys\n"
       "for line in sys.stdin:\n"
       "  ids = [j['id'] for j in json.loads(line)['jobs']]\n"
       "  print(json.dumps({'results': {i: {'discard': ' '.join(ids)} for i in ids}}), flush=True)\n"});
  const std::string seven = '"' + std::string(7U << 20, '7') + '"';
  const std::string big = '"' + std::string(kMaxLine, '7') + '"';
  const auto outcomes =
      run(*python, {job("1", seven), job("2", seven), job("3", seven), job("big", big), job("5")});
  EXPECT_EQ(outcomes[0].text, "1 2");
  EXPECT_EQ(outcomes[1].text, "1 2");
  EXPECT_EQ(outcomes[2].text, "3");
  EXPECT_EQ(outcomes[3].failure, FailureKind::handler);
  EXPECT_THAT(outcomes[3].text, StartsWith("cannot send a payload of 16777218 bytes to the command worker"));
  EXPECT_EQ(outcomes[3].delivered, 0U);
  EXPECT_EQ(outcomes[4].text, "5");
  EXPECT_EQ(outcomes[4].delivered, std::nullopt);
}

TEST_P(CommandWorkerTest, a_job_is_sent_as_many_of_its_payloads_as_fit) {
  if (GetParam().empty()) return;  // a guard makes no difference here
  const auto python = worker(
      {"python3", "-c",
       "import json, sys\n"
       "for line in sys.stdin:\n"
       "  jobs = json.loads(line)['jobs']\n"
       "  print(json.dumps({'results': {j['id']: {'discard': str(len(j['payloads']))} for j in jobs}}), "
       "flush=True)\n"});
  auto merged = job("1", '"' + std::string(7U << 20, '7') + '"');
  merged.payloads.resize(3, merged.payloads.front());
  const auto outcomes = run(*python, {job("0", "0"), merged, job("2", "2")});
  EXPECT_EQ(outcomes[0].text, "1");
  EXPECT_EQ(outcomes[1].text, "2");
  EXPECT_EQ(outcomes[1].delivered, 2U);
  EXPECT_EQ(outcomes[2].text, "1");
  EXPECT_EQ(outcomes[2].delivered, std::nullopt);
}

TEST_P(CommandWorkerTest, a_worker_that_does_not_read_is_timed_out) {
  const auto worker = shell("sleep 1000");
  EXPECT_EQ(run(*worker, {job("1", std::string(1U << 20, '7'))}, 200ms)[0].failure, FailureKind::timeout);
}

TEST_P(CommandWorkerTest, output_between_runs_is_logged_soon) {
  std::mutex mutex;
  std::condition_variable written;
  bool seen = false;
  const auto worker =
      shell("read line; echo '{\"ok\":true}'; yes | head -c 500000 | tr -d '\\n' >&2; echo >&2; cat >&2");
  on_log_ = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    seen = seen || text.size() > 200'000;
    written.notify_all();
  };
  EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::done);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(written.wait_for(lock, 60s, [&] { return seen; }));
}

TEST_P(CommandWorkerTest, ends_with_its_worker) {
  auto worker = shell("while read line; do echo '{\"ok\":true}'; done; echo goodbye >&2");
  EXPECT_EQ(run_one(*worker).kind, Outcome::Kind::done);
  EXPECT_EQ(run_one(*worker, 60s, 1).kind, Outcome::Kind::done);
  worker.reset();
  EXPECT_THAT(log_, ElementsAre(HasSubstr("] stderr: goodbye"), HasSubstr("] stderr: goodbye")));
}

TEST(CommandWorker, needs_a_command) {
  EXPECT_THROW(CommandWorker({.command = {}, .queue = "orders", .kind = "orders"}), Error);
  EXPECT_THROW(CommandWorker({.command = {""}, .queue = "orders", .kind = "orders"}), Error);
}

}  // namespace command_worker_test
}  // namespace ordo::execute
