// The server remembers what was read here and says once when it changes (CLIENT TRACKING): so one connection
// to each server waits for any number of streams, whoever writes to them. XREAD BLOCK would want a connection
// for each slot of a cluster. What a page has no room for is dropped and asked for again: so nothing stale is
// kept, and a removed queue is gone at once.
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

constexpr Duration kLongestSilence = 1s;  // then all is read again: a server may be gone without a word
constexpr int kMostRedirects = 5;
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

void WakeBell::ring() {
  const std::lock_guard lock(mutex_);
  for (const int ear : ears_) eventfd_write(ear, 1);
}

// ------------------------------------------------------------------------------------------------- shards

RedisLogReader::RedisLogReader(const Location& location, SlotMap& slots, Duration patience,
                               std::shared_ptr<WakeBell> bell, QueueName queue_name)
    : location_(location),
      slots_(slots),
      patience_(patience),
      queue_name_(std::move(queue_name)),
      wake_slot_(slots.slot_of(kWakeKey)),
      ear_(std::move(bell)),
      pause_(kFirstRetry) {}

void RedisLogReader::add(ShardId shard, Seq after, Lease lease) {
  remove(shard);
  places_.push_back({.shard = shard,
                     .key = shard_key(shard, "log"),
                     .slot = slots_.slot_of(shard),
                     .after = after,
                     .lease = lease});
  must_look_ = true;
}

void RedisLogReader::remove(ShardId shard) {
  std::erase_if(places_, [&](const Place& place) { return place.shard == shard; });
}

// ------------------------------------------------------------------------------------------------- servers

/// Throws as Connection does.
RedisLogReader::Server& RedisLogReader::server_at(const Address& address) {
  auto& server = servers_[address];
  if (server.connection != nullptr && !server.connection->is_broken()) return server;
  if (server.connection != nullptr) drop(server);
  const auto began = system_clock().steady();
  if (began < server.again_at) throw Error(ErrorKind::unavailable, server.why);
  try {
    auto connection = std::make_unique<Connection>(location_.at(address), patience_, slots_.connect_within());
    connection->follow_keys();
    server = {.connection = std::move(connection), .number = ++connections_made_};
    return server;
  } catch (const Error& error) {
    if (slots_.is_cluster()) server.again_at = after_failed_connect(began);
    server.why = error.what();
    throw;
  }
}

/// What was read over it is not followed any more.
void RedisLogReader::drop(Server& server) {
  server.connection.reset();
  has_changed_ = true;
}

/// Asks the server that has the slot, also when it has just moved.
Reply RedisLogReader::ask(const char* task, Slot slot, const CommandText& command) {
  std::optional<Address> asked;
  for (int redirects = 0;; ++redirects) {
    const auto address = asked ? *asked : slots_.server_of(slot);
    auto& connection = *server_at(address).connection;
    if (asked) {
      CommandText asking;
      asking.add("ASKING");
      connection.ask(task, asking);
    }
    connection.send(command);
    auto reply = connection.receive();
    const auto redirect = redirect_of(reply, address);
    if (!redirect || redirects == kMostRedirects) {
      if (reply.is_error()) throw connection.refusal(task, reply);
      return reply;
    }
    if (redirect->moved) slots_.moved(redirect->slot, redirect->to);
    asked = redirect->moved ? std::nullopt : std::optional(redirect->to);
  }
}

/// Takes what the servers have said unasked: that something changed.
void RedisLogReader::listen() {
  for (auto& [address, server] : servers_) {
    if (server.connection == nullptr) continue;
    try {
      server.connection->receive(Duration{0});
      if (!server.connection->take_pushes().empty()) has_changed_ = true;
    } catch (const Error&) {
      drop(server);
    }
  }
}

void RedisLogReader::wait(Duration at_most) {
  auto left = std::min(at_most, kLongestSilence);
  if (failure_) {
    left = std::min(at_most, pause_);
    pause_ = std::min(pause_ * 2, kLongestRetry);
  }
  listen();
  if (has_changed_ && !failure_) return;
  std::vector<pollfd> polled = {{ear_.descriptor(), POLLIN, 0}};
  for (const auto& [address, server] : servers_) {
    if (server.connection != nullptr) polled.push_back({server.connection->descriptor(), POLLIN, 0});
  }
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(left, Duration{}));
  poll(polled.data(), polled.size(), static_cast<int>(ms.count()));
  if (ear_.take()) is_woken_ = true;
}

