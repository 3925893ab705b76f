// Turns each call into commands, and replies into answers: the log and the owner's commits. Queues, leases
// and the dead are in registry.cpp.
#include "store/redis/redis_store.h"

#include <algorithm>
#include <utility>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "store/limits.h"
#include "store/redis/keys.h"
#include "store/redis/log_entry.h"
#include "store/redis/scripts.h"
#include "store/schema_errors.h"

namespace ordo::store::redis {
namespace {

// All of one append have the same time, and their numbers must stay in its range.
constexpr std::size_t kMaxAppendEntries = std::size_t{1} << 20;

struct LogPart {
  ShardId shard;
  std::vector<const std::string*> bodies;
};

std::vector<LogPart> by_log(const std::vector<NewEntry>& entries) {
  std::vector<LogPart> parts;
  std::unordered_map<ShardId, std::size_t> places;
  for (const auto& entry : entries) {
    const auto [place, is_new] = places.emplace(entry.shard, parts.size());
    if (is_new) parts.push_back({.shard = entry.shard});
    parts[place->second].bodies.push_back(&entry.bytes);
  }
  return parts;
}

/// Ends a call that is several requests when the last of them ends; the first failure is the call's.
class AllDone {
 public:
  AllDone(std::size_t requests, Completion done) : open_(requests), done_(std::move(done)) {}

  /// On the pipeline's thread.
  void one(std::exception_ptr error) {
    if (error_ == nullptr) error_ = std::move(error);
    if (--open_ == 0) done_(std::move(error_));
  }

