#include "sources/sidekiq/origin.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include <ordo/error.hpp>
#include <ordo/sidekiq.hpp>

#include "base/base64.h"
#include "base/clock.h"
#include "base/json_tree.h"
#include "base/number_text.h"
#include "base/random.h"
#include "base/time_text.h"
#include "sources/lua_files.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;
using store::redis::Reply;

constexpr int kDueAtOnce = 100;
constexpr const char* kDueSets[] = {"schedule", "retry"};

bool is_resque(const SourceOptions& source) { return source.dialect == sidekiq::Dialect::resque; }

constexpr const char* kFailed = "failed";  // Resque's list of the dead
constexpr const char* kAllSets[] = {"schedule", "retry", "dead"};

struct Member {
  std::string bytes;
  std::string score;
};

/// What ZRANGE … WITHSCORES answers: pairs in the newer protocol, one behind the other in the older.
std::vector<Member> members_of(const Reply& reply) {
  std::vector<Member> members;
  const auto& items = reply.items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].type == Reply::Type::array) {
      members.push_back({items[i].at(0).text, items[i].at(1).text});
    } else if (i + 1 < items.size()) {
      members.push_back({items[i].text, items[i + 1].text});
      ++i;
    }
  }
  return members;
}

/// The id right behind `id` of a stream.
std::string next_id(const std::string& id) {
  const auto dash = id.find('-');
  std::uint64_t number = 0;
  std::from_chars(id.data() + dash + 1, id.data() + id.size(), number);
  return fmt::format("{}-{}", id.substr(0, dash), number + 1);
}

/// Of a job in a sorted set: the queue that it says; nothing: it says none.
std::optional<std::string> queue_of(const std::string& bytes) {
  const auto job = JsonDocument::parse(bytes);
  if (!job || !job->root().is_object()) return std::nullopt;
  const auto queue = job->root().find("queue");
  if (!queue || !queue->is_string() || queue->as_string().empty()) return std::nullopt;
  return queue->as_string();
}

/// Resque keeps what has failed with the job within.
std::string failed_job(const std::string& bytes) {
  if (!JsonDocument::parse(bytes)) return bytes;
  const auto failure = Json::parse(bytes);
  return failure.contains("payload") ? failure["payload"].dump() : bytes;
}

SourceOptions without_ids(SourceOptions source) {
  for (auto& map : source.map) map.id.clear();
  return source;
}

}  // namespace

std::size_t SidekiqOrigin::Taken::size() const {
  auto size = bytes.size();
  for (const auto& each : more) size += each.size();
  return size;
}

SidekiqOrigin::SidekiqOrigin(const SourceOptions& source, Mode mode)
    : source_(source),
      named_by_jid_(without_ids(source)),
      mode_(mode),
      prefix_(is_resque(source) ? "resque:" : ""),
      taken_(taken_key(source)),
      taker_(taker_key(source)),
      id_(base64url(secret_bytes(12))),
      link_(source.url, [this](store::redis::Connection& connection) { follow(connection); }),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  for (const auto& queue : source.queues) lists_.push_back({queue, list_of(queue)});
}

SidekiqOrigin::~SidekiqOrigin() { close(wake_); }

// The server tells of every key with the prefix that others change. Prefixes must not overlap, so it is one
// for all lists.
void SidekiqOrigin::follow(store::redis::Connection& connection) const {
  CommandText commands;
  commands.add("HELLO", 3);  // news come in between replies in this version of the protocol only
  commands.add("CLIENT", "TRACKING", "ON", "BCAST", "NOLOOP", "PREFIX", list_of(""));
  connection.ask("follow the lists of jobs", commands);
}

