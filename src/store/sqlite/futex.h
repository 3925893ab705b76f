#pragma once

#include <atomic>
#include <cstdint>

#include <ordo/time.hpp>

namespace ordo::store::sqlite {

/// A counter in memory that processes share, on which threads of any of them can sleep.
using FutexWord = std::atomic<std::uint32_t>;
static_assert(FutexWord::is_always_lock_free && sizeof(FutexWord) == 4);

/// Sleeps while `word` is `seen`, at most `at_most`. May return early.
void futex_wait(FutexWord& word, std::uint32_t seen, Duration at_most);

/// Wakes all sleepers of all processes.
void futex_wake(FutexWord& word);

}  // namespace ordo::store::sqlite
