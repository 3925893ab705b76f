#include "client/list_order.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/shorten.h"
#include "domain/fields.h"

namespace ordo {
namespace {

constexpr std::uint8_t kCursorVersion = 1;

void put_time(ByteWriter& out, Time time) { out.put(time.time_since_epoch().count()); }
Time get_time(ByteReader& in) { return Time{Duration{in.get<std::int64_t>()}}; }

}  // namespace

ListOrder::ListOrder(const Listing& listing, const QueueOptions* options, Time now)
    : sort_(listing.sort), is_descending_(listing.descending), now_(now) {
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

ListPlace ListOrder::place_of(const domain::Job& job, std::uint32_t shard) const {
  ListPlace place{.run_at = job.run_at, .shard = shard, .arrival = job.arrival()};
  sort(place, job.id(), job.run_at, job.retry_count());
  if (job.place == domain::Place::running || job.place == domain::Place::awaiting) return place;
  place.group = job.run_at > now_ ? 2 : 1;
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

std::string ListOrder::cursor(const ListPlace& place) const {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kCursorVersion);
  out.put(sort_);
  out.put(is_descending_);
  put_time(out, now_);
  out.put(place.number);
  out.put(place.group);
  put_time(out, place.slot);
  out.put(place.priority);
  put_time(out, place.run_at);
  out.put(place.later_priority);
  out.put(place.shard);
  out.put(place.arrival);
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
  const auto place = domain::read_record<ListPlace>([&] {
    ByteReader in(*bytes, "cursor");
    in.check_version(kCursorVersion);
    const bool is_same = in.get<JobSort>() == sort_;
    const bool is_same_way = in.get<std::uint8_t>() == (is_descending_ ? 1 : 0);
    if (!is_same || !is_same_way) in.fail("it is of another order");
    now_ = get_time(in);
    ListPlace read;
    read.number = in.get<std::int64_t>();
    read.group = in.get<std::uint8_t>();
    read.slot = get_time(in);
    read.priority = in.get<std::int32_t>();
    read.run_at = get_time(in);
    read.later_priority = in.get<std::int32_t>();
    read.shard = in.get<std::uint32_t>();
    read.arrival = in.get<std::uint64_t>();
    read.name = in.rest();
    return read;
  });
  if (!place) return refuse("is no cursor of such a listing");
  after_ = *place;
}

}  // namespace ordo
