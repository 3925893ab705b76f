#include "store/response_inbox.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <ordo/error.hpp>

#include "store/waits.h"

namespace ordo::store {
namespace {

constexpr std::size_t kInboxAtOnce = 100;
constexpr std::size_t kMostHeld = 200;  // rows that are passed over; what is behind more of a queue waits
constexpr Duration kTryAgain = std::chrono::seconds{10};

}  // namespace

std::vector<InboxAnswer> drain_inbox(Store& store, const std::string& node,
                                     const std::function<Duration(const std::string& queue)>& response_ttl,
                                     HeldResponses& held) {
  std::vector<InboxAnswer> answers;
  std::vector<std::int64_t> numbers;
  std::string failure;
  const auto now = store.now();
  const auto rows = store.inbox(node, kInboxAtOnce + std::min(std::exchange(held.rows, 0), kMostHeld));
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& row : rows) {
    const auto& name = *seen.emplace(row.queue, row.key).first;
    const auto tried = held.tried.find(name);
    // A clock that went back holds nothing up.
    if (tried != held.tried.end() && now >= tried->second && now - tried->second < kTryAgain) {
      ++held.rows;
      continue;
    }
    InboxAnswer answer{row.queue, row.key};
    try {
      answer.what = respond(store, row.queue, row.key, {row.message_id, row.body}, response_ttl(row.queue));
    } catch (const Error& error) {
      answer.error = error.what();
      if (error.kind() == ErrorKind::unavailable) {
        failure = error.what();
        break;
      }
      if (error.kind() == ErrorKind::unsupported) {
        ++held.rows;
        answer.waits = true;
        if (held.tried.insert_or_assign(name, now).second) answers.push_back(std::move(answer));
        continue;
      }
    }
    if (tried != held.tried.end()) held.tried.erase(tried);
    answers.push_back(std::move(answer));
    numbers.push_back(row.number);
  }
  if (!numbers.empty()) store.take_out(numbers);
  if (failure.empty())
    std::erase_if(held.tried, [&](const auto& each) { return !seen.contains(each.first); });
  if (answers.empty() && !failure.empty()) throw Error(ErrorKind::unavailable, failure);
  return answers;
}

}  // namespace ordo::store
