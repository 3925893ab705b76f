// The stacks of all threads, for `kill -TTIN`. Each thread is sent a real-time signal and notes its return
// addresses in the handler; names are looked up outside. _Unwind_Backtrace takes no lock (libunwind's
// dl_iterate_phdr would).

#include "cli/stack_traces.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace ordo::cli {
namespace {

constexpr std::size_t kMostFrames = 64;
constexpr std::time_t kPatienceSeconds = 10;

struct Capture {
  std::array<std::uintptr_t, kMostFrames> frames{};
  std::size_t count = 0;
  sem_t done{};
};

/// Where a thread's answer goes. Exchanged for null by whoever takes it, so that a late thread writes
/// nowhere.
std::atomic<Capture*> wanted_capture{nullptr};
std::atomic<pid_t> wanted_thread{0};

int trace_signal() { return SIGRTMIN + 1; }

pid_t own_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  auto* capture = static_cast<Capture*>(argument);
  if (capture->count == kMostFrames) return _URC_END_OF_STACK;
  int is_before = 0;
  std::uintptr_t address = _Unwind_GetIPInfo(context, &is_before);
  if (address == 0) return _URC_END_OF_STACK;
  if (is_before == 0) --address;  // into the call, not after it
  capture->frames[capture->count++] = address;
  return _URC_NO_REASON;
}

extern "C" void note_stack(int /*signal*/) {
  const int saved = errno;
  if (wanted_thread.load() == own_thread()) {
    if (Capture* capture = wanted_capture.exchange(nullptr)) {
      _Unwind_Backtrace(note_frame, capture);
      ::sem_post(&capture->done);
    }
  }
  errno = saved;
}

bool wait_for(sem_t& done) {
  timespec until{};
  ::timespec_get(&until, TIME_UTC);
  until.tv_sec += kPatienceSeconds;
  while (::sem_timedwait(&done, &until) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

/// Nothing if the thread does not answer.
std::vector<std::uintptr_t> frames_of(pid_t thread) {
  auto capture = std::make_unique<Capture>();
  ::sem_init(&capture->done, 0, 0);
  if (thread == own_thread()) {
    _Unwind_Backtrace(note_frame, capture.get());
    return {capture->frames.begin(), capture->frames.begin() + static_cast<std::ptrdiff_t>(capture->count)};
  }
  wanted_capture = capture.get();
  wanted_thread = thread;
  const bool sent = ::syscall(SYS_tgkill, ::getpid(), thread, trace_signal()) == 0;
  if (!sent || !wait_for(capture->done)) {
    if (wanted_capture.exchange(nullptr) != nullptr) return {};
    if (!wait_for(capture->done)) {  // it is in the middle of answering
      static_cast<void>(capture.release());
      return {};
    }
  }
  return {capture->frames.begin(), capture->frames.begin() + static_cast<std::ptrdiff_t>(capture->count)};
}

std::string name_of_frame(std::uintptr_t address) {
  Dl_info facts{};
  void* place = nullptr;
  static_assert(sizeof place == sizeof address);
  std::memcpy(&place, &address, sizeof place);
  if (::dladdr(place, &facts) == 0) return "?";
  const auto offset_from = [&](const void* base) { return address - reinterpret_cast<std::uintptr_t>(base); };
  if (facts.dli_sname == nullptr)
    return fmt::format("{}+{:#x}", facts.dli_fname, offset_from(facts.dli_fbase));
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(facts.dli_sname, nullptr, nullptr, &status), std::free);
  return fmt::format("{}+{:#x} ({})", status == 0 ? name.get() : facts.dli_sname,
                     offset_from(facts.dli_saddr), facts.dli_fname);
}

std::string thread_name(const std::filesystem::path& task) {
  std::ifstream file(task / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

void prepare_stack_traces() {
  Capture warm_up;  // the first call may load the unwinder
  _Unwind_Backtrace(note_frame, &warm_up);
  struct sigaction action {};
  action.sa_handler = note_stack;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(trace_signal(), &action, nullptr);
}

std::string stack_traces() {
  std::string text;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto thread = static_cast<pid_t>(std::strtol(task.path().filename().c_str(), nullptr, 10));
    const auto frames = frames_of(thread);
    text += fmt::format("thread {} ({})\n", thread, thread_name(task.path()));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      text += fmt::format("  #{:<2} {:#018x} {}\n", i, frames[i], name_of_frame(frames[i]));
    }
    if (frames.empty()) text += "  does not answer\n";
  }
  return text;
}

std::string write_traces(const std::string& text) {
  std::error_code error;
  const char* folder = std::getenv("TMPDIR");
  const std::filesystem::path where = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  const std::string path = (where / fmt::format("ordo-{}-traces.txt", ::getpid())).string();
  std::filesystem::remove(path, error);  // of an earlier time; the new one must not follow somebody's link
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return {};
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) break;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(fd);
  return rest.empty() ? path : std::string();
}

}  // namespace ordo::cli
