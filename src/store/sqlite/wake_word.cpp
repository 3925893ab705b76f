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

// In a part of the page that versions before left zero.
std::atomic<std::uint64_t>& WakeWord::asked() const {
  using Counter = std::atomic<std::uint64_t>;
  static_assert(Counter::is_always_lock_free && sizeof(Counter) == 8);
  constexpr std::size_t kPlace = 64;
  return *reinterpret_cast<Counter*>(static_cast<char*>(page_.data()) + kPlace);
}

std::uint64_t WakeWord::questions() const { return asked().load(); }

void WakeWord::ask() {
  asked().fetch_add(1);
  wake();
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
