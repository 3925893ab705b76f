// Counts that are never too low: what the owners committed, and what was appended behind it.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/nearest.h"
#include "base/shorten.h"
#include "client/admin_impl.h"
#include "client/coded.h"
#include "client/page_sizes.h"
#include "runtime/node_facts.h"
#include "store/dead_letters.h"

namespace ordo {
namespace {

void add_payload(domain::Counts& counts, const domain::Entry& entry, Time at, Time now) {
  const auto run_at = entry.run_at.value_or(std::min(at, now));
  ++(run_at > now ? counts.scheduled : counts.due);
  counts.oldest = std::min(counts.oldest, run_at);
  if (run_at > now) return;
  auto& since = counts.oldest_due.try_emplace(entry.options.priority.value_or(100), run_at).first->second;
  since = std::min(since, run_at);
}

// In doubles, as any time may have been pushed.
double seconds_since(Time time, Time now) {
  using Seconds = std::chrono::duration<double>;
  return std::max(0.0, (Seconds(now.time_since_epoch()) - Seconds(time.time_since_epoch())).count());
}

void keep_longest(std::map<std::int32_t, double>& ages) {
  while (ages.size() > domain::kMostPriorities) {
    ages.erase(std::ranges::min_element(ages, {}, [](const auto& age) { return age.second; }));
  }
}

void keep_earlier(std::optional<Time>& time, std::optional<Time> other) {
  if (other && (!time || *other < *time)) time = other;
}

struct DeadRows {
  std::uint64_t now = 0;
  std::uint64_t trimmed = 0;
};

void add_to(QueueStats& sum, const domain::Counts& counts, const DeadRows& dead, Time now) {
  sum.due += counts.due;
  sum.scheduled += counts.scheduled;
  sum.retrying += counts.retrying;
  sum.length += counts.queued();
  sum.running += counts.running;
  sum.awaiting += counts.awaiting;
  sum.processed += counts.processed;
  sum.failed += counts.failed;
  sum.unreadable += counts.unreadable;
  sum.blocked_by_window += counts.blocked_by_window;
  sum.blocked_by_key += counts.blocked_by_key;
  sum.blocked_by_lock += counts.blocked_by_lock;
  sum.blocked_by_limit += counts.blocked_by_limit;
  sum.blocked_by_rate += counts.blocked_by_rate;
  sum.blocked_by_throttler += counts.blocked_by_throttler;
  sum.blocked_by_suspect += counts.blocked_by_suspect;
  sum.dead += dead.now;
  sum.dead_trimmed += dead.trimmed;
  sum.kept += counts.kept.records;
  sum.kept_trimmed += counts.kept.trimmed;
  if (counts.kept.records > 0) keep_earlier(sum.kept_since, counts.kept.oldest);
  for (const auto& [priority, since] : counts.oldest_due) {
    auto& age = sum.oldest_due[priority];
    age = std::max(age, seconds_since(since, now));
  }
  keep_longest(sum.oldest_due);
  if (counts.queued() > 0) sum.lag = std::max(sum.lag, seconds_since(counts.oldest, now));
}

// Every due job is counted at the first gate that refuses it. Parts may be a second older than the whole.
std::uint64_t ready_of(const QueueStats& queue) {
  if (queue.paused) return 0;
  const auto refused = queue.without_code + queue.blocked_by_window + queue.blocked_by_key +
                       queue.blocked_by_lock + queue.blocked_by_limit + queue.blocked_by_rate +
                       queue.blocked_by_throttler + queue.blocked_by_suspect;
  return queue.due - std::min(queue.due, refused);
}

void add_to_total(QueueStats& total, const QueueStats& queue) {
  total.length += queue.length;
  total.due += queue.due;
  total.scheduled += queue.scheduled;
  total.retrying += queue.retrying;
  total.running += queue.running;
  total.awaiting += queue.awaiting;
  total.dead += queue.dead;
  total.dead_trimmed += queue.dead_trimmed;
  total.blocked_by_lock += queue.blocked_by_lock;
  total.processed += queue.processed;
  total.failed += queue.failed;
  total.unreadable += queue.unreadable;
  total.blocked_by_window += queue.blocked_by_window;
  total.blocked_by_key += queue.blocked_by_key;
  total.blocked_by_limit += queue.blocked_by_limit;
  total.blocked_by_rate += queue.blocked_by_rate;
  total.blocked_by_throttler += queue.blocked_by_throttler;
  total.blocked_by_suspect += queue.blocked_by_suspect;
  total.ready += queue.ready;
  total.without_code += queue.without_code;
  total.waits_for_newer += queue.waits_for_newer;
  total.kept += queue.kept;
  total.kept_trimmed += queue.kept_trimmed;
  keep_earlier(total.kept_since, queue.kept_since);
  total.lag = std::max(total.lag, queue.lag);
  for (const auto& [priority, age] : queue.oldest_due) {
    auto& oldest = total.oldest_due[priority];
    oldest = std::max(oldest, age);
  }
  keep_longest(total.oldest_due);
}

}  // namespace

Admin::Impl::Tally Admin::Impl::tally(const std::function<bool(const store::QueueDefinition&)>& counts_in,
                                      ByShard by_shard) {
  auto& store = handle_->store();
  auto list = store.queues();
  std::erase_if(list.queues, [&](const auto& queue) { return !counts_in(queue); });
  std::map<std::uint32_t, std::string> wanted;
  for (const auto& queue : list.queues) wanted.emplace(queue.number, queue.name);
  std::set<std::string> alive;
  Coded coded;
  std::set<store::ShardId> newer;  // what a newer version wrote is in them
  for (const auto& node : store.nodes()) {
    if (node.gone) continue;
    alive.insert(node.id);
    const auto facts = runtime::decode_node_facts(node.facts).or_empty();
    for (const auto& each : facts.newer) newer.insert(each.shard);
    coded.add(node.id, facts);
  }
  const auto now = store.now();
  std::map<store::ShardId, domain::Counts> counts;
  std::map<store::ShardId, DeadRows> dead;
  std::map<store::ShardId, std::string> owners;
  std::map<std::uint32_t, std::vector<store::ShardId>> stale_split;
  const auto tail = store.open_log();
  std::set<std::uint32_t> unread;
  std::map<std::uint32_t, domain::UnservedKind> without_code;
  std::set<store::ShardId> owned;
  auto rows = store.shards();
  for (const auto& row : rows) {
    if (!wanted.contains(row.shard.queue)) continue;
    const bool has_owner = alive.contains(row.owner);
    auto stored = domain::decode_counts(row.counts);
    if (stored.needs() != 0) newer.insert(row.shard);
    const bool is_known = static_cast<bool>(stored);
    auto& own = counts[row.shard] = std::move(stored).or_empty();
    dead[row.shard] = {row.dead, row.dead_trimmed};
    if (has_owner) owned.insert(row.shard);
    if (has_owner && by_shard == ByShard::yes) owners.emplace(row.shard, row.owner);
    if (!is_known) {
      stale_split[row.shard.queue].push_back(row.shard);
      continue;
    }
    if (!has_owner) {
      // Nobody tells any more what has become due meanwhile, and what ran is queued again.
      own.due += std::exchange(own.running, 0);
      if (own.scheduled + own.retrying > 0) {
        stale_split[row.shard.queue].push_back(row.shard);
        continue;
      }
    }
    tail->add(row.shard, row.position);
  }
  for (bool at_end = false; !at_end;) {
    const auto chunk = tail->read(kRows);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      const auto entry = domain::decode_entry(chunk.body(row));
      if (entry && domain::is_payload(entry->type)) {
        add_payload(counts[row.shard], *entry, entry->came.value_or(row.at), now);
        if (!coded.has(wanted.at(row.shard.queue), std::string(entry->kind)) &&
            entry->run_at.value_or(now) <= now)
          ++without_code[row.shard.queue].due;
      } else if (entry.needs() != 0) {
        newer.insert(row.shard);
        ++counts[row.shard].due;
      } else if (!entry ||
                 entry->type != domain::EntryType::expected) {  // that one asks for nothing to be done
        unread.insert(row.shard.queue);
        // It may be carried out, and the payload of a job that nobody has counted since a reshard.
        if (entry &&
            (entry->type == domain::EntryType::edit || entry->type == domain::EntryType::handed_back))
          stale_split[row.shard.queue].push_back(row.shard);
        if (!entry) {  // it is on its way to the dead
          ++counts[row.shard].unreadable;
          ++dead[row.shard].now;
        }
      }
    }
  }
  for (const auto& queue : list.queues) {
    const auto& shards = stale_split[queue.number];
    if (shards.empty()) continue;
    each_rebuilt(queue, {.shards = shards}, [&](const Rebuilt& rebuilt) {
      auto& [id, machine, behind_newer] = rebuilt;
      if (behind_newer != 0) newer.insert(id);
      dead[id].now += machine.collect().dead.size();  // could not be read
      machine.due_since(now, {});                     // moves what is due by now
      counts[id] = machine.counts(now);
      counts[id].due += behind_newer;
    });
  }

