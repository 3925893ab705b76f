#include "sources/sidekiq/look.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include <ordo/sidekiq.hpp>

#include "base/json_tree.h"
#include "base/time_text.h"
#include "sources/redis_link.h"
#include "sources/sidekiq/citizen.h"
#include "sources/sidekiq/job_reader.h"
#include "sources/sidekiq/origin.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;
using store::redis::Reply;

std::pair<std::uint64_t, std::uint64_t> parts_of_id(std::string_view id) {
  std::uint64_t ms = 0, number = 0;
  const auto* const end = id.data() + id.size();
  const auto dash = std::from_chars(id.data(), end, ms).ptr;
  if (dash != end) std::from_chars(dash + 1, end, number);
  return {ms, number};
}

/// When the job was pushed, if it says so.
std::optional<Time> pushed_at(const std::string& bytes) {
  std::string why;
  const auto job = read_job(bytes, {}, why);
  if (!job) return std::nullopt;
  return job->enqueued_at ? job->enqueued_at : job->created_at;
}

/// The tag of a process of Sidekiq that says that it takes from a list of ours; nothing: it takes from none.
std::optional<std::string> tag_of_taker(const std::string& info, const SourceOptions& source) {
  const auto& queues = source.queues;
  const auto json = JsonDocument::parse(info);
  if (!json || !json->root().is_object()) return std::nullopt;
  const auto tag = json->root().find("tag");
  const auto listed = json->root().find("queues");
  if (!listed || !listed->is_array()) return std::nullopt;
  for (std::size_t i = 0; i < listed->size(); ++i) {
    const auto name = listed->at(i);
    if (name.is_string() && std::ranges::find(queues, name.as_string()) != queues.end())
      return tag && tag->is_string() ? tag->as_string() : std::string();
  }
  return std::nullopt;
}

/// A killed node is listed for a minute, under the name that its source had; a process that takes for a
/// source is known for seconds.
void look_at_others(RedisLink& link, const SourceOptions& source, const std::vector<Reply>& processes,
                    SidekiqLook& look) {
  CommandText commands;
  for (const auto& process : processes) commands.add("HGET", process.text, "info");
  if (commands.count() == 0) return;
  const auto replies = link.ask("look at the processes of Sidekiq", commands);
  CommandText takers;
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto tag = replies[i].is_nil() ? std::nullopt : tag_of_taker(replies[i].text, source);
    if (!tag || *tag == SidekiqCitizen::tag_of(source)) continue;
    if (const auto other = SidekiqCitizen::source_of(*tag)) {
      takers.add("EXISTS", SidekiqOrigin::taker_key({.name = *other}));
      nodes.push_back(processes[i].text);
    } else {
      look.others.push_back(processes[i].text);
    }
  }
  if (nodes.empty()) return;
  const auto taken = link.ask("look at who takes for other sources", takers);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (taken[i].integer != 0) look.others.push_back(nodes[i]);
  }
}

/// Where the stream ends; nothing: there is none.
std::string end_of_stream(RedisLink& link, const std::string& stream) {
  CommandText exists;
  exists.add("EXISTS", stream);
  if (link.ask("look at what is taken", exists).at(0).integer == 0) return "0-0";
  CommandText info;
  info.add("XINFO", "STREAM", stream);
  const auto facts = link.ask("look at what is taken", info).at(0).items;
  for (std::size_t i = 0; i + 1 < facts.size(); i += 2) {
    if (facts[i].text == "last-generated-id") return facts[i + 1].text;
  }
  return "0-0";
}

}  // namespace

std::string origin_name(const SourceOptions& source) { return RedisLink(source.url).name(); }

SidekiqLook look_at_sidekiq(const SourceOptions& source, const std::string& position) {
  RedisLink link(source.url);
  const bool is_resque = source.dialect == sidekiq::Dialect::resque;
  const std::string prefix = is_resque ? "resque:" : "";
  const auto stream = SidekiqOrigin::taken_key(source);
  const auto from = position.empty() || SidekiqOrigin::is_reset(position) ? std::string("0-0") : position;
  SidekiqLook look;
  look.is_behind = parts_of_id(end_of_stream(link, stream)) < parts_of_id(from);
  CommandText commands;
  commands.add("TIME");
  commands.add("EXISTS", SidekiqOrigin::taker_key(source));
  commands.add("SMEMBERS", "processes");
  commands.add("XRANGE", stream, "(" + from, "+", "COUNT", SidekiqOrigin::kMost);
  for (const auto& queue : source.queues) {
    commands.add("LLEN", prefix + "queue:" + queue);
    commands.add("LINDEX", prefix + "queue:" + queue, is_resque ? 0 : -1);
  }
  const auto replies = link.ask("look at the lists of jobs", commands);
  const Time now{std::chrono::seconds{replies.at(0).at(0).number()} +
                 Duration{static_cast<std::int64_t>(replies.at(0).at(1).number())}};
  look.is_taken = replies.at(1).integer != 0;
  const auto& taken = replies.at(3).items;
  look.waiting = taken.size();
  std::optional<Time> oldest;
  const auto note = [&](std::optional<Time> at) {
    if (at && (!oldest || *at < *oldest)) oldest = at;
  };
  if (!taken.empty()) note(pushed_at(taken.front().at(1).at(3).text));
  for (std::size_t i = 4; i + 1 < replies.size(); i += 2) {
    look.waiting += static_cast<std::uint64_t>(replies[i].integer);
    if (!replies[i + 1].is_nil()) note(pushed_at(replies[i + 1].text));
  }
  if (oldest) look.lag = std::max(now - *oldest, Duration{0});
  look_at_others(link, source, replies.at(2).items, look);
  return look;
}

}  // namespace ordo::sources
