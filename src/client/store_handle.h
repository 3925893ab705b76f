#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ordo/error.hpp>
#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/fork.h"
#include "base/random.h"
#include "client/store_callback.h"
#include "store/open.h"
#include "store/store.h"

namespace ordo {

/// For so long a push waits for a closed queue to be open again, looking this often.
inline constexpr Duration kReshardPatience = std::chrono::seconds{30};
inline constexpr Duration kReshardLook = std::chrono::milliseconds{20};

/// An open store with the config it is used by: what Client, Admin and Server share. Thread-safe.
class StoreHandle {
 public:
  /// Opens config.store. Throws Error.
  StoreHandle(Config config, Clock& clock, store::Missing missing = store::Missing::made);
  /// Uses a store that is open already.
  StoreHandle(Config config, Clock& clock, std::shared_ptr<store::Store> store);
  ~StoreHandle();
  StoreHandle(const StoreHandle&) = delete;
  StoreHandle& operator=(const StoreHandle&) = delete;

  /// Opened before a fork, in the parent.
  bool is_of_parent() const { return forks() != forks_; }
  /// Throws Error{invalid_argument} if it is.
  void check_process() const;

  /// To wait for what it answers. Throws Error{invalid_argument} in a callback of a push.
  store::Store& store() {
    check_process();
    refuse_in_callback("a call that waits for the store");
    return *store_;
  }
  /// To be told later, from anywhere.
  store::Store& store_to_append() { return *store_; }
  /// The files of its store are not those that it opened: it fails from now on.
  bool is_replaced() const { return store_->is_replaced(); }
  /// The same with the store that is there now. Throws as the constructor does, and when there is none.
  std::shared_ptr<StoreHandle> reopened() const;
  Clock& clock() { return clock_; }
  const Config& config() const { return now_.load()->config; }
  /// Other queues than before, in use from now on. What was given out of the config before stays there.
  void change(Config config);
  /// As Config::find(), for any number of queues.
  const QueueOptions* options(std::string_view queue) const;

  /// The definition of a queue that the config or the store knows; a queue of the config is created if it is
  /// new. Throws Error{invalid_argument} with the nearest names.
  store::QueueDefinition queue(std::string_view name);
  /// The same without creating it: nothing if the store does not know it yet.
  std::optional<store::QueueDefinition> existing_queue(std::string_view name);
  /// As queue(), and waits while it is being resharded. Throws Error{unavailable} after 30 s of that.
  store::QueueDefinition open_queue(std::string_view name);

  /// `act(queue)` does something in the open queue, and returns false if there may be more to do. As long as
  /// a reshard takes the queue away meanwhile, it is called again with the one that has its jobs now. Throws
  /// as open_queue(), or what `act` throws.
  void until_done(std::string_view name, const std::function<bool(const store::QueueDefinition&)>& act);

  std::string new_id();

 private:
  /// A reshard has closed or replaced it.
  bool is_moved(const store::QueueDefinition& queue);

  [[noreturn]] void unknown(std::string_view name, const store::QueueList& list) const;

  struct Rules {
    explicit Rules(Config of);
    const Config config;
    std::unordered_map<std::string_view, const QueueOptions*> options;  // of the config
  };

  const std::uint64_t forks_ = forks();
  std::vector<std::unique_ptr<const Rules>> rules_;  // all there were: calls may have some of them still
  std::atomic<const Rules*> now_;
  Clock& clock_;
  std::shared_ptr<store::Store> store_;
  std::mutex mutex_;
  Random random_;
};

/// Error{unavailable}: that was too long.
Error still_closed(std::string_view queue);

}  // namespace ordo