// ------------------------------------------------------------------------------------------------ reading

LogChunk RedisLogReader::read(std::size_t max_rows) {
  failure_.reset();
  listen();
  has_changed_ = false;
  if (!places_.empty()) {
    std::rotate(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(turn_++ % places_.size()),
                places_.end());
  }
  const auto rows_per_shard = share_of_page(max_rows);
  if (must_look_) find_closed();
  auto question = gather();
  exchange(question, rows_per_shard);
  // It may have been for this that the wake stream was written.
  if (was_woken(question) && find_closed()) {
    question = gather();
    exchange(question, rows_per_shard);
  }
  auto page = take(question, rows_per_shard);
  const bool has_news = !page.chunk.rows.empty() || !page.chunk.caught_up.empty();
  if (failure_ && !has_news) {
    slots_.refresh();
    throw Error(failure_->kind(), failure_->what());
  }
  adapt(page);
  places_ = std::move(page.places);
  wake_id_ = std::move(page.wake_id);
  is_woken_ = false;
  if (!page.chunk.at_end) has_changed_ = true;
  if (!failure_) pause_ = kFirstRetry;
  return std::move(page.chunk);
}

/// Does `step` on the connection to `address`, which it drops when that fails: the shards there wait for the
/// next read, and the others do not.
template <class Step>
void RedisLogReader::guard(const Address& address, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    drop(servers_[address]);
    failure_.emplace(error.kind(), error.what());
  }
}

/// A page is for those that have much to read: a full log among hundreds of empty ones is not read by dozens.
/// Of what all have at once after a pause, no more than some pages are read and dropped.
std::size_t RedisLogReader::share_of_page(std::size_t max_rows) const {
  const auto behind = static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& place) { return place.is_behind; }));
  const auto parts = std::max({behind, places_.size() / 16, std::size_t{1}});
  return std::max<std::size_t>(1, std::min(max_rows, row_budget_) / parts);
}

bool RedisLogReader::was_woken(const Question& question) const {
  const auto& reply = question.at(wake_slot_).reply;
  if (!reply) return false;
  for (std::size_t i = 0; i + 1 < reply->items.size(); i += 2) {
    if (reply->items[i].text == kWakeKey) return true;
  }
  return false;
}

/// Whether a log has another name than when it was looked at last. One by one: a slot that moves takes no
/// questions for several keys, unless it has them all.
bool RedisLogReader::find_closed() {
  must_look_ = false;
  bool has_changed = false;
  for (auto& place : places_) {
    CommandText command;
    command.add("EXISTS", shard_key(place.shard, "closed"));
    try {
      const bool is_closed = ask("look for closed logs", place.slot, command).integer == 1;
      auto key = shard_key(place.shard, is_closed ? "closed" : "log");
      has_changed = has_changed || key != place.key;
      place.key = std::move(key);
    } catch (const Error& error) {
      failure_.emplace(error.kind(), error.what());
      must_look_ = true;
    }
  }
  return has_changed;
}

/// What is to be read, by slot.
RedisLogReader::Question RedisLogReader::gather() {
  Question question;
  for (std::size_t i = 0; i < places_.size(); ++i) question[places_[i].slot].places.push_back(i);
  question[wake_slot_].has_wake = true;
  return question;
}

