// One XREAD asks for all streams at once, and for the wake stream, which tells of changed definitions. What a
// page has no room for is dropped and asked for again: so nothing stale is kept, and a removed queue is gone
// at once.
#include "store/redis/log_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "store/limits.h"
#include "store/redis/keys.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongestBlock = 1s;
constexpr Duration kFirstRetry = 10ms;
constexpr Duration kLongestRetry = 1s;
constexpr std::size_t kMinBudget = 16;
constexpr std::size_t kMaxBudget = 1u << 16;
constexpr std::uint64_t kAppendPiece = 1000;

}  // namespace

// --------------------------------------------------------------------------------------------------- bell

WakeBell::Ear::Ear(std::shared_ptr<WakeBell> bell)
    : bell_(std::move(bell)), descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  const std::lock_guard lock(bell_->mutex_);
  bell_->ears_.insert(descriptor_);
}

WakeBell::Ear::~Ear() {
  const std::lock_guard lock(bell_->mutex_);
  bell_->ears_.erase(descriptor_);
  close(descriptor_);
}

bool WakeBell::Ear::take() {
  eventfd_t count = 0;
  return eventfd_read(descriptor_, &count) == 0;
}

void WakeBell::Ear::wait(Duration at_most) {
  pollfd polled{descriptor_, POLLIN, 0};
  poll(&polled, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count()));
}

void WakeBell::ring() {
  const std::lock_guard lock(mutex_);
  for (const int ear : ears_) eventfd_write(ear, 1);
}

// ------------------------------------------------------------------------------------------------- shards

RedisLogReader::RedisLogReader(const Location& location, Duration patience, std::shared_ptr<WakeBell> bell,
                               QueueName queue_name)
    : location_(location),
      patience_(patience),
      queue_name_(std::move(queue_name)),
      ear_(std::move(bell)),
      pause_(kFirstRetry) {}

std::string RedisLogReader::Place::key() const { return shard_key(shard, closed ? "closed" : "log"); }

void RedisLogReader::add(ShardId shard, Seq after, Lease lease) {
  remove(shard);
  places_.push_back({.shard = shard, .after = after, .lease = lease});
  by_key_.emplace(shard_key(shard, "log"), shard);
  by_key_.emplace(shard_key(shard, "closed"), shard);
  must_look_ = true;
}

void RedisLogReader::remove(ShardId shard) {
  std::erase_if(places_, [&](const Place& place) { return place.shard == shard; });
  by_key_.erase(shard_key(shard, "log"));
  by_key_.erase(shard_key(shard, "closed"));
}

// --------------------------------------------------------------------------------------------- connection

void RedisLogReader::connect() {
  if (connection_ != nullptr && !connection_->is_broken()) return;
  connection_.reset();
  is_waiting_ = false;
  auto connection = std::make_unique<Connection>(location_, patience_);
  pause_ = kFirstRetry;
  is_woken_ = true;  // what changed meanwhile is not known
  CommandText command;
  command.add("XREVRANGE", kWakeKey, "+", "-", "COUNT", 1);
  const auto last = connection->ask("read the wake stream", command)[0];
  wake_id_ = last.items.empty() ? "0-0" : last.at(0).at(0).text;
  check_logs(*connection);
  connection_ = std::move(connection);
  must_look_ = true;
}

/// The server may have lost the end of a log while it was away.
void RedisLogReader::check_logs(Connection& connection) const {
  const auto is_owned = [](const Place& place) { return place.lease != Lease{} && place.after > 0; };
  const auto owned = static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(), is_owned));
  if (owned == 0) return;
  CommandText command;
  call(command, catch_up_script(), 0, 5 * owned);
  for (const auto& place : places_) {
    if (!is_owned(place)) continue;
    command.word(place.shard.queue);
    command.word(place.shard.index);
    command.word(std::string_view(id_of(place.after)));
    command.word(place.lease.token);
    command.word(place.lease.holder);
  }
  connection.load_scripts();
  connection.ask("check the logs", command);
}

/// Whether a log of this reader was closed since it looked last.
bool RedisLogReader::find_closed() {
  CommandText commands;
  for (const auto& place : places_) commands.add("EXISTS", shard_key(place.shard, "closed"));
  if (places_.empty()) return false;
  const auto replies = connection_->ask("look for closed logs", commands);
  bool has_changed = false;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const bool is_closed = replies.at(i).integer == 1;
    has_changed = std::exchange(places_[i].closed, is_closed) != is_closed || has_changed;
  }
  must_look_ = false;
  return has_changed;
}

/// Takes the answer that an interrupted wait left behind: it comes within a second.
void RedisLogReader::finish_wait() {
  if (!std::exchange(is_waiting_, false)) return;
  if (const auto reply = connection_->receive(); reply.is_error()) throw connection_->refusal("wait", reply);
}

CommandText RedisLogReader::streams_command(std::string_view option, std::uint64_t count,
                                            std::optional<std::int64_t> block_ms) {
  CommandText command;
  command.begin((block_ms ? 6u : 4u) + 2 * (places_.size() + 1));
  command.word(std::string_view("XREAD"));
  command.word(option);
  command.word(count);
  if (block_ms) {
    command.word(std::string_view("BLOCK"));
    command.word(*block_ms);
  }
  command.word(std::string_view("STREAMS"));
  command.word(kWakeKey);
  for (const auto& place : places_) command.word(std::string_view(place.key()));
  command.word(std::string_view(wake_id_));
  for (const auto& place : places_) command.word(std::string_view(id_of(place.after)));
  return command;
}

