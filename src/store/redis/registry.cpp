// Queues, nodes, leases and the dead. In a cluster the registry and each shard are places of their own: a
// call on both is several steps, in an order in which a crash between any two loses nothing, and the call can
// be made again. A single server takes the same steps.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "base/shorten.h"
#include "store/blocking.h"
#include "store/limits.h"
#include "store/odd_rows.h"
#include "store/redis/examine.h"
#include "store/redis/keys.h"
#include "store/redis/read_size.h"
#include "store/redis/redis_store.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

constexpr std::size_t kShardsAtOnce = 10'000;  // that are made
// How the last owner of a shard has ended.
constexpr std::uint64_t kClean = 0, kUnclean = 1, kCrashed = 2;

/// The call of a script on some keys of a shard.
template <class... Arguments>
void shard_call(CommandText& commands, const Script& script, ShardId shard,
                std::initializer_list<std::string_view> parts, const Arguments&... arguments) {
  call(commands, script, parts.size(), sizeof...(arguments));
  for (const auto part : parts) commands.word(std::string_view(shard_key(shard, part)));
  (commands.word(arguments), ...);
}

/// The call of a script that makes a shard of the queue.
void add_maker(CommandText& commands, const Script& script, ShardId shard, const QueueDefinition& queue) {
  shard_call(commands, script, shard, {"log", "meta", "closed", "dead"}, std::string_view(queue.name),
             queue.shards);
}

template <class... Arguments>
void add_registry_command(CommandText& commands, const Script& script, const Arguments&... arguments) {
  registry_call(commands, script, sizeof...(arguments));
  (commands.word(arguments), ...);
}

template <class... Arguments>
CommandText registry_command(const Script& script, const Arguments&... arguments) {
  CommandText commands;
  add_registry_command(commands, script, arguments...);
  return commands;
}

std::string odd_key(const std::string& key) { return "the key " + key + " is of another kind than Ordo's"; }

/// Flags: 1 paused, 2 closed.
void set_flags(QueueDefinition& queue, std::string_view digit) {
  queue.paused = digit == "1" || digit == "3";
  queue.closed = digit == "2" || digit == "3";
}

std::optional<std::uint64_t> number_in(std::string_view digits) {
  return Reply{.type = Reply::Type::text, .text = std::string(digits)}.maybe_number();
}

/// "number:shards:flags", as the registry keeps it. Nothing: it cannot be read.
std::optional<QueueDefinition> definition_of(const std::string& name, std::string_view text) {
  const auto first = text.find(':');
  const auto second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto number = number_in(text.substr(0, first));
  const auto shards = number_in(text.substr(first + 1, second - first - 1));
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!number || !shards || *number > kMost || *shards > kMost) return std::nullopt;
  if (!is_definition(name, static_cast<std::int64_t>(*number), static_cast<std::int64_t>(*shards)))
    return std::nullopt;
  QueueDefinition queue{.number = static_cast<std::uint32_t>(*number),
                        .name = name,
                        .shards = static_cast<std::uint32_t>(*shards)};
  set_flags(queue, text.substr(second + 1));
  return queue;
}

QueueDefinition definition_of(std::string_view name, const Reply& reply) {
  QueueDefinition queue{.number = static_cast<std::uint32_t>(reply.at(0).maybe_number().value_or(0)),
                        .name = std::string(name),
                        .shards = static_cast<std::uint32_t>(reply.at(1).maybe_number().value_or(0))};
  set_flags(queue, reply.at(2).text);
  return queue;
}

/// The count that the entry's id says. Nothing: no number can be made of it.
std::optional<std::uint64_t> count_of_dead(const Reply& entry) {
  const auto& id = entry.at(0).text;
  const auto count = number_in(id.substr(0, id.find('-')));
  return count && dead_count(dead_no(*count, 0)) == *count ? count : std::nullopt;
}

/// Nothing: another program wrote it.
std::optional<DeadRow> dead_row(ShardId shard, const Reply& entry) {
  const auto count = count_of_dead(entry);
  const auto& fields = entry.at(1).items;
  if (!count || !entry.at(0).text.ends_with("-1") || fields.size() != 4) return std::nullopt;
  std::int64_t at = 0;
  const auto& text = fields[1].text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return DeadRow{
      .shard = shard, .no = dead_no(*count, shard.index), .at = Time{Duration{at}}, .bytes = fields[3].text};
}

std::string odd_dead(ShardId shard, const Reply& entry) {
  return "entry " + in_quotes(entry.at(0).text) + " of " + shard_key(shard, "dead") + " is none of Ordo's";
}

}  // namespace

