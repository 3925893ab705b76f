// The server remembers what was read here and says once when it changes (CLIENT TRACKING): so one connection
// to each server waits for any number of streams, whoever writes to them. XREAD BLOCK would want a connection
// for each slot of a cluster. What a page has no room for is dropped and asked for again: so nothing stale is
// kept, and a removed queue is gone at once.
#include "store/redis/log_reader.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "store/limits.h"
#include "store/redis/keys.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr int kMostRedirects = 5;
constexpr Duration kFirstRetry = 10ms;
constexpr Duration kLongestRetry = 1s;
constexpr std::uint64_t kAppendPiece = 1000;
constexpr const char* kLimitHint =
    "; reads are made smaller until they pass. If the server's log tells of output buffer limits, raise "
    "client-output-buffer-limit for its normal clients";
constexpr Duration kFarAhead = 24h;        // of this clock: no server is so far off
constexpr Seq kOdd = ~Seq{0} << kSeqBits;  // numbers for entries without one, in a log that is only looked at

}  // namespace

// ------------------------------------------------------------------------------------------------- shards

RedisLogReader::RedisLogReader(const Location& location, SlotMap& slots, Duration patience, Duration silence,
                               std::shared_ptr<WakeBell> bell, QueueName queue_name)
    : location_(location),
      slots_(slots),
      patience_(patience),
      silence_(silence),
      queue_name_(std::move(queue_name)),
      wake_slot_(slots.slot_of(kWakeKey)),
      ear_(std::move(bell)),
      pause_(kFirstRetry) {}

void RedisLogReader::add(ShardId shard, Seq after, Lease lease) {
  remove(shard);
  if (removed_.contains(shard)) forget_removed();
  known_.insert(shard);
  places_.push_back({.shard = shard,
                     .key = shard_key(shard, "log"),
                     .slot = slots_.slot_of(shard),
                     .after = after,
                     .lease = lease});
  must_look_ = true;
}

void RedisLogReader::remove(ShardId shard) {
  if (known_.erase(shard) > 0) removed_.insert(shard);
}

// All at once: a node lets go of many.
void RedisLogReader::forget_removed() {
  if (removed_.empty()) return;
  std::erase_if(places_, [&](const Place& place) { return removed_.contains(place.shard); });
  removed_.clear();
}

// ------------------------------------------------------------------------------------------------- servers