  Tally tally;
  tally.rows = std::move(rows);
  std::map<std::string, QueueStats> by_name;
  std::vector<std::string> order;  // the config's first
  for (const auto& queue : handle_->config().queues) order.push_back(queue.name);
  for (const auto& queue : list.queues) {
    if (queue.is_hidden()) continue;
    if (handle_->options(queue.name) == nullptr) order.push_back(queue.name);
    auto& sum = by_name[queue.name];
    sum.paused = queue.paused;
    if (unread.contains(queue.number)) tally.unread.insert(queue.name);
    for (auto at = counts.lower_bound({queue.number, 0});
         at != counts.end() && at->first.queue == queue.number; ++at) {
      const auto& [shard, own] = *at;
      add_to(sum, own, dead[shard], now);
      if (by_shard == ByShard::yes) {
        auto& view = tally.shards.emplace_back(ShardStats{queue.name, shard.index, owners[shard]});
        add_to(view.counts, own, dead[shard], now);
        view.counts.paused = queue.paused;
      }
      for (const auto& kind : own.unserved) {
        if (coded.has(queue.name, kind.kind)) continue;
        without_code[queue.number].due += kind.due;
        without_code[queue.number].retrying += kind.retrying;
      }
      if (newer.contains(shard) && !owned.contains(shard)) ++sum.waits_for_newer;
    }
    const auto& without = without_code[queue.number];
    sum.without_code = coded.has_any(queue.name) ? without.due : sum.due;
    sum.ready = ready_of(sum);
    // Of a queue that the one who asks has just begun to serve, no node may have said so yet.
    tally.unserved[queue.name] = coded.has_any(queue.name) ? without.due + without.retrying : 0;
  }
  for (const auto& name : order) {
    add_to_total(tally.stats.total, by_name[name]);
    tally.stats.by_queue.emplace_back(name, by_name[name]);
  }
  return tally;
}