SidekiqOrigin::Batch SidekiqOrigin::take(const std::string& position, std::uint64_t room) {
  const std::string from = position.empty() ? "0-0" : position;
  link_.connection().take_pushes();  // the lists are looked at now
  CommandText commands;
  commands.begin(3 + 3 + lists_.size() + 7 + lists_.size());
  commands.word("EVAL");
  commands.word(kSidekiqTakeLua);
  commands.word(3 + lists_.size());
  commands.word(std::string_view(taken_));
  commands.word(std::string_view(taker_));
  commands.word(std::string_view(mode_ == Mode::everything ? taken_ + ":none" : prefix_ + "paused"));
  for (const auto& list : lists_) commands.word(std::string_view(list.key));
  commands.word(std::string_view(id_));
  commands.word(std::chrono::milliseconds(kTakerFor).count());
  commands.word(std::string_view(from));
  commands.word(std::string_view(is_reset(from) ? "" : next_id(from)));
  commands.word(kMost);
  commands.word(std::min<std::uint64_t>(room, kMost));
  commands.word(is_resque(source_) ? "LPOP" : "RPOP");
  for (const auto& list : lists_) commands.word(std::string_view(list.queue));
  const auto reply = link_.ask("take jobs", commands).at(0);
  Batch batch;
  if (reply.at(0).integer == 0) {
    batch.is_ours = false;
    batch.another_for = std::chrono::milliseconds{std::max<std::int64_t>(reply.at(1).integer, 0)};
    return batch;
  }
  if (reply.at(0).integer == 2) {
    throw Error(ErrorKind::corrupt,
                "cannot take jobs for source '" + source_.name + "' from " + name() +
                    ": the store has them up to " + from + " of " + taken_ + ", which ends at " +
                    reply.at(1).text +
                    ": it is another server, or has lost its last writes. Jobs that were taken since may be "
                    "in their lists again, and would run twice. To go on: ordo sources reset " +
                    source_.name);
  }
  batch.position = reply.at(1).text;
  for (const auto& entry : reply.at(2).items) {
    const auto& fields = entry.at(1);
    auto& taken = batch.jobs.emplace_back(Taken{entry.at(0).text, fields.at(3).text});
    if (fields.items.size() < 8) continue;
    taken.set = fields.at(5).text;
    taken.score = fields.at(7).text;
    for (std::size_t i = 8; i < fields.items.size(); ++i) taken.more.push_back(fields.at(i).text);
  }
  return batch;
}

// Their queues are read here: a script would have to parse them.
std::vector<SidekiqOrigin::Due> SidekiqOrigin::find_due(std::vector<std::string>& paused) {
  CommandText ask_time;
  ask_time.add("TIME");
  const auto time = link_.ask("ask for the time", ask_time).at(0);
  const auto now = time.at(0).text + "." + fmt::format("{:0>6}", time.at(1).text);
  CommandText commands;
  commands.add("SMEMBERS", prefix_ + "paused");
  for (const auto* set : kDueSets) commands.add("ZRANGEBYSCORE", set, "-inf", now, "LIMIT", 0, kDueAtOnce);
  const auto replies = link_.ask("look for jobs that are due", commands);
  for (const auto& queue : replies.at(0).items) paused.push_back(queue.text);
  std::vector<Due> due;
  for (std::size_t i = 0; i < std::size(kDueSets); ++i) {
    for (const auto& job : replies.at(i + 1).items) due.push_back({kDueSets[i], job.text});
  }
  return due;
}

std::size_t SidekiqOrigin::take_due(std::uint64_t room) {
  if (is_resque(source_)) return mode_ == Mode::everything ? take_failed() : 0;
  if (mode_ == Mode::everything) return take_sets();
  std::vector<std::string> paused;
  const auto due = find_due(paused);
  if (due.empty()) return 0;
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  CommandText commands;
  for (const auto& [set, bytes] : due) {
    const auto queue = queue_of(bytes);
    // What names no queue nobody could run: it is ours to say so.
    const bool is_ours = !queue || (room > 0 && is_in(source_.queues, *queue) && !is_in(paused, *queue));
    const auto name = queue.value_or("");
    commands.add("EVAL", kSidekiqMoveLua, 3, set, is_ours ? taken_ : list_of(name), prefix_ + "queues", bytes,
                 name, is_ours ? "take" : "push");
  }
  std::size_t moved = 0;
  for (const auto& reply : link_.ask("move jobs that are due", commands))
    moved += static_cast<std::size_t>(reply.integer);
  return moved;
}

std::size_t SidekiqOrigin::take_failed() {
  CommandText move;
  move.add("EVAL", kResqueFailedLua, 2, prefix_ + kFailed, taken_, kDueAtOnce, kFailed);
  return link_.ask("take the failed jobs", move).at(0).number();
}

// Scores are Unix seconds.
std::vector<MappedJob> SidekiqOrigin::map(const Config& config, const Taken& taken) const {
  const bool is_dead = taken.set == "dead" || taken.set == kFailed;
  const auto bytes = taken.set == kFailed ? failed_job(taken.bytes) : taken.bytes;
  auto mapped = map_job(is_dead ? named_by_jid_ : source_, config, bytes, taken.position);
  mapped.is_dead = is_dead;
  const auto seconds = is_dead ? std::nullopt : read_number<double>(taken.score);
  if (seconds) mapped.job.run_at = time_of_seconds(*seconds);
  std::vector<MappedJob> jobs;
  jobs.push_back(std::move(mapped));
  return jobs;
}