 private:
  std::size_t open_;
  Completion done_;
  std::exception_ptr error_;
};

void write_delta(CommandText& commands, const Delta& delta) {
  const auto shard = delta.shard;
  call(commands, commit_script(), 8,
       17 + delta.erase_kept.size() + delta.erase.size() + 2 * delta.states.size() +
           delta.erase_states.size() + delta.set_aside.size() + 2 * delta.dead.size());
  for (const auto* part : {"log", "meta", "states", "dead", "ages", "aside", "kept", "heads"}) {
    commands.word(std::string_view(shard_key(shard, part)));
  }
  commands.word(delta.lease.token);
  commands.word(delta.lease.holder);
  commands.word(delta.batch - 1);
  commands.word(delta.batch);
  commands.word(delta.position);
  commands.word(std::string_view(delta.counts));
  commands.word(delta.max_dead);
  const auto before = delta.dead_before;
  commands.word(
      std::string_view(before == Time::min() ? "" : std::to_string(before.time_since_epoch().count())));
  if (delta.keep) {
    commands.word(delta.keep->no);
    commands.word(std::string_view(delta.keep->head));
    commands.word(std::string_view(delta.keep->body));
  } else {
    for (int i = 0; i < 3; ++i) commands.word(std::string_view());
  }
  commands.word(delta.erase.size());
  for (const auto seq : delta.erase) commands.word(std::string_view(id_of(seq)));
  commands.word(2 * delta.states.size());
  for (const auto& state : delta.states) {
    commands.word(state.seq);
    commands.word(std::string_view(state.bytes));
  }
  commands.word(delta.erase_states.size());
  for (const auto seq : delta.erase_states) commands.word(seq);
  commands.word(delta.set_aside.size());
  for (const auto seq : delta.set_aside) commands.word(std::string_view(id_of(seq)));
  commands.word(2 * delta.dead.size());
  for (const auto& dead : delta.dead) {
    commands.word(dead.at.time_since_epoch().count());
    commands.word(std::string_view(dead.bytes));
  }
  commands.word(delta.erase_kept.size());
  for (const auto no : delta.erase_kept) commands.word(no);
}

}  // namespace

RedisStore::RedisStore(const Location& location, Patience patience)
    : location_(location),
      patience_(patience),
      slots_(location, patience.answer),
      registry_(slots_.slot_of(kQueuesKey)),
      pipeline_(location, slots_, patience) {
  check_schema();
  if (location.sentinels.empty()) return;
  watch_.emplace(location, patience.answer, [this] {
    const auto before = slots_.server_of(registry_);
    slots_.refresh();
    if (slots_.server_of(registry_) != before) bell_->ring();  // readers are to go there
  });
}

// Beside the pipeline, which asks the replicas about all that it does: to open a store needs none of them.
void RedisStore::check_schema() const {
  const auto place = slots_.server_of(registry_);
  Connection connection(location_.at(place), patience_.answer);
  CommandText look;
  look.add("EXISTS", kBeforeFirstKey);
  look.add("HGET", kRegistryKey, "schema");
  connection.send(look.bytes());
  const auto before_first = connection.receive(patience_.answer);
  const auto schema = connection.receive(patience_.answer);
  if (!before_first || !schema) throw connection.silence();
  if (before_first->is_error() || schema->is_error()) return;  // the slot moves; whoever asks there is told
  if (before_first->integer != 0) throw development_store(location_.at(place).name());
  if (schema->is_nil()) return;
  const auto found = schema->maybe_number().value_or(0);
  if (found == kSchema) return;
  throw other_schema(location_.at(place).name(), static_cast<std::int64_t>(found), kSchema);
}

// ---------------------------------------------------------------------------------------------------- log

std::exception_ptr RedisStore::size_refusal(const std::vector<NewEntry>& entries) {
  std::size_t bytes = 0;
  for (const auto& entry : entries) bytes += entry.bytes.size();
  if (bytes > kMaxAppendBytes) return std::make_exception_ptr(too_much_to_append(bytes));
  if (entries.size() > kMaxAppendEntries) {
    return std::make_exception_ptr(
        Error(ErrorKind::invalid_argument, "cannot append " + std::to_string(entries.size()) +
                                               " entries in one call: send at most " +
                                               std::to_string(kMaxAppendEntries)));
  }
  return nullptr;
}

void RedisStore::append(std::vector<NewEntry> entries, Completion done) {
  auto refusal = size_refusal(entries);
  if (refusal != nullptr || entries.empty()) {
    auto finish = [done = std::move(done), refusal = std::move(refusal)](auto, auto) mutable {
      done(std::move(refusal));
    };
    return pipeline_.submit({.task = "append", .finish = std::move(finish)});
  }
  if (entries.size() == 1) return append_one(std::move(entries.front()), std::move(done));

  std::map<Slot, std::vector<LogPart>> by_slot;
  for (auto& part : by_log(entries)) by_slot[slots_.slot_of(part.shard)].push_back(std::move(part));
  struct Ends {
    std::vector<ShardId> taken;
    std::optional<ShardId> missing;
  };
  const auto ends = std::make_shared<Ends>();
  const auto all =
      std::make_shared<AllDone>(by_slot.size(), [ends, done = std::move(done)](std::exception_ptr error) {
        if (error == nullptr && ends->missing) {
          error = ends->taken.empty()
                      ? std::make_exception_ptr(unknown_shard(ends->missing->queue, ends->missing->index))
                      : std::make_exception_ptr(PartlyRefused(std::move(ends->taken)));
        }
        done(std::move(error));
      });
  for (const auto& [slot, parts] : by_slot) {
    CommandText commands;
    std::size_t words = parts.size();
    for (const auto& part : parts) words += part.bodies.size();
    call(commands, append_script(), parts.size(), words);
    for (const auto& part : parts) commands.word(std::string_view(shard_key(part.shard, "log")));
    std::vector<ShardId> shards;
    for (const auto& part : parts) {
      shards.push_back(part.shard);
      commands.word(part.bodies.size());
      for (const auto* body : part.bodies) commands.word(std::string_view(*body));
    }
    auto finish = [all, ends, shards = std::move(shards)](std::vector<Reply> replies,
                                                          std::exception_ptr error) {
      if (error == nullptr && replies[0].integer > 0) {
        ends->missing = shards[static_cast<std::size_t>(replies[0].integer - 1)];
      } else if (error == nullptr) {
        ends->taken.insert(ends->taken.end(), shards.begin(), shards.end());
      }
      all->one(std::move(error));
    };
    pipeline_.submit({.task = "append",
                      .slot = slot,
                      .commands = std::move(commands),
                      .finish = std::move(finish),
                      .in_order = true,
                      .must_last = true});
  }
}

/// Without a script: half the work for the server.
void RedisStore::append_one(NewEntry entry, Completion done) {
  CommandText commands;
  auto log = shard_key(entry.shard, "log");
  commands.add("XADD", log, "NOMKSTREAM", "*", "e", entry.bytes);
  const auto shard = entry.shard;
  const auto slot = slots_.slot_of(shard);
  auto finish = [this, done = std::move(done), log = std::move(log), shard, slot](std::vector<Reply> replies,
                                                                                  std::exception_ptr error) {
    if (error == nullptr && replies[0].is_nil()) {
      error = std::make_exception_ptr(unknown_shard(shard.queue, shard.index));
    } else if (error == nullptr) {
      const auto seq = seq_of(replies[0].text);
      if (seq && (*seq & kSeqMask) >= kSeqHalf) {
        CommandText next;
        next.add("XSETID", log, id_of(((*seq >> kSeqBits) + 1) << kSeqBits));
        pipeline_.submit({.task = "begin a millisecond",
                          .slot = slot,
                          .commands = std::move(next),
                          .finish = [](auto, auto) {}});
      }
    }
    done(std::move(error));
  };
  pipeline_.submit({.task = "append",
                    .slot = slot,
                    .commands = std::move(commands),
                    .finish = std::move(finish),
                    .in_order = true,
                    .must_last = true});
}

std::unique_ptr<LogReader> RedisStore::open_log() {
  return std::make_unique<RedisLogReader>(location_, slots_, patience_.answer, patience_.silence, bell_,
                                          [this](std::uint32_t number) { return queue_name(number); });
}

// As many as a server's client-output-buffer-limit lets pass (ReadSize): who asks again gets them in halves.
LogChunk RedisStore::fetch(ShardId shard, std::span<const Seq> seqs) {
  LogChunk chunk;
  while (!seqs.empty()) {
    const auto most = fetched_at_once_.load();
    const auto piece = seqs.first(std::min(seqs.size(), most));
    fetched_at_once_ = std::max<std::size_t>(piece.size() / 2, 1);  // should this throw
    fetch_piece(chunk, shard, piece);
    fetched_at_once_ = std::min(most + most / 64 + 1, kFetchAtOnce);
    seqs = seqs.subspan(piece.size());
  }
  return chunk;
}

void RedisStore::fetch_piece(LogChunk& chunk, ShardId shard, std::span<const Seq> seqs) {
  CommandText commands;
  const auto log = shard_key(shard, "log");
  for (const auto seq : seqs) commands.add("XRANGE", log, id_of(seq), id_of(seq));
  const auto slot = slots_.slot_of(shard);
  const auto found = pipeline_.ask("fetch entries", slot, std::move(commands));
  // After the log: what is moved in between, or with a log that is closed, is then found in both, and not in
  // none.
  CommandText more;
  const auto closed = shard_key(shard, "closed"), aside = shard_key(shard, "aside");
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    if (!found[i].items.empty()) continue;
    const auto name = aside_name(seqs[i]);
    more.add("XRANGE", closed, id_of(seqs[i]), id_of(seqs[i]));
    more.add("ZRANGEBYLEX", aside, "[" + name + ":", "(" + name + ";");
  }
  std::vector<Reply> waiting;
  if (more.count() > 0) waiting = pipeline_.ask("fetch entries", slot, std::move(more));
  auto next = waiting.begin();
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    const bool is_in_log = !found[i].items.empty();
    const auto& entries = is_in_log ? found[i].items : (next++)->items;
    for (const auto& entry : entries) {
      add_row(chunk, shard, seqs[i], entry, [this](std::uint32_t number) { return queue_name(number); });
    }
    if (is_in_log) continue;
    const auto& members = (next++)->items;
    if (!entries.empty()) continue;
    for (const auto& member : members) add_aside_row(chunk, shard, seqs[i], member.text);
  }
}