void RedisLogReader::exchange(Question& question, std::size_t rows_per_shard) {
  std::map<Address, std::vector<Streams*>> by_server;
  for (auto& [slot, streams] : question) {
    const auto address = slots_.server_of(slot);
    guard(address, [&, slot = slot, &streams = streams] {
      check(slot, streams, server_at(address).number);
      streams.command = streams_command(streams, rows_per_shard);
      for (const auto i : streams.places) {
        if (!places_[i].caught_up) streams.aside[i];
      }
      by_server[address].push_back(&streams);
    });
  }
  for (auto& [address, all] : by_server) {
    std::string bytes;
    for (const auto* streams : all) {
      bytes += streams->command.bytes();
      // After the log: what is moved in between is then found in both, and not in none.
      for (const auto& [i, reply] : streams->aside)
        bytes += aside_command(places_[i], rows_per_shard).bytes();
    }
    guard(address, [&, &address = address] { server_at(address).connection->send(bytes); });
  }
  for (auto& [address, all] : by_server) {
    guard(address, [&, &address = address, &all = all] {
      const auto& connection = servers_[address].connection;
      if (connection == nullptr) return;
      for (auto* streams : all) {
        streams->reply = connection->receive();
        for (auto& [i, reply] : streams->aside) reply = connection->receive();
      }
    });
  }
  for (auto& [slot, streams] : question) {
    ask_again(slot, streams.command, streams.reply);
    for (auto& [i, reply] : streams.aside) ask_again(slot, aside_command(places_[i], rows_per_shard), reply);
  }
}

/// What a server refused: the slot has moved, or is moving.
void RedisLogReader::ask_again(Slot slot, const CommandText& command, std::optional<Reply>& reply) {
  if (!reply || !reply->is_error()) return;
  reply.reset();
  try {
    reply = ask("read the log", slot, command);
  } catch (const Error& error) {
    failure_.emplace(error.kind(), error.what());
  }
}

/// What a new connection must be asked first.
void RedisLogReader::check(Slot slot, Streams& streams, std::uint64_t connection) {
  for (const auto i : streams.places) {
    auto& place = places_[i];
    if (place.connection != connection) check_log(place);
    place.connection = connection;
  }
  if (!streams.has_wake || wake_connection_ == connection) return;
  CommandText command;
  command.add("XREVRANGE", kWakeKey, "+", "-", "COUNT", 1);
  const auto last = ask("read the wake stream", slot, command);
  wake_id_ = last.items.empty() ? "0-0" : last.at(0).at(0).text;
  wake_connection_ = connection;
  is_woken_ = true;  // what changed meanwhile is not known
  must_look_ = true;
}

/// The server may have lost the end of a log while it was away, or be another that never had it.
void RedisLogReader::check_log(const Place& place) {
  if (place.lease == Lease{} || place.after == 0) return;
  CommandText command;
  command.add("EVAL", catch_up_script().text, 2, place.key, shard_key(place.shard, "meta"),
              id_of(place.after), place.lease.token, place.lease.holder);
  ask("check the log", place.slot, command);
}

CommandText RedisLogReader::streams_command(const Streams& streams, std::uint64_t count) const {
  CommandText command;
  command.begin(4 + 2 * (streams.places.size() + (streams.has_wake ? 1 : 0)));
  command.word(std::string_view("XREAD"));
  command.word(std::string_view("COUNT"));
  command.word(count);
  command.word(std::string_view("STREAMS"));
  if (streams.has_wake) command.word(kWakeKey);
  for (const auto i : streams.places) command.word(std::string_view(places_[i].key));
  if (streams.has_wake) command.word(std::string_view(wake_id_));
  for (const auto i : streams.places) command.word(std::string_view(id_of(places_[i].after)));
  return command;
}

CommandText RedisLogReader::aside_command(const Place& place, std::uint64_t count) const {
  CommandText command;
  command.add("ZRANGEBYLEX", shard_key(place.shard, "aside"), "(" + aside_name(place.after) + ";", "+",
              "LIMIT", 0, count);
  return command;
}

RedisLogReader::Page RedisLogReader::take(const Question& question, std::size_t rows_per_shard) {
  Page page{.places = places_, .wake_id = wake_id_};
  std::vector<bool> was_read(places_.size());
  std::vector<const Reply*> asides(places_.size());
  std::map<std::string_view, const Reply*> found;
  for (const auto& [slot, streams] : question) {
    if (!streams.reply) continue;
    for (const auto i : streams.places) {
      const auto aside = streams.aside.find(i);
      was_read[i] = aside == streams.aside.end() || aside->second;
      if (aside != streams.aside.end() && aside->second) asides[i] = &*aside->second;
    }
    const auto& items = streams.reply->items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) found.emplace(items[i].text, &items[i + 1]);
  }
  page.chunk.woken = is_woken_;
  if (const auto wake = found.find(kWakeKey); wake != found.end()) {
    page.chunk.woken = true;
    page.wake_id = wake->second->items.back().at(0).text;
  }
  for (std::size_t i = 0; i < page.places.size(); ++i) {
    auto& place = page.places[i];
    if (!was_read[i]) {
      page.chunk.at_end = false;
      continue;
    }
    const auto stream = found.find(place.key);
    const auto entries = stream == found.end() ? std::span<const Reply>() : stream->second->items;
    auto aside = asides[i] == nullptr ? Aside{} : aside_of(*asides[i], rows_per_shard);
    const bool is_last = entries.size() < rows_per_shard;
    place.is_behind = !take_rows(page, place, entries, aside, is_last) || !is_last;
    if (place.is_behind) {
      page.chunk.at_end = false;
    } else if (!std::exchange(place.caught_up, true)) {
      page.chunk.caught_up.push_back(place.shard);
    }
  }
  return page;
}

