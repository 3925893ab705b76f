#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "store/sqlite/futex.h"
#include "store/sqlite/side_file.h"

namespace ordo::store::sqlite {

/// A counter in FILE-wake that all processes see, and sleep on. Thread-safe.
class WakeWord {
 public:
  explicit WakeWord(const std::string& database);

  std::uint64_t count() const;

  /// Counts on and wakes all who wait.
  void wake();

  /// Questions that were asked of nodes, in all: counted before the wake that tells of one.
  std::uint64_t questions() const;
  void ask();

  /// Returns once count() differs from `seen`, or after `at_most`.
  void wait(std::uint64_t seen, Duration at_most);

 private:
  FutexWord& word() const { return *static_cast<FutexWord*>(page_.data()); }
  std::atomic<std::uint64_t>& asked() const;

  Descriptor file_;
  SharedPage page_;
};

}  // namespace ordo::store::sqlite