namespace {

/// Due jobs behind those of their keys that wait for responses, or that no living node has the code for.
/// Rare: nothing else is left.
std::uint64_t behind_others(Admin::Impl& admin, std::string_view name) {
  auto& store = admin.handle().store();
  const auto queue = admin.handle().existing_queue(name);
  if (!queue) return 0;
  Coded coded;
  for (const auto& node : store.nodes()) {
    if (!node.gone) coded.add(node.id, runtime::decode_node_facts(node.facts).or_empty());
  }
  Admin::Impl::Rebuild all;
  for (std::uint32_t i = 0; i < queue->shards; ++i) all.shards.push_back({queue->number, i});
  const auto now = store.now();
  std::uint64_t behind = 0;
  admin.each_rebuilt(*queue, all, [&](const Admin::Impl::Rebuilt& rebuilt) {
    rebuilt.machine.bring_up_due(now);
    std::set<const domain::Job*> waits;
    rebuilt.machine.each_job([&](const domain::Job& job, const std::string& kind) {
      if (job.place == domain::Place::awaiting || !coded.has(queue->name, kind)) waits.insert(&job);
    });
    rebuilt.machine.each_job([&](const domain::Job& job, const std::string&) {
      const auto* ahead = rebuilt.machine.ahead_of(job);
      if (ahead != nullptr && waits.contains(ahead)) ++behind;
    });
  });
  return behind;
}

bool is_as_before(const std::vector<store::ShardRow>& now, const std::vector<store::ShardRow>& before,
                  const auto& fields) {
  return std::ranges::equal(now, before,
                            [&](const auto& one, const auto& other) { return fields(one) == fields(other); });
}

/// What is held up by jobs that wait for responses, as counts that are a second old say it, is so only when
/// they have not changed for this long.
constexpr Duration kStill = std::chrono::seconds{3};
constexpr Duration kTrimming =
    std::chrono::seconds{10};  // a drain waits so long for a dead set to be trimmed

}  // namespace

std::function<bool(std::string_view)> Admin::Impl::chosen(const std::vector<std::string>& queues) {
  if (queues.empty()) return [](std::string_view) { return true; };
  const auto fits = [](std::string_view wanted, std::string_view name) {
    return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1)) : name == wanted;
  };
  std::vector<std::string> known;
  for (const auto& queue : this->queues()) known.push_back(queue.name);
  for (const auto& wanted : queues) {
    if (std::ranges::any_of(known, [&](const auto& name) { return fits(wanted, name); })) continue;
    throw Error(ErrorKind::invalid_argument,
                fmt::format("there is no queue '{}' in the config or the store; {}", shortened(wanted),
                            nearest_hint(wanted, known)));
  }
  return [=](std::string_view name) {
    return std::ranges::any_of(queues, [&](const auto& wanted) { return fits(wanted, name); });
  };
}

