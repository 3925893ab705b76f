#include "store/blocking.h"

#include <utility>

#include "store/answer.h"

namespace ordo::store {

void append_and_wait(Store& store, std::vector<NewEntry> entries) {
  store.append_durably(std::move(entries));
}

void Store::append_durably(std::vector<NewEntry> entries) {
  Answer<bool> answer;
  append(std::move(entries), [&](std::exception_ptr error) {
    if (error != nullptr) {
      answer.fail(std::move(error));
    } else {
      answer.give(true);
    }
  });
  answer.wait();
}

std::vector<CommitResult> commit_and_wait(Store& store, std::vector<Delta> deltas) {
  Answer<std::vector<CommitResult>> answer;
  store.commit(std::move(deltas), [&](std::vector<CommitResult> results, std::exception_ptr error) {
    if (error != nullptr) {
      answer.fail(std::move(error));
    } else {
      answer.give(std::move(results));
    }
  });
  return answer.wait();
}

}  // namespace ordo::store
