#pragma once

#include <future>
#include <utility>
#include <vector>

#include "store/store.h"

namespace ordo::store {

/// Appends and waits. Throws what the store completes with.
inline void append_now(Store& store, std::vector<NewEntry> entries) {
  std::promise<void> done;
  auto result = done.get_future();
  store.append(std::move(entries), [&](std::exception_ptr error) {
    if (error != nullptr) {
      done.set_exception(std::move(error));
    } else {
      done.set_value();
    }
  });
  result.get();
}

/// Commits and waits. Throws what the store completes with.
inline std::vector<CommitResult> commit_now(Store& store, std::vector<Delta> deltas) {
  std::promise<std::vector<CommitResult>> done;
  auto result = done.get_future();
  store.commit(std::move(deltas), [&](std::vector<CommitResult> results, std::exception_ptr error) {
    if (error != nullptr) {
      done.set_exception(std::move(error));
    } else {
      done.set_value(std::move(results));
    }
  });
  return result.get();
}

}  // namespace ordo::store