void RedisLogReader::wait(Duration at_most) {
  const auto end = system_clock().steady() + at_most;
  if (connection_ == nullptr || connection_->is_broken()) {
    ear_.wait(std::clamp(at_most, Duration{}, pause_));
    pause_ = std::min(pause_ * 2, kLongestRetry);
    if (ear_.take()) is_woken_ = true;
    return;
  }
  finish_wait();
  for (auto left = at_most; left > Duration{0}; left = end - system_clock().steady()) {
    const auto block = std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kLongestBlock));
    connection_->send(streams_command("COUNT", 1, block.count()));
    is_waiting_ = true;
    const auto reply = connection_->receive(block + patience_, ear_.descriptor());
    is_waiting_ = !reply;
    if (ear_.take()) {
      is_woken_ = true;
      return;
    }
    if (!reply) {
      connection_.reset();  // it should have answered
      return;
    }
    if (reply->is_error()) throw connection_->refusal("wait for entries", *reply);
    if (!reply->is_nil()) return;
  }
}

// ------------------------------------------------------------------------------------------------ reading

LogChunk RedisLogReader::read(std::size_t max_rows) {
  connect();
  finish_wait();
  if (!places_.empty()) {
    std::rotate(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(turn_++ % places_.size()),
                places_.end());
  }
  const auto shards = std::max<std::size_t>(1, places_.size());
  const auto rows_per_shard = std::max<std::size_t>(1, std::min(max_rows, row_budget_) / shards);
  if (must_look_) find_closed();
  const auto ask = [&] {
    return connection_->ask("read the log", streams_command("COUNT", rows_per_shard, std::nullopt)).at(0);
  };
  auto reply = ask();
  const auto is_wake = [](const Reply& stream) { return stream.at(0).text == kWakeKey; };
  // It may have been for this that the wake stream was written.
  if (std::any_of(reply.items.begin(), reply.items.end(), is_wake) && find_closed()) reply = ask();
  auto page = take_streams(reply, rows_per_shard);
  adapt(page);
  places_ = std::move(page.places);
  wake_id_ = std::move(page.wake_id);
  is_woken_ = false;
  return std::move(page.chunk);
}

RedisLogReader::Page RedisLogReader::take_streams(const Reply& reply, std::size_t rows_per_shard) {
  Page page{.places = places_, .wake_id = wake_id_};
  page.chunk.woken = is_woken_;
  std::map<ShardId, const Reply*> found;
  for (const auto& stream : reply.items) {
    const auto& key = stream.at(0).text;
    if (key == kWakeKey) {
      page.chunk.woken = true;
      page.wake_id = stream.at(1).items.back().at(0).text;
    } else if (const auto known = by_key_.find(key); known != by_key_.end()) {
      found.emplace(known->second, &stream.at(1));
    }
  }
  for (auto& place : page.places) {
    const auto entries = found.find(place.shard);
    const bool has_some = entries != found.end();
    const bool has_all = !has_some || entries->second->items.size() < rows_per_shard;
    if (has_some) take_stream(page, place, *entries->second);
    if (!has_all || (has_some && page.is_full)) {
      page.chunk.at_end = false;
    } else if (!std::exchange(place.caught_up, true)) {
      page.chunk.caught_up.push_back(place.shard);
    }
  }
  return page;
}

void RedisLogReader::take_stream(Page& page, Place& place, const Reply& entries) {
  Seq append_end = 0;  // last number of the append that the last row belongs to
  for (const auto& entry : entries.items) {
    page.is_full = page.is_full || (page.chunk.bytes.size() >= kReadBytes && place.after >= append_end);
    if (page.is_full) return;
    const auto bytes_before = page.chunk.bytes.size();
    append_end = std::max(append_end, add_row(page.chunk, place.shard, entry, queue_name_));
    place.after = page.chunk.rows.back().seq;
    ++page.rows_in_streams;
    page.bytes_in_streams += page.chunk.bytes.size() - bytes_before;
  }
  if (place.after < append_end) finish_append(page, place, append_end);
}

/// Reads on to the number `end`, wherever the page ends.
void RedisLogReader::finish_append(Page& page, Place& place, Seq end) {
  while (true) {
    CommandText command;
    command.add("XRANGE", place.key(), "(" + id_of(place.after), id_of(end), "COUNT", kAppendPiece);
    const auto rest = connection_->ask("read the log", command).at(0);
    for (const auto& entry : rest.items) {
      add_row(page.chunk, place.shard, entry, queue_name_);
      place.after = page.chunk.rows.back().seq;
    }
    if (rest.items.size() < kAppendPiece) break;
  }
}

/// How many rows fill a page is known from the last ones; what follows may be larger.
void RedisLogReader::adapt(const Page& page) {
  if (page.rows_in_streams == 0) return;
  const auto fitting = kReadBytes / std::max<std::size_t>(1, page.bytes_in_streams / page.rows_in_streams);
  row_budget_ = std::clamp(std::min(fitting, row_budget_ * 2), kMinBudget, kMaxBudget);
}

}  // namespace ordo::store::redis
