#include "store/response_buffer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/time_text.h"
#include "domain/dead_letters.h"
#include "store/dead_letters.h"
#include "store/store.h"

namespace ordo::store {
namespace {

constexpr Duration kCounted = std::chrono::seconds{1};
constexpr std::size_t kRowsAtOnce = 1000;

WaitRow expiry_row(const std::string& key, const Buffered& response) {
  return {domain::expiry_row_key(response.until, key, response.bytes), key, true,
          time_after(response.until, domain::kLetterLife)};
}

}  // namespace

bool ResponseBuffer::add(Store& store, const std::string& queue, const std::string& key,
                         const Buffered& response, const BufferBounds& bounds) {
  {
    const std::lock_guard lock(mutex_);
    const auto now = store.now();
    const auto known = counts_.find(queue);
    const bool is_known =
        known != counts_.end() && known->second.at <= now && now - known->second.at < kCounted;
    auto& kept = is_known ? known->second : counts_[queue] = count(store, queue, now);
    if (kept.responses + 1 > bounds.most || kept.bytes + response.bytes > bounds.most_bytes) return false;
    ++kept.responses;
    kept.bytes += response.bytes;
  }
  store.put_row(Store::unique_rows(queue), expiry_row(key, response), {});
  return true;
}

void ResponseBuffer::remove(Store& store, const std::string& queue, const std::string& key,
                            const Buffered& response) {
  auto row = expiry_row(key, response);
  row.until = Time::min();
  if (!store.put_row(Store::unique_rows(queue), std::move(row), key)) return;
  const std::lock_guard lock(mutex_);
  const auto known = counts_.find(queue);
  if (known == counts_.end()) return;
  auto& kept = known->second;
  kept.responses -= std::min<std::uint64_t>(kept.responses, 1);
  kept.bytes -= std::min(kept.bytes, response.bytes);
}

ResponseBuffer::Count ResponseBuffer::count(Store& store, const std::string& queue, Time now) {
  const auto rows = Store::unique_rows(queue);
  Count count{.at = now};
  auto after = domain::end_of_expired(now);
  for (bool at_end = false; !at_end;) {
    const auto page = store.wait_rows(rows, after, kRowsAtOnce);
    at_end = page.size() < kRowsAtOnce;
    for (const auto& row : page) {
      after = row.key;
      at_end = at_end || row.key >= domain::end_of_expiries();
      if (!domain::is_expiry_row_key(row.key)) continue;
      ++count.responses;
      count.bytes += domain::expiry_bytes(row.key);
    }
  }
  if (count.responses == 0) may_have_letters(store, queue);
  return count;
}

}  // namespace ordo::store
