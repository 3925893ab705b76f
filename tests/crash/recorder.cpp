// The worker of the crash suite in a shared library, for `ordo work -r`: its runs are threads of the node,
// which no guard can end. worker.py does the same as a command.

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>

#include <ordo/ordo.hpp>

namespace {

/// One line a write: what stands in the log has happened in that order.
void note(const std::string& line) {
  static const int log =
      ::open(std::getenv("ORDO_CRASH_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (::write(log, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("cannot write the log of the crash suite");
  }
}

std::string now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
}

/// False: it was asked to stop before.
bool last(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

ordo::Outcome perform(const std::string& queue, const ordo::TypedJob<ordo::Json>& job) {
  static const std::string node = std::getenv("ORDO_CRASH_NODE");
  static std::atomic<unsigned> runs{0};
  const std::string run = node + "-" + std::to_string(++runs);
  std::string numbers;
  std::int64_t ms = 0;
  bool fails = false;
  for (const auto& payload : job.payloads) {
    numbers += (numbers.empty() ? "" : ",") + std::to_string(payload["n"].as_int());
    ms = std::max(ms, payload["ms"].as_int());
    fails = fails || payload["fail"].as_int() != 0;
  }
  note(R"({"e":"start","run":")" + run + R"(","node":")" + node + R"(","pid":)" + std::to_string(::getpid()) +
       R"(,"thread":true,"queue":")" + queue + R"(","key":")" + job.key + R"(","id":")" + job.id +
       R"(","n":[)" + numbers + R"(],"retry":)" + std::to_string(job.retry_count) + R"(,"fence":)" +
       std::to_string(job.fence) + R"(,"t":)" + now_ns() + "}\n");
  const bool lasted = last(std::chrono::milliseconds(ms), job.stop);
  fails = fails && job.retry_count < 0;
  note(R"({"e":")" +
       std::string(!lasted ? "stopped"
                   : fails ? "fail"
                           : "end") +
       R"(","run":")" + run + R"(","node":")" + node + R"(","t":)" + now_ns() + "}\n");
  if (!lasted) return ordo::Outcome::put_back();
  return fails ? ordo::Outcome::fail("it was told to") : ordo::Outcome::done();
}

}  // namespace

extern "C" const int ordo_abi = ordo::kAbi;

extern "C" void ordo_load(ordo::Server& server) {
  for (const std::string queue : {"fifo", "merge"}) {
    server.add(queue, ordo::make_worker<ordo::Json>(
                          [queue](const ordo::TypedJob<ordo::Json>& job) { return perform(queue, job); }));
  }
}