CommandText RedisStore::wake_command() {
  CommandText command;
  command.add("XADD", kWakeKey, "MAXLEN", 1, "*", "w", "");
  return command;
}

Reply RedisStore::ask_registry(const char* task, CommandText command) {
  return pipeline_.ask(task, registry_, std::move(command)).at(0);
}

// ------------------------------------------------------------------------------------------------- queues

QueueList RedisStore::queues() {
  // The version first: what changes in between is then seen as a change later.
  CommandText commands;
  commands.add("HGET", kRegistryKey, "version");
  commands.add("HGETALL", kQueuesKey);
  const auto replies = pipeline_.ask("read the queues", registry_, std::move(commands));
  QueueList list;
  std::vector<std::string> odd;
  list.version = replies.at(0).maybe_number().value_or(0);
  const auto& rows = replies.at(1).items;
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    if (auto queue = definition_of(rows[i].text, rows[i + 1].text)) {
      list.queues.push_back(*std::move(queue));
    } else {
      odd.push_back(odd_definition(rows[i].text));
    }
  }
  left_out_.set("queues", std::move(odd));
  std::sort(list.queues.begin(), list.queues.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return list;
}

// A number is given, shards are made for it, and only then the queue has its name. Shards that got none are
// found by nobody; those of a number that another caller's was faster than go at once.
std::vector<QueueDefinition> RedisStore::define_all(std::span<const QueueWish> queues) {
  for (const auto& queue : queues) check_definition(queue.name, queue.shards);
  std::vector<QueueDefinition> definitions;
  while (!queues.empty()) {
    std::size_t some = 0;
    for (std::size_t shards = 0; some < queues.size() && shards < kShardsAtOnce; ++some)
      shards += queues[some].shards;
    define_some(queues.first(some), definitions);
    queues = queues.subspan(some);
  }
  return definitions;
}

void RedisStore::define_some(std::span<const QueueWish> queues, std::vector<QueueDefinition>& definitions) {
  CommandText look;
  for (const auto& queue : queues)
    add_registry_command(look, find_queue_script(), std::string_view(queue.name));
  const auto found = pipeline_.ask("define queues", registry_, std::move(look));
  const auto is_known = [&](std::size_t i) { return found.at(i).items.size() > 1; };
  std::vector<QueueDefinition> made;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (is_known(i)) continue;
    made.push_back({.number = static_cast<std::uint32_t>(found.at(i).at(0).number()),
                    .name = queues[i].name,
                    .shards = queues[i].shards});
  }
  const auto named = make_queues(std::move(made));
  std::size_t next = 0;
  for (std::size_t i = 0; i < queues.size(); ++i)
    definitions.push_back(is_known(i) ? definition_of(queues[i].name, found.at(i)) : named.at(next++));
}

/// Gives them shards and their names, if nobody else was faster. Answers who has the names now.
std::vector<QueueDefinition> RedisStore::make_queues(std::vector<QueueDefinition> queues) {
  if (queues.empty()) return {};
  const auto is_new = look_for_evicted(queues);
  make_shards(queues, is_new);
  CommandText names;
  for (const auto& queue : queues) {
    add_registry_command(names, name_queue_script(), std::string_view(queue.name), queue.number,
                         queue.shards);
  }
  const auto named = pipeline_.store("define queues", registry_, std::move(names));
  std::vector<QueueDefinition> definitions;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    definitions.push_back(definition_of(queues[i].name, named.at(i)));
    if (is_new[i] && definitions.back().number != queues[i].number)
      remove_shards(queues[i].number, queues[i].shards);
  }
  return definitions;
}

void RedisStore::make_shards(std::span<const QueueDefinition> queues, const std::vector<bool>& is_new) {
  std::map<Slot, CommandText> commands;
  std::map<Slot, std::vector<std::size_t>> made;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    for (std::uint32_t index = 0; index < queues[i].shards; ++index) {
      const ShardId shard{queues[i].number, index};
      const auto slot = slots_.slot_of(shard);
      add_maker(commands[slot], is_new[i] ? create_script() : restore_script(), shard, queues[i]);
      made[slot].push_back(i);
    }
  }
  for (const auto& [slot, replies] : pipeline_.store("make the shards of queues", std::move(commands))) {
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].integer == 1) continue;
      const auto& queue = queues[made[slot][i]];
      throw Error(ErrorKind::unavailable, "cannot define queue " + in_quotes(queue.name) + " in " +
                                              location_.name() + ": its number, " +
                                              std::to_string(queue.number) +
                                              ", is that of other jobs in the store; try again");
    }
  }
}