void RedisStore::wake() {
  bell_->ring();
  pipeline_.submit(
      {.task = "wake", .slot = registry_, .commands = wake_command(), .finish = [](auto, auto) {}});
}

std::string RedisStore::queue_name(std::uint32_t number) {
  {
    const std::lock_guard lock(names_mutex_);
    const auto known = names_.find(number);
    if (known != names_.end()) return known->second;
  }
  for (const auto& queue : queues().queues) {
    const std::lock_guard lock(names_mutex_);
    if (!queue.is_hidden()) names_.emplace(queue.number, queue.name);  // it will get its name
  }
  const std::lock_guard lock(names_mutex_);
  return names_[number];
}

// -------------------------------------------------------------------------------------------------- owner

void RedisStore::commit(std::vector<Delta> deltas, CommitCompletion done) {
  struct Part {
    CommandText commands;
    std::vector<std::size_t> places;  // of its deltas
  };
  std::map<Slot, Part> parts;
  if (deltas.empty()) parts.try_emplace(registry_);
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    auto& part = parts[slots_.slot_of(deltas[i].shard)];
    write_delta(part.commands, deltas[i]);
    part.places.push_back(i);
  }
  const auto results = std::make_shared<std::vector<CommitResult>>(deltas.size(), CommitResult::stale);
  const auto all =
      std::make_shared<AllDone>(parts.size(), [results, done = std::move(done)](std::exception_ptr error) {
        done(error == nullptr ? std::move(*results) : std::vector<CommitResult>(), std::move(error));
      });
  for (auto& [slot, part] : parts) {
    auto finish = [all, results, places = std::move(part.places)](std::vector<Reply> replies,
                                                                  std::exception_ptr error) {
      for (std::size_t i = 0; i < replies.size(); ++i) {
        if (replies[i].integer == 1) (*results)[places[i]] = CommitResult::applied;
        if (replies[i].integer == 2) (*results)[places[i]] = CommitResult::unkept;
      }
      all->one(std::move(error));
    };
    pipeline_.submit(
        {.task = "commit", .slot = slot, .commands = std::move(part.commands), .finish = std::move(finish)});
  }
}

