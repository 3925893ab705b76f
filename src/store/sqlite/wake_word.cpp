#include "store/sqlite/wake_word.h"

#include "base/clock.h"

namespace ordo::store::sqlite {

WakeWord::WakeWord(const std::string& database)
    : file_(open_beside(database, "-wake")), page_(file_, database + "-wake") {}

std::uint64_t WakeWord::count() const { return word().load(); }

void WakeWord::wake() {
  word().fetch_add(1);
  futex_wake(word());
}

void WakeWord::wait(std::uint64_t seen, Duration at_most) {
  const auto word_seen = static_cast<std::uint32_t>(seen);
  if (word().load() != word_seen) return;
  const auto end = system_clock().steady() + at_most;
  // A signal may end the sleep early.
  for (auto left = at_most; left > Duration::zero() && word().load() == word_seen;
       left = end - system_clock().steady()) {
    futex_wait(word(), word_seen, left);
  }
}

}  // namespace ordo::store::sqlite