/// Throws as Connection does.
RedisLogReader::Server& RedisLogReader::server_at(const Address& address) {
  auto& server = servers_[address];
  const auto turns = slots_.turns(address);
  const bool may_stay = server.connection != nullptr && !server.connection->is_broken() &&
                        !server.connection->is_to_replica() && server.turns == turns;
  if (may_stay) return server;  // one that takes over is to be asked anew who it is
  if (server.connection != nullptr) drop(server);
  const auto began = system_clock().steady();
  if (began < server.again_at) throw Error(ErrorKind::unavailable, server.why);
  try {
    auto connection = std::make_unique<Connection>(location_.at(address), patience_, slots_.connect_within());
    slots_.check(*connection, address);
    connection->follow_keys();
    server = {.connection = std::move(connection), .number = ++connections_made_, .turns = turns};
    return server;
  } catch (const Error& error) {
    // Not once more for each question of this read.
    server.again_at =
        slots_.is_cluster() ? after_failed_connect(began) : system_clock().steady() + kFirstRetry / 2;
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
    const auto redirect = slots_.is_cluster() ? redirect_of(reply, address) : std::nullopt;
    if (!redirect || redirects == kMostRedirects) {
      if (reply.is_error()) throw connection.refusal(task, reply);
      return reply;
    }
    if (redirect->moved) {
      slots_.moved(redirect->slot, redirect->to);
      drop(servers_[address]);  // should it get the slot back, it has taken another's place
    }
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
  auto left = std::min(at_most, silence_);
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
  forget_removed();
  // One that is the master no more is left, whatever it still says.
  if (!slots_.is_cluster()) {
    std::erase_if(servers_, [&](const auto& known) { return known.first != slots_.server_of(wake_slot_); });
  }
  listen();
  has_changed_ = false;
  if (!places_.empty()) {
    std::rotate(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(turn_++ % places_.size()),
                places_.end());
  }
  const auto rows_per_shard = share_of_page(max_rows);
  if (must_look_) find_closed();
  renumber();
  latest_ = system_clock().wall() + kFarAhead;
  auto question = gather();
  exchange(question, rows_per_shard);
  // It may have been for this that the wake stream was written, once more while it was looked for, or while a
  // connection was away.
  for (auto seen = wake_id_; must_look_ || last_wake(question).value_or(seen) != seen;) {
    seen = last_wake(question).value_or(seen);
    if (!find_closed()) break;
    question = gather();
    exchange(question, rows_per_shard);
  }
  auto page = take(question, rows_per_shard);
  const bool has_news = !page.chunk.rows.empty() || !page.chunk.caught_up.empty();
  if (failure_ && !has_news) {
    slots_.refresh();
    throw Error(failure_->kind(), failure_->what() + std::string(unanswered_ > 1 ? kLimitHint : ""));
  }
  if (!failure_) unanswered_ = 0;
  size_.passed(page.rows_in_streams, page.bytes_in_streams, page.chunk.at_end);
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
  return std::max<std::size_t>(1, std::min(max_rows, size_.rows()) / parts);
}

/// The last entry of the wake stream; nothing if it was not read.
std::optional<std::string> RedisLogReader::last_wake(const Question& question) const {
  const auto streams = std::ranges::find(question, true, &Streams::has_wake);
  if (streams == question.end() || !streams->reply) return std::nullopt;
  const auto& items = streams->reply->items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == kWakeKey) return items[i + 1].items.back().at(0).text;
  }
  return wake_id_;
}

/// Another program has put something else in the place of a key: it is left alone, and looked at anew.
bool RedisLogReader::is_odd(const std::optional<Reply>& reply) {
  if (!reply || !reply->is_wrong_type()) return false;
  slots_.found_odd();
  must_look_ = true;
  return true;
}

/// Whether a log has another name than when it was looked at last, and is a log. One by one: a slot that
/// moves takes no questions for several keys, unless it has them all.
bool RedisLogReader::find_closed() {
  must_look_ = false;
  std::map<Address, std::vector<Place*>> by_server;
  for (auto& place : places_) {
    place.is_found = false;
    by_server[slots_.server_of(place.slot)].push_back(&place);
  }
  const auto look = [](const Place& place, const char* part) {
    CommandText command;
    command.add("TYPE", shard_key(place.shard, part));
    return command;
  };
  bool has_changed = false;
  for (const auto& [address, places] : by_server) {
    std::vector<std::optional<Reply>> replies(2 * places.size());
    guard(address, [&, &address = address, &places = places] {
      auto& connection = *server_at(address).connection;
      std::string bytes;
      for (const auto* place : places) bytes += look(*place, "closed").bytes() + look(*place, "log").bytes();
      connection.send(bytes);
      for (auto& reply : replies) reply = connection.receive();
    });
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto& place = *places[i];
      auto &closed = replies[2 * i], &log = replies[2 * i + 1];
      ask_again(place.slot, look(place, "closed"), closed);
      ask_again(place.slot, look(place, "log"), log);
      place.is_found = closed && log;
      if (!place.is_found) {
        must_look_ = true;
        continue;
      }
      const bool is_closed = closed->text != "none";
      const auto& kind = is_closed ? closed->text : log->text;
      place.is_odd = kind != "stream" && kind != "none";
      auto key = shard_key(place.shard, is_closed ? "closed" : "log");
      has_changed = has_changed || key != place.key;
      place.key = std::move(key);
    }
  }
  return has_changed;
}