// The whole sets, with their scores.
std::size_t SidekiqOrigin::take_sets() {
  CommandText ranges;
  for (const auto* set : kAllSets) ranges.add("ZRANGE", set, 0, kDueAtOnce - 1, "WITHSCORES");
  const auto found = link_.ask("read the sets of jobs", ranges);
  CommandText moves;
  for (std::size_t i = 0; i < std::size(kAllSets); ++i) {
    for (const auto& job : members_of(found[i])) {
      moves.add("EVAL", kSidekiqMoveLua, 3, kAllSets[i], taken_, prefix_ + "queues", job.bytes,
                queue_of(job.bytes).value_or(""), "take", kAllSets[i], job.score);
    }
  }
  std::size_t moved = 0;
  if (moves.count() == 0) return moved;
  for (const auto& reply : link_.ask("move jobs out of the sets", moves))
    moved += static_cast<std::size_t>(reply.integer);
  return moved;
}

// Those of Verk's runs that nobody goes on with come first.
SidekiqOrigin::Left SidekiqOrigin::find_all() {
  lists_.clear();
  for (const auto& pattern : {std::string("inprogress:*"), list_of("*")}) {
    if (is_resque(source_) && pattern.starts_with("inprogress")) continue;
    CommandText keys;
    keys.add("KEYS", pattern);
    auto found = link_.ask("find the lists of jobs", keys).at(0).items;
    std::ranges::sort(found, {}, &Reply::text);
    for (const auto& key : found) {
      const auto begin = key.text.find(':', prefix_.size()) + 1;
      const auto end = pattern.starts_with("inprogress") ? key.text.rfind(':') : std::string::npos;
      lists_.push_back({key.text.substr(begin, end - begin), key.text});
    }
  }
  CommandText counts;
  for (const auto* set : kAllSets) counts.add("ZCARD", set);
  counts.add("XLEN", taken_);
  if (is_resque(source_)) counts.add("LLEN", prefix_ + kFailed);
  for (const auto& list : lists_) counts.add("LLEN", list.key);
  const auto replies = link_.ask("count the jobs", counts);
  Left left{0, replies[0].number(), replies[1].number(), replies[2].number()};
  if (is_resque(source_)) left = {0, 0, 0, replies[4].number()};
  left.waiting = replies[3].number();
  for (std::size_t i = is_resque(source_) ? 5 : 4; i < replies.size(); ++i)
    left.waiting += replies[i].number();
  return left;
}

/// Something of our lists has changed since this was last asked.
bool SidekiqOrigin::has_news() {
  bool found = false;
  for (const auto& push : link_.connection().take_pushes()) {
    if (push.items.size() < 2) continue;
    if (push.at(1).items.empty()) found = true;  // the server has forgotten all keys
    for (const auto& key : push.at(1).items) {
      found = found || std::ranges::any_of(source_.queues, [&](const std::string& queue) {
                return key.text == list_of(queue);
              });
    }
  }
  return found;
}

void SidekiqOrigin::wait(Duration at_most, Wakes wakes) {
  auto& connection = link_.connection();
  const auto end = system_clock().steady() + at_most;
  const bool heeds_news = wakes == Wakes::by_news;
  for (auto left = at_most; left > Duration{0} && !(heeds_news && has_news());
       left = end - system_clock().steady()) {
    pollfd polled[] = {{heeds_news ? connection.descriptor() : -1, POLLIN, 0}, {wake_, POLLIN, 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    poll(polled, 2, static_cast<int>(std::min<std::int64_t>(ms, 60'000)));
    eventfd_t count = 0;
    if (eventfd_read(wake_, &count) == 0) return;
    if (polled[0].revents != 0) connection.receive(Duration{0});
  }
}

void SidekiqOrigin::wake() { eventfd_write(wake_, 1); }

void SidekiqOrigin::leave(const std::string& position) {
  const bool is_known = !position.empty() && !is_reset(position);
  CommandText commands;
  commands.add("EVAL", kSidekiqLeaveLua, 2, taker_, taken_, id_, is_known ? next_id(position) : "0-1");
  link_.ask("let others take", commands);
}

}  // namespace ordo::sources