std::vector<ShardStats> Admin::Impl::shard_stats(const std::vector<std::string>& queues) {
  const auto is_chosen = chosen(queues);
  auto shards = tally([&](const auto& queue) { return is_chosen(queue.name); }, ByShard::yes).shards;
  std::ranges::sort(shards, {},
                    [](const auto& each) { return std::pair(std::string_view(each.queue), each.shard); });
  return shards;
}

Stats Admin::Impl::stats(const std::vector<std::string>& queues) {
  const auto is_chosen = chosen(queues);
  auto stats = tally([&](const auto& queue) { return is_chosen(queue.name); }).stats;
  std::erase_if(stats.by_queue, [&](const auto& each) { return !is_chosen(each.first); });
  const auto letters = store::count_letters(handle_->store(), is_chosen);
  for (auto& [name, queue] : stats.by_queue) {
    const auto count = letters.find(name);
    if (count == letters.end()) continue;
    queue.dead_letters = count->second;
    stats.total.dead_letters += count->second;
  }
  for (const auto& node : handle_->store().nodes()) {
    auto facts = runtime::decode_node_facts(node.facts).or_empty();
    if (node.gone || (facts.commit_error.empty() && facts.unable.empty() && facts.stuck.empty())) continue;
    stats.failing_nodes.push_back({node.id, std::move(facts.commit_error), facts.commit_error_since,
                                   std::move(facts.unable), std::move(facts.stuck)});
  }
  stats.sources = source_counts();
  return stats;
}

// What waits for a window waits for its time, as what is scheduled; what nobody has the code for, for a node.
// What waits in other queues may be millions of jobs, which every look would read.
bool Admin::Impl::drained(const std::function<bool(const std::string&)>& served) {
  std::set<std::uint32_t> looked_at;
  const auto now = tally([&](const auto& queue) {
    const bool counts = served(queue.name) && !queue.paused;
    if (counts) looked_at.insert(queue.number);
    return counts;
  });
  const bool is_still = stands_still(now);
  const bool is_over =
      std::none_of(now.stats.by_queue.begin(), now.stats.by_queue.end(), [&](const auto& entry) {
        const auto& [name, queue] = entry;
        const auto unserved = now.unserved.find(name);
        if (unserved == now.unserved.end()) return false;  // it is not looked at
        if (now.unread.contains(name)) return true;
        const auto left = queue.blocked_by_window + unserved->second;
        const auto waits = queue.due + queue.running + queue.retrying;
        if (waits <= left) return false;
        // Runs of other queues may hold a limit or a lock that is shared with them.
        const auto gated =
            queue.awaiting > 0 && is_still ? queue.blocked_by_limit + queue.blocked_by_lock : 0;
        if (waits <= left + gated) return false;
        if (unserved->second + queue.awaiting == 0 || waits > left + gated + queue.blocked_by_key)
          return true;
        return waits > left + gated + behind_others(*this, name);
      });
  if (!is_over || waits_for_trimming(now)) return false;
  // An owner that took an entry out of the log between the look at its counts and the look at its log has
  // counted in neither what became of it.
  auto after = handle_->store().shards();
  auto before = now.rows;
  const auto is_of_others = [&](const auto& row) { return !looked_at.contains(row.shard.queue); };
  std::erase_if(before, is_of_others);
  std::erase_if(after, is_of_others);
  return is_as_before(after, before, [](const store::ShardRow& row) {
    return std::tie(row.shard, row.owner, row.token, row.batch, row.position, row.counts);
  });
}

/// The owners trim the dead sets once a look at the store has told them what is too much.
bool Admin::Impl::waits_for_trimming(const Tally& tally) {
  const bool is_too_much = std::ranges::any_of(tally.stats.by_queue, [&](const auto& entry) {
    const auto& [name, queue] = entry;
    const auto* options = handle_->options(name);
    return options != nullptr && tally.unserved.contains(name) && queue.dead > options->max_dead;
  });
  const auto steady = handle_->clock().steady();
  if (!is_too_much) {
    too_many_dead_since_.reset();
    return false;
  }
  if (!too_many_dead_since_) too_many_dead_since_ = steady;
  return steady - *too_many_dead_since_ < kTrimming;
}

/// No shard of the store has a run, and for a while nothing has changed.
bool Admin::Impl::stands_still(const Tally& tally) {
  const auto steady = handle_->clock().steady();
  const bool is_as_it_was = is_as_before(tally.rows, still_, [](const store::ShardRow& row) {
    return std::tie(row.shard, row.owner, row.token, row.position, row.counts);
  });
  if (!is_as_it_was) {
    still_ = tally.rows;
    still_since_ = steady;
  }
  if (steady - still_since_ < kStill) return false;
  return std::ranges::all_of(still_, [](const store::ShardRow& row) {
    return domain::decode_counts(row.counts).or_empty().running == 0;
  });
}

}  // namespace ordo
