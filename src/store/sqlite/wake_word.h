#pragma once

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

  /// Returns once count() differs from `seen`, or after `at_most`.
  void wait(std::uint64_t seen, Duration at_most);

 private:
  FutexWord& word() const { return *static_cast<FutexWord*>(page_.data()); }

  Descriptor file_;
  SharedPage page_;
};

}  // namespace ordo::store::sqlite
