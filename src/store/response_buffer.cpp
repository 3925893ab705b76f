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

ResponseBuffer::Count& ResponseBuffer::of(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  return counts_[queue];
}

bool ResponseBuffer::add(Store& store, const std::string& queue, const std::string& key,
                         const Buffered& response, const BufferBounds& bounds) {
  auto& kept = of(queue);
  {
    const std::lock_guard lock(kept.mutex);
    const auto now = store.now();
    if (!kept.at || *kept.at > now || now - *kept.at >= kCounted) count(store, queue, now, kept);
    if (kept.responses + 1 > bounds.most || kept.bytes + response.bytes > bounds.most_bytes) return false;
    ++kept.responses;
    kept.bytes += response.bytes;
    ++kept.coming;
    kept.coming_bytes += response.bytes;
  }
  struct Arrives {
    Count& kept;
    std::uint64_t bytes;
    ~Arrives() {
      const std::lock_guard lock(kept.mutex);
      --kept.coming;
      kept.coming_bytes -= bytes;
    }
  };
  const Arrives arrives{kept, response.bytes};
  store.put_row(Store::unique_rows(queue), expiry_row(key, response), {});
  return true;
}

void ResponseBuffer::remove(Store& store, const std::string& queue, const std::string& key,
                            const Buffered& response) {
  auto row = expiry_row(key, response);
  row.until = Time::min();
  if (!store.put_row(Store::unique_rows(queue), std::move(row), key)) return;
  auto& kept = of(queue);
  const std::lock_guard lock(kept.mutex);
  kept.responses -= std::min<std::uint64_t>(kept.responses, 1);
  kept.bytes -= std::min(kept.bytes, response.bytes);
}

void ResponseBuffer::count(Store& store, const std::string& queue, Time now, Count& kept) {
  const auto rows = Store::unique_rows(queue);
  std::uint64_t responses = 0, bytes = 0;
  auto after = domain::end_of_expired(now);
  for (bool at_end = false; !at_end;) {
    const auto page = store.wait_rows(rows, after, kRowsAtOnce);
    at_end = page.size() < kRowsAtOnce;
    for (const auto& row : page) {
      after = row.key;
      at_end = at_end || row.key >= domain::end_of_expiries();
      if (!domain::is_expiry_row_key(row.key)) continue;
      ++responses;
      bytes += domain::expiry_bytes(row.key);
    }
  }
  if (responses == 0) may_have_letters(store, queue);
  kept.at = now;
  kept.responses = responses + kept.coming;
  kept.bytes = bytes + kept.coming_bytes;
}

}  // namespace ordo::store