/// What is to be read, by slot, and in pieces that can be asked at once.
RedisLogReader::Question RedisLogReader::gather() const {
  std::map<Slot, std::vector<std::size_t>> by_slot;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].is_odd) by_slot[places_[i].slot].push_back(i);
  }
  Question question = {{.slot = wake_slot_, .has_wake = true}};
  for (const auto& [slot, places] : by_slot) {
    for (std::size_t at = 0; at < places.size(); at += size_.shards()) {
      if (slot != wake_slot_ || at > 0) question.push_back({.slot = slot});
      auto& streams = slot == wake_slot_ && at == 0 ? question.front() : question.back();
      const auto piece = std::span(places).subspan(at, std::min(size_.shards(), places.size() - at));
      streams.places.assign(piece.begin(), piece.end());
    }
  }
  return question;
}

void RedisLogReader::exchange(Question& question, std::size_t rows_per_shard) {
  const auto most = size_.shards();
  for (auto left = std::span(question); !left.empty();) {
    std::size_t count = 0, shards = 0;
    while (count < left.size() && (count == 0 || shards + left[count].places.size() <= most))
      shards += left[count++].places.size();
    exchange_at_once(left.first(count), rows_per_shard);
    left = left.subspan(count);
  }
}

void RedisLogReader::exchange_at_once(std::span<Streams> question, std::size_t rows_per_shard) {
  std::map<Address, std::vector<Streams*>> by_server;
  std::size_t shards = 0;
  for (auto& streams : question) {
    shards += streams.places.size();
    const auto address = slots_.server_of(streams.slot);
    guard(address, [&] {
      check(streams, server_at(address).number);
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
      try {
        for (auto* streams : all) {
          streams->reply = connection->receive();
          for (auto& [i, reply] : streams->aside) reply = connection->receive();
        }
      } catch (const Error&) {
        ++unanswered_;
        size_.failed(rows_per_shard, shards);
        throw;
      }
    });
  }
  for (auto& streams : question) {
    if (is_odd(streams.reply)) streams.reply.reset();
    ask_again(streams.slot, streams.command, streams.reply);
    for (auto& [i, reply] : streams.aside) {
      if (is_odd(reply)) reply = Reply{};  // the shard's owner finds out (RedisStore::shards)
      ask_again(streams.slot, aside_command(places_[i], rows_per_shard), reply);
    }
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
void RedisLogReader::check(Streams& streams, std::uint64_t connection) {
  for (const auto i : streams.places) {
    auto& place = places_[i];
    if (place.connection != connection) check_log(place);
    place.connection = connection;
  }
  if (!streams.has_wake || wake_connection_ == connection) return;
  CommandText command;
  command.add("XREVRANGE", kWakeKey, "+", "-", "COUNT", 1);
  const auto last = ask("read the wake stream", streams.slot, command);
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

/// Only the owner's reader changes the log. What it finds is known by then: every entry that it has not read.
void RedisLogReader::renumber() {
  for (auto& place : places_) {
    if (!std::exchange(place.must_renumber, false)) continue;
    CommandText command;
    command.add("EVAL", renumber_script().text, 2, place.key, shard_key(place.shard, "meta"),
                id_of(place.after), place.lease.token, place.lease.holder);
    try {
      place.has_renumbered = ask("number entries anew", place.slot, command).number() == 0;
    } catch (const Error& error) {
      place.must_renumber = true;
      failure_.emplace(error.kind(), error.what());
    }
  }
}

/// Nothing: it will get one.
std::optional<Seq> RedisLogReader::number_of(Place& place, const std::string& id) const {
  const auto seq = seq_of(id);
  if (seq && time_of(*seq) <= latest_) return seq;
  const bool is_owners = place.lease != Lease{};
  if (is_owners && (!seq || !place.has_renumbered)) {
    place.must_renumber = true;
    return std::nullopt;
  }
  if (seq && place.odd_after.empty()) return seq;
  place.odd_after = id;
  return std::max(kOdd, place.after + 1);
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
  for (const auto i : streams.places) {
    const auto& place = places_[i];
    command.word(std::string_view(place.odd_after.empty() ? id_of(place.after) : place.odd_after));
  }
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
  for (const auto& streams : question) {
    if (!streams.reply) continue;
    for (const auto i : streams.places) {
      const auto aside = streams.aside.find(i);
      was_read[i] = aside == streams.aside.end() || aside->second;
      if (aside != streams.aside.end() && aside->second) asides[i] = &*aside->second;
    }
    const auto& items = streams.reply->items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) found.emplace(items[i].text, &items[i + 1]);
  }
  // What looks empty may have another name by now, which only the wake stream tells.
  const bool is_told = last_wake(question).has_value();
  page.chunk.woken = is_woken_;
  if (const auto wake = found.find(kWakeKey); wake != found.end()) {
    page.chunk.woken = true;
    page.wake_id = wake->second->items.back().at(0).text;
  }
  for (std::size_t i = 0; i < page.places.size(); ++i) {
    auto& place = page.places[i];
    if (place.is_odd) {
      place.is_behind = false;
      continue;
    }
    const auto stream = found.find(place.key);
    if (!was_read[i] || !place.is_found || (stream == found.end() && !is_told)) {
      page.chunk.at_end = false;
      continue;
    }
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
  Aside aside;
  for (const auto& member : reply.items) {
    if (const auto seq = seq_of_aside(member.text)) aside.members.emplace_back(*seq, member.text);
  }
  if (reply.items.size() >= rows && !aside.members.empty()) aside.through = aside.members.back().first;
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
    const auto seq = number_of(place, entry.at(0).text);
    if (!seq) return false;
    if (has_aside) {
      if (!take_aside(page, place, aside, *seq) || *seq > aside.through) return false;
      if (*seq == place.after) continue;  // set aside just now
    }
    const auto bytes_before = page.chunk.bytes.size();
    append_end = std::max(append_end, add_row(page.chunk, place.shard, *seq, entry, queue_name_));
    if (!place.odd_after.empty()) page.chunk.rows.back().at = latest_ - kFarAhead;
    took_row(page, place, bytes_before);
  }
  if (has_aside)
    return !is_last || (take_aside(page, place, aside, aside.through) && aside.through == kEverything);
  if (place.after < append_end) finish_append(page, place, append_end);
  return true;
}

bool RedisLogReader::take_aside(Page& page, Place& place, Aside& aside, Seq before) {
  for (; aside.taken < aside.members.size(); ++aside.taken) {
    const auto& [seq, member] = aside.members[aside.taken];
    if (seq > before) return true;
    page.is_full = page.is_full || page.chunk.bytes.size() >= kReadBytes;
    if (page.is_full) return false;
    const auto bytes_before = page.chunk.bytes.size();
    add_aside_row(page.chunk, place.shard, seq, member);
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
  const auto piece = std::min<std::uint64_t>(kAppendPiece, size_.rows());
  while (place.after < end) {
    const auto before = place.after;
    for (const auto* name : {"log", "closed"}) {
      CommandText command;
      command.add("XRANGE", shard_key(place.shard, name), "(" + id_of(place.after), id_of(end), "COUNT",
                  piece);
      Reply rest;
      try {
        rest = ask("read the log", place.slot, command);
      } catch (const Error&) {
        size_.failed(piece, 1);
        throw;
      }
      for (const auto& entry : rest.items) {
        const auto seq = seq_of(entry.at(0).text);
        if (!seq) continue;
        add_row(page.chunk, place.shard, *seq, entry, queue_name_);
        place.after = *seq;
      }
    }
    if (place.after == before) break;  // what is missing was erased meanwhile
  }
}

}  // namespace ordo::store::redis