// What the server has evicted of the registry is found by what is left of the shards: a queue whose name is
// gone gets its number again, and no other queue gets it. Which of the queues are new.
std::vector<bool> RedisStore::look_for_evicted(std::vector<QueueDefinition>& queues) {
  std::vector<bool> is_new(queues.size(), true);
  if (pipeline_.evicted() == 0) return is_new;
  const auto there = scan_shards();
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const auto same =
        std::ranges::find(there, queues[i].name, [](const auto& known) { return known.second.shown_name(); });
    if (same != there.end()) {
      queues[i].number = same->first;
      queues[i].shards = same->second.shards;
      is_new[i] = false;
    } else if (there.contains(queues[i].number)) {
      CommandText command;
      command.add("HINCRBY", kRegistryKey, "queue", there.rbegin()->first);
      queues[i].number = static_cast<std::uint32_t>(ask_registry("define queues", command).number());
    }
  }
  return is_new;
}

/// The queues of all shards that are there, by number, as the shards call them.
std::map<std::uint32_t, QueueDefinition> RedisStore::scan_shards() {
  constexpr std::string_view kBegin = "ordo:{";
  std::map<std::uint32_t, QueueDefinition> queues;
  for (const auto& address : slots_.masters()) {
    Connection connection(location_.at(address), patience_.answer);
    std::string cursor = "0";
    do {
      CommandText scan;
      scan.add("SCAN", cursor, "MATCH", "ordo:{*:*}:meta", "COUNT", 1000);
      const auto page = connection.ask("look for shards", scan).at(0);
      CommandText names;
      for (const auto& key : page.at(1).items) names.add("HMGET", key.text, "queue", "shards");
      const auto named = connection.ask("look for shards", names);
      for (std::size_t i = 0; i < named.size(); ++i) {
        const std::string_view key = page.at(1).at(i).text;
        const auto number =
            number_in(key.substr(kBegin.size(), key.find(':', kBegin.size()) - kBegin.size()));
        const auto shards = named[i].at(1).maybe_number();
        if (!number || *number > std::numeric_limits<std::uint32_t>::max() || !shards) continue;
        const QueueDefinition queue{
            .number = static_cast<std::uint32_t>(*number),
            .name = named[i].at(0).text,
            .shards = static_cast<std::uint32_t>(std::min<std::uint64_t>(*shards, kMaxShards))};
        queues.emplace(queue.number, queue);
      }
      cursor = page.at(0).text;
    } while (cursor != "0");
  }
  return queues;
}

// Once for what was evicted by now. Should the queue be removed meanwhile, whoever is last removes the
// shards.
void RedisStore::restore_shards(const QueueList& list) {
  const auto evicted = pipeline_.evicted();
  if (evicted == restored_) return;
  std::map<Slot, CommandText> commands;
  for (const auto& queue : list.queues) {
    for (std::uint32_t index = 0; !queue.closed && index < queue.shards; ++index) {
      const ShardId shard{queue.number, index};
      add_maker(commands[slots_.slot_of(shard)], restore_script(), shard, queue);
    }
  }
  pipeline_.store("restore the shards of queues", std::move(commands));
  const auto now = queues();
  if (pipeline_.evicted() != evicted) return;  // what is not there now was perhaps not removed
  for (const auto& queue : list.queues) {
    const auto* same = now.find(queue.name);
    if (same == nullptr || same->number != queue.number) remove_shards(queue.number, queue.shards);
  }
  restored_ = evicted;
}

void RedisStore::remove_shards(std::uint32_t number, std::uint32_t shards) {
  std::map<Slot, CommandText> commands;
  for (std::uint32_t index = 0; index < shards; ++index) {
    const ShardId shard{number, index};
    commands[slots_.slot_of(shard)].add(
        "UNLINK", shard_key(shard, "log"), shard_key(shard, "closed"), shard_key(shard, "meta"),
        shard_key(shard, "states"), shard_key(shard, "dead"), shard_key(shard, "ages"),
        shard_key(shard, "aside"), shard_key(shard, "kept"), shard_key(shard, "heads"));
  }
  pipeline_.ask("remove the shards of a queue", std::move(commands));
}

bool RedisStore::set_paused(std::string_view name, bool paused) {
  const auto command = registry_command(pause_script(), name, paused ? 1 : 0);
  return ask_registry("pause a queue", command).integer == 1;
}

