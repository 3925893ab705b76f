#include "sources/lowkiq/origin.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sources/lowkiq/mapping.h"
#include "sources/lua_files.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;

constexpr std::string_view kLowkiq = "lowkiq:A:v1:";
constexpr std::string_view kIds = ":all_ids_lex";
constexpr std::string_view kMorgue = ":morgue";
constexpr int kIdsAtOnce = 100;
constexpr int kPayloadsAtOnce = 10;  // of one job; the rest comes with the next

/// Those that begin so, whatever a name of a worker in it means in a pattern.
std::vector<std::string> keys_of(RedisLink& link, std::string_view begin, std::string_view end = {}) {
  std::string pattern;
  for (const char c : begin) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  CommandText commands;
  commands.add("KEYS", fmt::format("{}*{}", pattern, end));
  std::vector<std::string> keys;
  const auto found = link.ask("find the queues of Lowkiq", commands);
  for (const auto& key : found.at(0).items) keys.push_back(key.text);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

std::vector<std::string> lowkiq_queues(const SourceOptions& source) {
  RedisLink link(source.url);
  std::set<std::string> queues;
  for (const auto& key : keys_of(link, kLowkiq, kIds)) {
    auto name = key.substr(kLowkiq.size(), key.size() - kLowkiq.size() - kIds.size());
    if (name.ends_with(kMorgue))
      name.resize(name.size() - kMorgue.size());  // the dead have sets of their own
    queues.insert(std::move(name));
  }
  return {queues.begin(), queues.end()};
}

LowkiqOrigin::LowkiqOrigin(const SourceOptions& source, const std::string& worker)
    : SidekiqOrigin(source, Mode::everything), prefix_(fmt::format("{}{}:", kLowkiq, worker)) {}

const std::vector<LowkiqOrigin::Place>& LowkiqOrigin::places() {
  if (!places_.empty()) return places_;
  const auto morgue = prefix_ + "morgue:";
  places_.push_back({.set = kDead,
                     .ids = morgue + "all_ids_lex",
                     .payloads = morgue + "payloads:",
                     .times = morgue + "all_ids_scored_by_updated_at",
                     .retries = morgue + "none",
                     .errors = morgue + "errors"});
  const auto running = prefix_ + "processing:";
  const auto times = running + "ids_with_perform_in:";
  for (const auto& key : keys_of(link(), times)) {
    const auto shard = key.substr(times.size());
    places_.push_back({.set = kWaiting,
                       .ids = key,
                       .payloads = running + "payloads:",
                       .times = key,
                       .retries = running + "ids_with_retry_count:" + shard,
                       .errors = running + "errors:" + shard});
  }
  places_.push_back({.set = kWaiting,
                     .ids = prefix_ + "all_ids_lex",
                     .payloads = prefix_ + "payloads:",
                     .times = prefix_ + "all_ids_scored_by_perfrom_in",  // as it is spelled there
                     .retries = prefix_ + "all_ids_scored_by_retry_count",
                     .errors = prefix_ + "errors",
                     .more = keys_of(link(), prefix_ + "ids_scored_by_perform_in:")});
  return places_;
}

std::size_t LowkiqOrigin::take_from(const Place& place) {
  CommandText ask;
  if (place.ids == place.times) {
    ask.add("HKEYS", place.ids);
  } else {
    ask.add("ZRANGE", place.ids, 0, kIdsAtOnce - 1);
  }
  const auto found = link().ask("read the ids of jobs", ask).at(0);
  CommandText moves;
  for (const auto& id : found.items) {
    moves.begin(3 + 6 + place.more.size() + 3);
    moves.word("EVAL");
    moves.word(kLowkiqMoveLua);
    moves.word(6 + place.more.size());
    for (const auto* key : {&taken(), &place.times, &place.retries, &place.errors, &place.ids}) {
      moves.word(std::string_view(*key));
      if (key == &taken()) moves.word(place.payloads + id.text);
    }
    for (const auto& key : place.more) moves.word(std::string_view(key));
    moves.word(std::string_view(id.text));
    moves.word(place.set);
    moves.word(kPayloadsAtOnce);
  }
  if (moves.count() > 0) link().ask("take jobs of Lowkiq", moves);
  return moves.count();
}

// What waits comes behind the dead of its id: to kill those is to kill what is queued.
std::size_t LowkiqOrigin::take_due(std::uint64_t /*room*/) {
  for (const auto& place : places()) {
    if (const auto moved = take_from(place); moved > 0) return moved;
  }
  return 0;
}

std::vector<MappedJob> LowkiqOrigin::map(const Config& config, const Taken& taken) const {
  return map_lowkiq_job(source(), config, taken);
}

SidekiqOrigin::Left LowkiqOrigin::find_all() {
  CommandText counts;
  counts.add("XLEN", taken());
  counts.add("ZCOUNT", prefix_ + "all_ids_scored_by_retry_count", 0, "+inf");
  const auto& all = places();
  for (const auto& place : all) counts.add(place.ids == place.times ? "HLEN" : "ZCARD", place.ids);
  const auto replies = link().ask("count the jobs", counts);
  Left left;
  left.retrying = replies[1].number();
  left.waiting = replies[0].number();
  for (std::size_t i = 0; i < all.size(); ++i)
    (all[i].set == kDead ? left.dead : left.waiting) += replies[i + 2].number();
  left.waiting -= std::min(left.waiting, left.retrying);
  return left;
}

}  // namespace ordo::sources