std::vector<ShardFacts> RedisStore::load(std::span<const ShardId> shards) {
  std::map<Slot, CommandText> commands;
  for (const auto shard : shards) {
    auto& text = commands[slots_.slot_of(shard)];
    text.add("HGET", shard_key(shard, "meta"), "counts");
    text.add("HGETALL", shard_key(shard, "states"));
  }
  const auto replies = pipeline_.ask("load shards", std::move(commands), /*takes_odd=*/true);
  std::map<Slot, std::size_t> next;
  std::vector<ShardFacts> facts;
  std::vector<std::string> odd;
  for (const auto shard : shards) {
    const auto slot = slots_.slot_of(shard);
    const auto& answers = replies.at(slot);
    auto& fact = facts.emplace_back(ShardFacts{.shard = shard});
    const auto& counts = answers[next[slot]++];
    if (!counts.is_error()) fact.counts = counts.text;
    const auto& states = answers[next[slot]++].items;
    for (std::size_t j = 0; j + 1 < states.size(); j += 2) {
      if (const auto seq = states[j].maybe_number()) {
        fact.states.push_back({.seq = *seq, .bytes = states[j + 1].text});
      } else {
        odd.push_back("a field of " + shard_key(shard, "states") +
                      " is no number: " + in_quotes(states[j].text));
      }
    }
    std::sort(fact.states.begin(), fact.states.end(),
              [](const auto& a, const auto& b) { return a.seq < b.seq; });
  }
  left_out_.set("states", std::move(odd));
  return facts;
}

// A member of the sorted set is its number, ':' and the head.
std::vector<KeptRow> RedisStore::kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) {
  CommandText commands;
  commands.add("ZRANGEBYSCORE", shard_key(shard, "heads"), from, "+inf", "LIMIT", 0, max_rows);
  const auto found = pipeline_.ask("read what is kept", slots_.slot_of(shard), std::move(commands));
  std::vector<KeptRow> rows;
  for (const auto& member : found.at(0).items) {
    const auto end = member.text.find(':');
    const Reply no{.type = Reply::Type::text, .text = member.text.substr(0, end)};
    rows.push_back({no.number(), member.text.substr(end + 1), {}});
  }
  return rows;
}

// Their sizes first.
std::vector<KeptRow> RedisStore::kept(ShardId shard, std::span<const std::uint64_t> nos) {
  const auto slot = slots_.slot_of(shard);
  const auto key = shard_key(shard, "kept");
  CommandText look;
  for (const auto no : nos) look.add("HSTRLEN", key, no);
  std::vector<Reply> sizes;
  if (!nos.empty()) sizes = pipeline_.ask("read what is kept", slot, std::move(look));
  CommandText commands;
  std::size_t bytes = 0, some = 0;
  for (; some < nos.size(); ++some) {
    const auto size = static_cast<std::size_t>(sizes.at(some).integer);  // 0: it is empty, or not there
    if (bytes > 0 && bytes + size > kReadBytes) break;
    bytes += size;
    commands.add("ZRANGEBYSCORE", shard_key(shard, "heads"), nos[some], nos[some]);
    commands.add("HGET", key, nos[some]);
  }
  std::vector<KeptRow> rows;
  if (commands.count() == 0) return rows;
  const auto found = pipeline_.ask("read what is kept", slot, std::move(commands));
  std::size_t next = 0;
  for (std::size_t i = 0; i < some; ++i) {
    const auto& head = found.at(next++);
    const auto& body = found.at(next++);
    if (head.items.empty()) continue;
    const auto& member = head.items[0].text;
    rows.push_back({nos[i], member.substr(member.find(':') + 1), body.text});
  }
  return rows;
}

bool RedisStore::replace_kept(ShardId shard, const KeptRow& row) {
  CommandText commands;
  call(commands, replace_kept_script(), 3, 3);
  for (const auto* part : {"kept", "heads", "closed"})
    commands.word(std::string_view(shard_key(shard, part)));
  commands.word(row.no);
  commands.word(std::string_view(row.head));
  commands.word(std::string_view(row.body));
  const auto reply = pipeline_.ask("change what is kept", slots_.slot_of(shard), std::move(commands)).at(0);
  if (reply.integer < 0) throw closed_queue(shard.queue);
  if (reply.integer == 0 && is_closed(shard.queue)) throw closed_queue(shard.queue);
  return reply.integer == 1;
}

bool RedisStore::is_closed(std::uint32_t queue) {
  const ShardId first{queue, 0};
  CommandText look;
  look.add("EXISTS", shard_key(first, "closed"));
  return pipeline_.ask("look for a closed log", slots_.slot_of(first), std::move(look)).at(0).integer == 1;
}

}  // namespace ordo::store::redis
