#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace ordo::cli {

/// What the signals of a node mean. Called on a thread of their own, one at a time.
struct SignalActions {
  std::function<void()> stop{};      ///< the first TERM or INT; on another thread, may take long
  std::function<void()> stop_now{};  ///< a later INT: does not return
  std::function<void()> quiet{};     ///< TSTP
  std::function<void()> traces{};    ///< TTIN
  std::function<void()> reload{};    ///< HUP; on another thread, may take long, and again for those that came
};

/// Takes TERM, INT, TSTP, TTIN and HUP away from the threads that are started later. Before the first of
/// them.
void block_signals();

/// Waits for signals on a thread of its own, from construction to destruction. They must be blocked.
class SignalThread {
 public:
  explicit SignalThread(SignalActions actions);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

  /// Whether the first TERM or INT has come.
  bool is_stopping() const { return stopping_; }

 private:
  void run();
  void take(int signal);
  void reload();

  SignalActions actions_;
  std::atomic<bool> stopping_ = false;
  int events_ = -1;   ///< a signalfd
  int the_end_ = -1;  ///< an eventfd, set by the destructor
  std::mutex mutex_;
  bool reloads_ = false, reloads_again_ = false;  // under mutex_
  std::jthread reloader_;
  std::jthread stopper_;
  std::jthread thread_;
};

}  // namespace ordo::cli
