#include "domain/list_order.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/shorten.h"
#include "domain/due.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kCursorVersion = 2;

}  // namespace

void put_place(ByteWriter& out, const ListPlace& place) {
  out.put(place.number);
  out.put(place.group);
  put_time(out, place.slot);
  out.put(place.priority);
  put_time(out, place.run_at);
  out.put(place.later_priority);
  out.put(place.shard);
  out.put(place.arrival);
}

ListPlace get_place(ByteReader& in) {
  ListPlace place;
  place.number = in.get<std::int64_t>();
  place.group = in.get<std::uint8_t>();
  place.slot = get_time(in);
  place.priority = in.get<std::int32_t>();
  place.run_at = get_time(in);
  place.later_priority = in.get<std::int32_t>();
  place.shard = in.get<std::uint32_t>();
  place.arrival = in.get<std::uint64_t>();
  return place;
}

ListOrder::ListOrder(const Listing& listing, const QueueOptions* options, Time now, std::uint32_t queue)
    : sort_(listing.sort), is_descending_(listing.descending), now_(now), queue_(queue) {
  if (!listing.after.empty()) read_cursor(listing.after);
  if (options == nullptr) return;
  order_ = options->order;
  granularity_ = std::max(options->granularity, Duration{1});
}

void ListOrder::sort(ListPlace& place, std::string_view id, Time run_at, std::int32_t retry_count) const {
  switch (sort_) {
    case JobSort::start:
      return;
    case JobSort::run_at:
      place.number = run_at.time_since_epoch().count();
      return;
    case JobSort::id:
      place.name = id;
      return;
    case JobSort::retry_count:
      place.number = retry_count;
      return;
  }
}

ListPlace ListOrder::place_of(const Job& job, std::uint32_t shard) const {
  ListPlace place{.run_at = job.run_at, .shard = shard, .arrival = job.arrival()};
  sort(place, job.id(), job.run_at, job.retry_count());
  if (job.place == Place::running || job.place == Place::awaiting) return place;
  place.group = is_due(job, now_) ? 1 : 2;
  if (place.group == 2) {
    place.later_priority = job.priority;
    return place;
  }
  place.priority = job.priority;
  if (order_ == DueOrder::priority) return place;
  const auto since = job.run_at.time_since_epoch();
  place.slot = Time{since - ((since % granularity_) + granularity_) % granularity_};
  return place;
}

ListPlace ListOrder::place_of_dead(std::string_view id, Time died_at, std::int32_t retry_count,
                                   std::uint64_t first) const {
  ListPlace place{.group = kDead, .arrival = first};
  sort(place, id, died_at, retry_count);
  return place;
}

bool ListOrder::shows(const ListPlace& place) const {
  if (!after_) return true;
  if ((after_->group == kDead) != (place.group == kDead)) return place.group == kDead;
  return before(*after_, place);
}

ListOrder ListOrder::behind(const ListPlace& place) const {
  auto order = *this;
  order.after_ = place;
  return order;
}

std::string ListOrder::cursor(const ListPlace& place) const {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kCursorVersion);
  out.put(sort_);
  out.put(is_descending_);
  out.put(queue_);
  put_time(out, now_);
  put_place(out, place);
  out.put_rest(place.name);
  std::string text;
  append_base64(text, bytes);
  return text;
}

void ListOrder::read_cursor(const std::string& text) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::invalid_argument, "'" + shortened(text) + "' " + why);
  };
  const auto bytes = decode_base64(text);
  if (!bytes) return refuse("is no cursor of such a listing");
  auto queue = queue_;
  const auto place = read_record<ListPlace>([&] {
    ByteReader in(*bytes, "cursor");
    in.check_version(kCursorVersion);
    const bool is_same = in.get<JobSort>() == sort_;
    const bool is_same_way = in.get<std::uint8_t>() == (is_descending_ ? 1 : 0);
    if (!is_same || !is_same_way) in.fail("it is of another order");
    queue = in.get<std::uint32_t>();
    now_ = get_time(in);
    auto read = get_place(in);
    read.name = in.rest();
    return read;
  });
  if (!place) return refuse("is no cursor of such a listing");
  if (queue != queue_) refuse_old_cursor(text);
  after_ = *place;
}

void refuse_old_cursor(const std::string& cursor) {
  throw OldCursor(
      "cannot go on behind cursor '" + shortened(cursor) +
      "': the queue was resharded, or removed and made again, since that page; start again without it");
}

void ListOrder::write(ByteWriter& out) const {
  out.put(sort_);
  out.put(static_cast<std::uint8_t>(is_descending_));
  out.put(order_);
  out.put(granularity_.count());
  put_time(out, now_);
  out.put(static_cast<std::uint8_t>(after_.has_value()));
  if (!after_) return;
  put_place(out, *after_);
  out.put_long(after_->name);
}

ListOrder ListOrder::read(ByteReader& in) {
  ListOrder order;
  order.sort_ = in.get<JobSort>();
  if (order.sort_ > JobSort::retry_count) in.fail("its order is unknown");
  order.is_descending_ = in.get<std::uint8_t>() != 0;
  order.order_ = in.get<DueOrder>();
  if (order.order_ > DueOrder::priority) in.fail("its order is unknown");
  order.granularity_ = Duration{in.get<std::int64_t>()};
  constexpr Duration kLongest = std::chrono::hours{24 * 366 * 100};  // sums of two must not overflow
  if (order.granularity_ < Duration{1} || order.granularity_ > kLongest) in.fail("its order is unknown");
  order.now_ = get_time(in);
  if (in.get<std::uint8_t>() == 0) return order;
  order.after_ = get_place(in);
  order.after_->name = in.get_long();
  return order;
}

}  // namespace ordo::domain
