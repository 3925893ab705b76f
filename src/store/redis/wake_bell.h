#pragma once

#include <memory>
#include <mutex>
#include <set>

namespace ordo::store::redis {

/// Ends the waits of this process's readers at once, whatever the server does. Thread-safe.
class WakeBell {
 public:
  /// The bell as one reader hears it.
  class Ear {
   public:
    explicit Ear(std::shared_ptr<WakeBell> bell);
    ~Ear();
    Ear(const Ear&) = delete;
    Ear& operator=(const Ear&) = delete;

    int descriptor() const { return descriptor_; }  ///< readable: it rang
    bool take();                                    ///< true: it rang since the last call

   private:
    std::shared_ptr<WakeBell> bell_;
    int descriptor_;
  };

  void ring();

 private:
  std::mutex mutex_;
  std::set<int> ears_;
};

}  // namespace ordo::store::redis