// The name goes last: a queue that was removed by half refuses pushes, and is there to be removed again. The
// other way round, who still knows its number would push where nobody looks.
bool RedisStore::remove(std::string_view name) {
  const auto list = queues();
  const auto* queue = list.find(name);
  if (queue == nullptr) return false;
  remove_shards(queue->number, queue->shards);
  remove_waits(name);
  const auto command = registry_command(forget_queue_script(), name, queue->number);
  const bool was_there = ask_registry("remove a queue", command).integer == 1;
  remove_shards(queue->number, queue->shards);  // and what came while it was still there
  remove_waits(name);
  return was_there;
}

// The definition first: what is appended until the last log has its other name is still read from there. A
// call that was cut short is made again.
bool RedisStore::close(std::string_view name) {
  const auto closed = ask_registry("close a queue", registry_command(close_script(), name));
  if (closed.items.empty()) return false;
  const auto queue = definition_of(name, closed);
  std::map<Slot, CommandText> commands;
  for (std::uint32_t index = 0; index < queue.shards; ++index) {
    const ShardId shard{queue.number, index};
    shard_call(commands[slots_.slot_of(shard)], close_log_script(), shard, {"log", "closed"});
  }
  pipeline_.ask("close the logs of a queue", std::move(commands));
  ask_registry("wake", wake_command());
  return true;
}

// Shards that have no name any more are found by nobody. When this is cut short here, whoever joins removes
// them.
bool RedisStore::replace(std::string_view name, std::uint32_t by) {
  const auto replaced = ask_registry("replace a queue", registry_command(replace_script(), name, by));
  if (replaced.items.empty()) return false;
  remove_left_shards();
  return true;
}

void RedisStore::remove_left_shards() {
  const auto left = ask_registry("look for shards that are left", registry_command(left_script()));
  for (std::size_t i = 0; i + 1 < left.items.size(); i += 2) {
    const auto number = static_cast<std::uint32_t>(left.at(i).maybe_number().value_or(0));
    remove_shards(number, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                              left.at(i + 1).maybe_number().value_or(0), kMaxShards)));
    CommandText forget;
    forget.add("HDEL", kRegistryKey, "left:" + std::to_string(number));
    ask_registry("forget shards that were left", forget);
  }
}

// -------------------------------------------------------------------------------------------------- nodes

void RedisStore::join(const std::string& node, const std::string& facts) {
  check_node(node);
  ask_registry("join", registry_command(join_script(), std::string_view(node), std::string_view(facts)));
  try {
    remove_left_shards();
  } catch (const Error&) {
    // A part of the cluster may be away that the node does not need; the next that joins tries again.
  }
}

bool RedisStore::renew(const std::string& node, Duration) {
  return ask_registry("renew", registry_command(renew_script(), std::string_view(node))).integer == 1;
}

// All servers that have shards were asked for them when the node looked.
std::optional<Duration> RedisStore::setback_age(bool is_known) {
  const auto histories = slots_.histories();
  CommandText command;
  call(command, histories_script(), 2, 1 + 4 * histories.size());
  command.word(kHistoriesKey);
  command.word(kWakeKey);
  command.word(is_known ? 1 : 0);
  for (const auto& [server, history] : histories) {
    for (const auto* word : {&server, &history.run, &history.name, &history.before})
      command.word(std::string_view(*word));
  }
  const auto age = ask_registry("note the history", std::move(command));
  return age.is_nil() ? std::nullopt : std::optional(Duration{age.number()});
}

bool RedisStore::request(const std::string& node, NodeRequest request) {
  const auto command = registry_command(request_script(), std::string_view(node), static_cast<int>(request));
  return ask_registry("ask a node", command).integer == 1;
}

// Once the node is forgotten anybody may take what it holds. That is freed by the tokens seen before: should
// the node join again meanwhile, it keeps what it takes then.
void RedisStore::leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) {
  const auto rows = shards();
  const auto seen = seen_renewals ? std::to_string(*seen_renewals) : std::string();
  const auto command = registry_command(leave_script(), std::string_view(node), std::string_view(seen));
  if (ask_registry("leave", command).integer == 0) return;
  std::map<Slot, CommandText> commands;
  for (const auto& row : rows) {
    if (row.owner != node) continue;
    shard_call(commands[slots_.slot_of(row.shard)], free_script(), row.shard, {"log", "meta"},
               std::string_view(node), row.token);
  }
  pipeline_.ask("free shards", std::move(commands));
}

