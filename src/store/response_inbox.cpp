#include "store/response_inbox.h"

#include <utility>

#include <ordo/error.hpp>

#include "store/waits.h"

namespace ordo::store {
namespace {

constexpr std::size_t kAtOnce = 100;

}  // namespace

// What a newer version has written may be read by another node, or by this one when it is newer: it has to
// wait, as for a store that is away.
std::vector<InboxAnswer> drain_inbox(Store& store, const std::string& node,
                                     const std::function<Duration(const std::string& queue)>& response_ttl) {
  std::vector<InboxAnswer> answers;
  std::vector<std::int64_t> numbers;
  std::string failure;
  for (const auto& row : store.inbox(node, kAtOnce)) {
    InboxAnswer answer{row.queue, row.key};
    try {
      answer.what = respond(store, row.queue, row.key, {row.message_id, row.body}, response_ttl(row.queue));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::unsupported) {
        failure = error.what();
        break;
      }
      answer.error = error.what();
    }
    answers.push_back(std::move(answer));
    numbers.push_back(row.number);
  }
  if (!numbers.empty()) store.take_out(numbers);
  if (answers.empty() && !failure.empty()) throw Error(ErrorKind::unavailable, failure);
  return answers;
}

}  // namespace ordo::store