RedisLogReader::Aside RedisLogReader::aside_of(const Reply& reply, std::size_t rows) {
  Aside aside{.members = reply.items};
  if (aside.members.size() >= rows) aside.through = seq_of_aside(aside.members.back().text);
  return aside;
}

/// Both in their order. False: there is more, and the page is full or what comes next was not read.
bool RedisLogReader::take_rows(Page& page, Place& place, std::span<const Reply> entries, Aside& aside,
                               bool is_last) {
  Seq append_end = 0;  // last number of the append that the last row belongs to
  const bool has_aside = !aside.members.empty();
  for (const auto& entry : entries) {
    page.is_full = page.is_full || (page.chunk.bytes.size() >= kReadBytes && place.after >= append_end);
    if (page.is_full) return false;
    if (has_aside) {
      const auto seq = seq_of(entry.at(0).text);
      if (!take_aside(page, place, aside, seq) || seq > aside.through) return false;
      if (seq == place.after) continue;  // set aside just now
    }
    const auto bytes_before = page.chunk.bytes.size();
    append_end = std::max(append_end, add_row(page.chunk, place.shard, entry, queue_name_));
    took_row(page, place, bytes_before);
  }
  if (has_aside)
    return !is_last || (take_aside(page, place, aside, aside.through) && aside.through == kEverything);
  if (place.after < append_end) finish_append(page, place, append_end);
  return true;
}

bool RedisLogReader::take_aside(Page& page, Place& place, Aside& aside, Seq before) {
  for (; aside.taken < aside.members.size(); ++aside.taken) {
    const auto& member = aside.members[aside.taken].text;
    if (seq_of_aside(member) > before) return true;
    page.is_full = page.is_full || page.chunk.bytes.size() >= kReadBytes;
    if (page.is_full) return false;
    const auto bytes_before = page.chunk.bytes.size();
    add_aside_row(page.chunk, place.shard, member);
    took_row(page, place, bytes_before);
  }
  return true;
}

void RedisLogReader::took_row(Page& page, Place& place, std::size_t bytes_before) {
  place.after = page.chunk.rows.back().seq;
  ++page.rows_in_streams;
  page.bytes_in_streams += page.chunk.bytes.size() - bytes_before;
}

/// Reads on to the number `end`, wherever the page ends.
void RedisLogReader::finish_append(Page& page, Place& place, Seq end) {
  while (place.after < end) {
    const auto before = place.after;
    for (const auto* name : {"log", "closed"}) {
      CommandText command;
      command.add("XRANGE", shard_key(place.shard, name), "(" + id_of(place.after), id_of(end), "COUNT",
                  kAppendPiece);
      const auto rest = ask("read the log", place.slot, command);
      for (const auto& entry : rest.items) {
        add_row(page.chunk, place.shard, entry, queue_name_);
        place.after = page.chunk.rows.back().seq;
      }
    }
    if (place.after == before) break;  // what is missing was erased meanwhile
  }
}

/// How many rows fill a page is known from the last ones; what follows may be larger.
void RedisLogReader::adapt(const Page& page) {
  if (page.rows_in_streams == 0) return;
  const auto fitting = kReadBytes / std::max<std::size_t>(1, page.bytes_in_streams / page.rows_in_streams);
  row_budget_ = std::clamp(std::min(fitting, row_budget_ * 2), kMinBudget, kMaxBudget);
}

}  // namespace ordo::store::redis