std::vector<NodeRow> RedisStore::nodes() {
  const auto reply = ask_registry("read the nodes", registry_command(nodes_script()));
  std::map<std::string, NodeRow> rows;
  std::vector<std::string> odd;
  const auto& nodes = reply.at(0).items;
  for (std::size_t i = 0; i + 1 < nodes.size(); i += 2) {
    if (const auto renewals = nodes[i + 1].maybe_number()) {
      rows[nodes[i].text] = {.id = nodes[i].text, .renewals = *renewals};
    } else {
      odd.push_back("the count of node " + in_quotes(nodes[i].text) + " is no number");
    }
  }
  left_out_.set("nodes", std::move(odd));
  const auto& facts = reply.at(1).items;
  for (std::size_t i = 0; i + 1 < facts.size(); i += 2) {
    if (const auto row = rows.find(facts[i].text); row != rows.end()) row->second.facts = facts[i + 1].text;
  }
  const auto& requests = reply.at(2).items;
  for (std::size_t i = 0; i + 1 < requests.size(); i += 2) {
    const auto row = rows.find(requests[i].text);
    if (row != rows.end()) row->second.request = request_of(requests[i + 1].maybe_number().value_or(0));
  }
  std::vector<NodeRow> sorted;
  for (auto& [id, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

// ------------------------------------------------------------------------------------------------- leases

std::vector<ShardRow> RedisStore::shards() {
  std::map<Slot, CommandText> commands;
  std::vector<ShardId> shards;
  const auto list = queues();
  restore_shards(list);
  for (const auto& queue : list.queues) {
    for (std::uint32_t index = 0; index < queue.shards; ++index) shards.push_back({queue.number, index});
  }
  for (const auto shard : shards) {
    commands[slots_.slot_of(shard)].add("HMGET", shard_key(shard, "meta"), "owner", "counts", "token",
                                        "batch", "position", "dead", "trimmed", "dead_count", "holder");
  }
  const auto odd_kinds = odd_keys(shards);
  const auto replies = pipeline_.ask("read the shards", std::move(commands), /*takes_odd=*/true);
  std::vector<std::string> odd;
  std::map<Slot, std::size_t> next;
  std::vector<ShardRow> rows;
  for (const auto shard : shards) {
    const auto slot = slots_.slot_of(shard);
    const auto& row = replies.at(slot)[next[slot]++];
    if (const auto kind = odd_kinds.find(shard); kind != odd_kinds.end() || row.is_error()) {
      odd.push_back(kind != odd_kinds.end() ? kind->second : odd_key(shard_key(shard, "meta")));
      continue;
    }
    if (row.at(0).is_nil()) continue;  // just removed
    std::array<std::uint64_t, 7> numbers{};
    bool is_whole = true;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto number = row.at(i + 2).maybe_number();
      is_whole = is_whole && number && !row.at(i + 2).is_nil();
      numbers[i] = number.value_or(0);
    }
    if (!is_whole) {
      odd.push_back("a field of " + shard_key(shard, "meta") + " is no number");
      continue;
    }
    rows.push_back({.shard = shard,
                    .owner = row.at(0).text,
                    .token = numbers[0],
                    .batch = numbers[1],
                    .position = numbers[2],
                    .counts = row.at(1).text,
                    .dead = numbers[3],
                    .dead_trimmed = numbers[4]});
  }
  auto used_up = take_used_up(rows);
  odd.insert(odd.end(), used_up.begin(), used_up.end());
  left_out_.set("shards", std::move(odd));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.shard < b.shard; });
  return rows;
}

// Another program has put something else in the place of a key: nothing of that shard can be done, as every
// command fails. Only looked for when some has.
std::map<ShardId, std::string> RedisStore::odd_keys(const std::vector<ShardId>& shards) {
  std::map<ShardId, std::string> odd;
  if (!slots_.take_odd() && !has_odd_keys_) return odd;
  constexpr std::array<std::pair<const char*, std::string_view>, 6> kKinds = {{{"log", "stream"},
                                                                               {"closed", "stream"},
                                                                               {"states", "hash"},
                                                                               {"dead", "stream"},
                                                                               {"ages", "zset"},
                                                                               {"aside", "zset"}}};
  std::map<Slot, CommandText> commands;
  for (const auto shard : shards) {
    for (const auto& [part, kind] : kKinds)
      commands[slots_.slot_of(shard)].add("TYPE", shard_key(shard, part));
  }
  const auto replies = pipeline_.ask("look at the shards", std::move(commands));
  std::map<Slot, std::size_t> next;
  for (const auto shard : shards) {
    const auto slot = slots_.slot_of(shard);
    for (const auto& [part, kind] : kKinds) {
      const auto& is = replies.at(slot)[next[slot]++].text;
      if (is != kind && is != "none") odd.emplace(shard, odd_key(shard_key(shard, part)));
    }
  }
  has_odd_keys_ = !odd.empty();
  return odd;
}

