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
  Writer out(bytes);
  out.version(kCursorVersion);
  out.number(sort_);
  out.flags(is_descending_);
  out.number(queue_);
  out.any_time(now_);
  fields(out, place);
  out.rest(place.name);
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
    Reader in(*bytes, "cursor");
    JobSort sort{};
    bool is_descending = false;
    ListPlace read;
    in.version(kCursorVersion);
    in.number(sort);
    in.flags(is_descending);
    in.check(sort == sort_ && is_descending == is_descending_, "it is of another order");
    in.number(queue);
    in.any_time(now_);
    fields(in, read);
    in.rest(read.name);
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

}  // namespace ordo::domain
