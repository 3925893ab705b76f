#include "store/response_buffer.h"

#include <functional>
#include <optional>
#include <utility>

#include <ordo/error.hpp>

#include "base/time_text.h"
#include "domain/dead_letters.h"
#include "store/dead_letters.h"

namespace ordo::store {
namespace {

using domain::BufferCount;

constexpr int kMostTries = 1000;  // that others were faster

BufferCount counted(const std::optional<std::string>& bytes) {
  if (!bytes) return {};
  auto count = domain::decode_buffer_count(*bytes);
  if (count.needs() != 0)
    throw Error(ErrorKind::unsupported, "cannot count the responses that are kept: " + count.why());
  return count ? *std::move(count) : BufferCount{};
}

/// False: `change` gives nothing. `beside` is done in the same call.
bool recount(Store& store, const std::string& queue,
             const std::function<std::optional<BufferCount>(BufferCount)>& change, const RowStep& beside) {
  const auto rows = Store::unique_rows(queue);
  const std::string key(domain::kBufferRow);
  auto seen = store.wait_row(rows, key);
  for (int i = 0; i < kMostTries; ++i) {
    const auto before = counted(seen);
    const auto after = change(before);
    if (!after) return false;
    if (seen && *after == before) {
      store.step_rows(rows, {beside});
      return true;
    }
    if (!seen) may_have_letters(store, queue);
    const WaitRow row{key, encode(*after), true, kept_until(*after)};
    auto result = store.step_rows(rows, {{row, seen, {}}, beside}).at(0);
    if (result.what == RowResult::What::done) return true;
    seen = std::move(result.there);
  }
  throw Error(ErrorKind::unavailable, "cannot count the responses that queue '" + queue +
                                          "' keeps: others change the count all the time; try again");
}

WaitRow expiry_row(const std::string& key, const domain::Buffered& response) {
  return {domain::expiry_row_key(response.until, key), key, true,
          time_after(response.until, domain::kLetterLife)};
}

}  // namespace

bool count_in(Store& store, const std::string& queue, const std::string& key,
              const domain::Buffered& response, Duration ttl, const domain::BufferBounds& bounds) {
  return recount(
      store, queue,
      [&](BufferCount count) { return domain::with(std::move(count), response, ttl, bounds, store.now()); },
      {expiry_row(key, response), {}, {}});
}

void count_out(Store& store, const std::string& queue, const std::string& key,
               const domain::Buffered& response) {
  auto row = expiry_row(key, response);
  row.until = Time::min();
  recount(store, queue,
          [&](BufferCount count) {
            return std::optional(domain::without(std::move(count), response, store.now()));
          },
          {std::move(row), key, {}});
}

}  // namespace ordo::store