// That the owner still is as silent as the candidate saw it is asked first. Should it come to life between
// the two steps, then later than its lease lasted: it holds nothing until it has acquired it anew
// (runtime/lease_keeper.cpp), and that changes the token.
std::vector<Grant> RedisStore::acquire(const std::string& node, std::uint64_t holder,
                                       std::span<const Claim> claims) {
  std::map<std::string, std::uint64_t> renewals;
  for (const auto& row : nodes()) renewals[row.id] = row.renewals;
  if (!renewals.contains(node)) return {};
  std::map<Slot, CommandText> commands;
  std::vector<const Claim*> asked;
  for (const auto& claim : claims) {
    const auto owner = renewals.find(claim.seen_owner);
    if (owner != renewals.end() && owner->second != claim.seen_renewals) continue;
    shard_call(commands[slots_.slot_of(claim.shard)], acquire_script(), claim.shard,
               {"log", "meta", "closed", "aside"}, std::string_view(node), holder,
               std::string_view(claim.seen_owner), claim.seen_token);
    asked.push_back(&claim);
  }
  const auto replies = pipeline_.ask("acquire shards", std::move(commands));
  std::map<Slot, std::size_t> next;
  std::vector<Grant> grants;
  for (const auto* claim : asked) {
    const auto slot = slots_.slot_of(claim->shard);
    const auto& row = replies.at(slot)[next[slot]++];
    if (row.is_nil()) continue;
    const auto& last = row.at(2);
    const auto unclean = row.at(3).maybe_number().value_or(kUnclean);
    const auto batch = row.at(1).maybe_number();
    if (!batch) continue;  // damaged since it was looked at
    grants.push_back({.shard = claim->shard,
                      .lease = {.token = row.at(0).number(), .holder = holder},
                      .batch = *batch,
                      .head = last.is_nil() ? 0 : seq_up_to(last.text),
                      .clean = unclean == kClean,
                      .crashed = unclean == kCrashed || claim->takes_from_another(node)});
  }
  return grants;
}

void RedisStore::release(std::span<const Release> ends) {
  std::map<Slot, CommandText> commands;
  for (const auto& [shard, lease, clean, crashed] : ends) {
    const auto unclean = clean ? kClean : crashed ? kCrashed : kUnclean;
    shard_call(commands[slots_.slot_of(shard)], release_script(), shard, {"log", "meta"}, lease.token,
               lease.holder, unclean);
  }
  pipeline_.ask("release shards", std::move(commands));
}

// ----------------------------------------------------------------------------------------------- the dead

// The rows of all shards stand in one order: so each is asked for its share of a page, and again while what
// it has not told may come before the end of it.
std::vector<DeadRow> RedisStore::dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) {
  const auto list = queues();
  const auto found = std::find_if(list.queues.begin(), list.queues.end(),
                                  [&](const auto& known) { return known.number == queue; });
  if (found == list.queues.end() || max_rows == 0) return {};
  std::vector<DeadRow> rows;
  if (max_rows == 1 && dead_index(after + 1) < found->shards) {  // who has seen a number wants that one
    const ShardId shard{queue, dead_index(after + 1)};
    const auto id = std::to_string(dead_count(after + 1)) + "-1";
    CommandText command;
    command.add("XRANGE", shard_key(shard, "dead"), id, id);
    const auto reply = pipeline_.ask("list the dead", slots_.slot_of(shard), std::move(command)).at(0);
    for (const auto& entry : reply.items) {
      if (auto row = dead_row(shard, entry)) rows.push_back(*std::move(row));
    }
    if (!rows.empty()) return rows;
  }
  struct Place {
    ShardId shard;
    std::string first;       // the id that the next one has at least, as XRANGE takes it
    std::uint64_t told = 0;  // all up to this number
    bool at_end = false;
  };
  std::vector<Place> places;
  for (std::uint32_t index = 0; index < found->shards; ++index) {
    places.push_back({.shard = {queue, index},
                      .first = std::to_string(dead_count(after) + (index > dead_index(after) ? 0 : 1)),
                      .told = after});
  }
  std::vector<std::string> odd;
  for (ReadSize size;;) {
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.no < b.no; });
    if (rows.size() > max_rows) rows.resize(max_rows);
    const auto last = rows.size() < max_rows ? ~std::uint64_t{0} : rows.back().no;
    std::vector<Place*> open;
    for (auto& place : places) {
      if (!place.at_end && place.told < last) open.push_back(&place);
    }
    if (open.empty()) {
      left_out_.set("dead", std::move(odd));
      return rows;
    }
    const auto share = std::min(size.rows(), max_rows) / open.size() + 1;
    std::map<Slot, CommandText> commands;
    for (const auto* place : open) {
      commands[slots_.slot_of(place->shard)].add("XRANGE", shard_key(place->shard, "dead"), place->first, "+",
                                                 "COUNT", share);
    }
    const auto replies = pipeline_.ask("list the dead", std::move(commands), /*takes_odd=*/true);
    std::map<Slot, std::size_t> next;
    std::size_t count = 0, bytes = 0;
    for (auto* place : open) {
      const auto slot = slots_.slot_of(place->shard);
      const auto& items = replies.at(slot)[next[slot]++].items;
      place->at_end = items.size() < share;
      for (const auto& entry : items) {
        place->first = "(" + entry.at(0).text;
        if (auto row = dead_row(place->shard, entry)) {
          bytes += row->bytes.size();
          rows.push_back(*std::move(row));
        } else {
          odd.push_back(odd_dead(place->shard, entry));
        }
        const auto no = count_of_dead(entry);
        place->at_end = place->at_end || !no;  // what is behind it has no number either
        if (no) place->told = dead_no(*no, place->shard.index);
      }
      count += items.size();
    }
    size.passed(count, bytes, false);
  }
}

