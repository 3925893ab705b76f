#pragma once

#include <memory>
#include <string>

namespace ordo {

/// Exists while a callback of a push of the user's runs on the store's own thread. What waits for the store
/// there would wait for itself.
class StoreCallback {
 public:
  StoreCallback() { ++depth(); }
  ~StoreCallback() { --depth(); }
  StoreCallback(const StoreCallback&) = delete;
  StoreCallback& operator=(const StoreCallback&) = delete;

  /// Whether this thread is in one.
  static bool is_here() { return depth() > 0; }

 private:
  static int& depth();
};

/// Destroys what waits for the store when it goes: in such a callback by a thread of its own, a moment later.
void drop_outside_callback(std::shared_ptr<void> last);

/// Throws Error{invalid_argument} in such a callback, where `call` ("Server::stop()") would never return.
void refuse_in_callback(const std::string& call);

}  // namespace ordo
