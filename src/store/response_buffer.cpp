#include "store/response_buffer.h"

#include <functional>
#include <optional>
#include <utility>

#include <ordo/error.hpp>

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

/// False: `change` gives nothing.
bool recount(Store& store, const std::string& queue,
             const std::function<std::optional<BufferCount>(BufferCount)>& change) {
  const auto rows = Store::unique_rows(queue);
  const std::string key(domain::kBufferRow);
  auto seen = store.wait_row(rows, key);
  for (int i = 0; i < kMostTries; ++i) {
    const auto before = counted(seen);
    const auto after = change(before);
    if (!after) return false;
    if (seen && *after == before) return true;
    const WaitRow row{key, encode(*after), true, kept_until(*after)};
    auto result = store.step_rows(rows, {{row, seen, {}}}).at(0);
    if (result.what == RowResult::What::done) return true;
    seen = std::move(result.there);
  }
  throw Error(ErrorKind::unavailable, "cannot count the responses that queue '" + queue +
                                          "' keeps: others change the count all the time; try again");
}

}  // namespace

bool count_in(Store& store, const std::string& queue, const domain::Buffered& response, Duration ttl,
              const domain::BufferBounds& bounds) {
  return recount(store, queue, [&](BufferCount count) {
    return domain::with(std::move(count), response, ttl, bounds, store.now());
  });
}

void count_out(Store& store, const std::string& queue, const domain::Buffered& response) {
  recount(store, queue, [&](BufferCount count) {
    return std::optional(domain::without(std::move(count), response, store.now()));
  });
}

}  // namespace ordo::store