std::vector<ShardId> RedisStore::oldest_dead(std::uint32_t queue, std::size_t max_rows) {
  const auto list = queues();
  const auto found = std::ranges::find(list.queues, queue, &QueueDefinition::number);
  if (found == list.queues.end() || max_rows == 0) return {};
  std::map<Slot, CommandText> commands;
  for (std::uint32_t index = 0; index < found->shards; ++index) {
    const ShardId shard{queue, index};
    commands[slots_.slot_of(shard)].add("ZRANGE", shard_key(shard, "ages"), 0, max_rows - 1, "WITHSCORES");
  }
  const auto replies = pipeline_.ask("list the dead", std::move(commands));
  std::map<Slot, std::size_t> next;
  std::vector<std::pair<std::int64_t, ShardId>> rows;
  for (std::uint32_t index = 0; index < found->shards; ++index) {
    const ShardId shard{queue, index};
    const auto slot = slots_.slot_of(shard);
    const auto& items = replies.at(slot)[next[slot]++].items;
    for (std::size_t at = 1; at < items.size(); at += 2)
      rows.emplace_back(items[at].maybe_number().value_or(0), shard);
  }
  std::ranges::sort(rows);
  std::vector<ShardId> oldest;
  for (const auto& [at, shard] : rows) {
    if (oldest.size() < max_rows) oldest.push_back(shard);
  }
  return oldest;
}

std::size_t RedisStore::erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) {
  std::map<std::uint32_t, std::vector<std::uint64_t>> by_index;
  by_index[0];  // the queue may be closed, whatever the numbers
  for (const auto no : nos) by_index[dead_index(no)].push_back(dead_count(no));
  std::map<Slot, CommandText> commands;
  for (const auto& [index, counts] : by_index) {
    const ShardId shard{queue, index};
    auto& text = commands[slots_.slot_of(shard)];
    call(text, erase_dead_script(), 4, counts.size());
    for (const auto* part : {"dead", "ages", "meta", "closed"})
      text.word(std::string_view(shard_key(shard, part)));
    for (const auto count : counts) text.word(count);
  }
  std::size_t erased = 0;
  for (const auto& [slot, replies] : pipeline_.ask("erase the dead", std::move(commands))) {
    for (const auto& reply : replies) {
      if (reply.integer < 0) throw closed_queue(queue);
      erased += reply.number();
    }
  }
  return erased;
}

