#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "store/store.h"

namespace ordo {

/// An open store with the config it is used by: what Client, Admin and Server share. Thread-safe.
class StoreHandle {
 public:
  /// Opens config.store. Throws Error.
  StoreHandle(Config config, Clock& clock);
  /// Uses a store that is open already.
  StoreHandle(Config config, Clock& clock, std::shared_ptr<store::Store> store);

  store::Store& store() { return *store_; }
  Clock& clock() { return clock_; }
  const Config& config() const { return config_; }

  /// The definition of a queue that the config or the store knows; a queue of the config is created if it is
  /// new. Throws Error{invalid_argument} with the nearest names.
  store::QueueDefinition queue(std::string_view name);
  /// The same without creating it: nothing if the store does not know it yet.
  std::optional<store::QueueDefinition> existing_queue(std::string_view name);
  /// Forget what is known of it: it was removed.
  void forget(std::string_view name);

  std::string new_id();

 private:
  [[noreturn]] void unknown(std::string_view name, const store::QueueList& list) const;

  Config config_;
  Clock& clock_;
  std::shared_ptr<store::Store> store_;
  std::mutex mutex_;
  std::map<std::string, store::QueueDefinition, std::less<>> known_;
  Random random_;
};

/// Throws Error{invalid_argument} unless `name` is [a-z0-9_-]{1,64}.
void check_queue_name(std::string_view name);

}  // namespace ordo
