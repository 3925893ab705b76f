// Cursors of listings come back from whoever was shown them: any text is a place in such a listing or refused
// with Error{invalid_argument}, and what is listed goes on behind it, in every order.
// Input: one byte that says in which order, one in which the owner lists, then the cursor.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/error.hpp>

#include "base/assert.h"
#include "base/base64.h"
#include "domain/list_order.h"

namespace {

using namespace ordo;
using namespace ordo::domain;

std::optional<ListOrder> order_of(const Listing& listing, const QueueOptions& options) {
  try {
    return ListOrder(listing, &options, Time{});
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::invalid_argument);
    ORDO_ASSERT(std::string_view(error.what()).size() < 1000);
    return std::nullopt;
  }
}

/// In another process it is the same.
void check_bytes(std::string_view bytes) {
  try {
    const auto written = to_bytes(from_bytes<ListOrder>(bytes, "order"));
    ORDO_ASSERT(to_bytes(from_bytes<ListOrder>(written, "order")) == written);
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::corrupt);
  }
}

void check(Listing listing, const QueueOptions& options) {
  const auto order = order_of(listing, options);
  if (!order) return;
  check_bytes(to_bytes(*order));
  for (const std::uint8_t group : {0, 1, 2, 3}) {
    // Places at the ends of what there is, and between.
    for (const std::int64_t number : {INT64_MIN, std::int64_t{0}, INT64_MAX}) {
      ListPlace place{.number = number, .group = group, .arrival = static_cast<std::uint64_t>(number)};
      if (listing.sort == JobSort::id) place.name = "name";
      listing.after = order->cursor(place);
      const auto behind = order_of(listing, options);
      ORDO_ASSERT(behind && !behind->shows(place));
      const auto dead = behind->place_of_dead("zzz", Time{Duration{1}}, 7, 1);
      ORDO_ASSERT(group == 3 || behind->shows(dead));
      ORDO_ASSERT(behind->shows_dead_only() == (group == 3));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view cursor(reinterpret_cast<const char*>(data) + 2, size - 2);
  QueueOptions options;
  options.order = (data[1] & 1) != 0 ? DueOrder::priority : QueueOptions{}.order;
  options.granularity = Duration{data[1] >> 1};
  Listing listing{.sort = static_cast<JobSort>(data[0] & 3), .descending = (data[0] & 4) != 0};
  listing.after = cursor;
  check(listing, options);
  listing.after.clear();
  append_base64(listing.after, cursor);
  check(listing, options);
  check_bytes(cursor);
  return 0;
}