// Each payload is one step: out of the dead, and into a log that is in the same slot, as its own shard's is.
std::size_t RedisStore::revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                               std::vector<NewEntry> entries) {
  check_revive(nos.size(), entries.size());
  if (const auto refusal = size_refusal(entries)) std::rethrow_exception(refusal);
  std::map<Slot, CommandText> questions;
  std::map<Slot, std::vector<ShardId>> logs;
  std::map<std::pair<std::uint32_t, ShardId>, std::vector<std::size_t>> by_shards;
  for (std::size_t i = 0; i < nos.size(); ++i) {
    const auto log = entries[i].shard;
    questions[slots_.slot_of(log)].add("EXISTS", shard_key(log, "log"));
    logs[slots_.slot_of(log)].push_back(log);
    by_shards[{dead_index(nos[i]), log}].push_back(i);
  }
  for (const auto& [slot, replies] : pipeline_.ask("look for the logs", std::move(questions))) {
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].integer == 0) throw unknown_shard(logs[slot][i].queue, logs[slot][i].index);
    }
  }
  if (is_closed(queue)) throw closed_queue(queue);
  std::size_t revived = 0;
  std::map<Slot, CommandText> commands;
  for (const auto& [shards, places] : by_shards) {
    const ShardId from{queue, shards.first};
    const auto slot = slots_.slot_of(from);
    if (slots_.slot_of(shards.second) != slot) {
      for (const auto i : places)
        revived += revive_elsewhere(from, dead_count(nos[i]), std::move(entries[i]));
      continue;
    }
    auto& text = commands[slot];
    call(text, revive_script(), 5, 2 * places.size());
    text.word(std::string_view(shard_key(shards.second, "log")));
    for (const auto* part : {"dead", "ages", "meta", "closed"})
      text.word(std::string_view(shard_key(from, part)));
    for (const auto i : places) {
      text.word(dead_count(nos[i]));
      text.word(std::string_view(entries[i].bytes));
    }
  }
  for (const auto& [slot, replies] : pipeline_.ask("revive the dead", std::move(commands))) {
    for (const auto& reply : replies) revived += reply.integer < 0 ? 0 : reply.number();
  }
  if (revived > 0) ask_registry("wake", wake_command());
  return revived;
}

// Two slots: it is appended before it is removed. Who dies in between revives it twice, and never loses it.
std::size_t RedisStore::revive_elsewhere(ShardId from, std::uint64_t count, NewEntry entry) {
  CommandText look;
  const auto id = std::to_string(count) + "-1";
  look.add("XRANGE", shard_key(from, "dead"), id, id);
  if (pipeline_.ask("look for the dead", slots_.slot_of(from), std::move(look)).at(0).items.empty()) return 0;
  std::vector<NewEntry> entries;
  entries.push_back(std::move(entry));
  append_and_wait(*this, std::move(entries));
  const auto no = dead_no(count, from.index);
  return erase_dead(from.queue, std::span(&no, 1));
}

Time RedisStore::now() { return pipeline_.server_time(); }

std::vector<Finding> RedisStore::examine() {
  std::vector<Finding> findings;
  if (!location_.sentinels.empty())
    findings = examine_sentinels(location_, Sentinels(location_, patience_.answer).opinions());
  const auto masters = slots_.masters();
  for (const auto& address : masters) {
    Connection connection(location_.at(address), patience_.answer);
    CommandText commands;
    commands.add("INFO");
    for (const auto* name : {"appendfsync", "client-output-buffer-limit"})
      commands.add("CONFIG", "GET", name);  // a right that not every user has
    connection.send(commands);
    const auto info = connection.receive();
    std::array<std::string, 2> settings;
    for (auto& text : settings) {
      const auto setting = connection.receive();
      if (setting.items.size() == 2) text = setting.at(1).text;
    }
    if (slots_.is_cluster() && findings.empty()) {
      CommandText command;
      command.add("CLUSTER", "INFO");
      findings.push_back(
          examine_cluster(connection.ask("examine the cluster", command)[0].text, masters.size()));
    }
    for (auto& finding : examine_server(info.text, settings[0], settings[1])) {
      if (slots_.is_cluster())
        finding.what = address.host + ":" + std::to_string(address.port) + ": " + finding.what;
      findings.push_back(std::move(finding));
    }
  }
  examine_newest(findings, newest_entry(), now());
  return findings;
}

// Not the entries themselves, which may be large.
Time RedisStore::newest_entry() {
  constexpr std::string_view kLastId = R"lua(
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return last and last[1]
)lua";
  std::map<Slot, CommandText> commands;
  for (const auto& queue : queues().queues) {
    for (std::uint32_t index = 0; index < queue.shards; ++index) {
      const ShardId shard{queue.number, index};
      commands[slots_.slot_of(shard)].add("EVAL", kLastId, 1, shard_key(shard, "log"));
    }
  }
  auto newest = Time::min();
  for (const auto& [slot, replies] :
       pipeline_.ask("look at the logs", std::move(commands), /*takes_odd=*/true)) {
    for (const auto& reply : replies) {
      if (!reply.text.empty() && !reply.is_error()) newest = std::max(newest, time_of(seq_up_to(reply.text)));
    }
  }
  return newest;
}

}  // namespace ordo::store::redis
