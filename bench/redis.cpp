// What the Redis store costs beside the plain server: entries appended, read and erased per second.
//   bench_redis redis://127.0.0.1:6379/15 [jobs [entries per append [shards]]]
// It makes a queue of its own and removes it.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "store/blocking.h"
#include "store/redis/connection.h"
#include "store/redis/redis_store.h"

namespace {

using namespace ordo;
using namespace ordo::store;

struct Plan {
  redis::Location location;
  std::size_t jobs = 500'000;
  std::size_t per_append = 100;
  std::uint32_t shards = 5;
};

double seconds_since(Duration start) {
  return std::chrono::duration<double>(system_clock().steady() - start).count();
}

/// Plain commands, `per_append` of each in one piece: XADD the next, XDEL those before.
double raw_rate(const Plan& plan) {
  redis::Connection connection(plan.location, std::chrono::seconds{10});
  const std::string body(130, 'x');
  const std::string key = "ordo-bench";
  std::vector<std::string> ids;
  const auto start = system_clock().steady();
  for (std::size_t done = 0; done < plan.jobs; done += plan.per_append) {
    redis::CommandText commands;
    for (std::size_t i = 0; i < plan.per_append; ++i) commands.add("XADD", key, "*", "e", body);
    if (!ids.empty()) {
      commands.begin(2 + ids.size());
      commands.word(std::string_view("XDEL"));
      commands.word(std::string_view(key));
      for (const auto& id : ids) commands.word(std::string_view(id));
    }
    const auto replies = connection.ask("measure", commands);
    ids.clear();
    for (std::size_t i = 0; i < plan.per_append; ++i) ids.push_back(replies[i].text);
  }
  const auto seconds = seconds_since(start);
  redis::CommandText end;
  end.add("DEL", key);
  connection.ask("clean up", end);
  return static_cast<double>(plan.jobs) / seconds;
}

/// Appends with at most eight calls under way.
void produce(Store& store, std::uint32_t queue, const Plan& plan) {
  std::mutex mutex;
  std::condition_variable changed;
  int under_way = 0;
  const std::string body(130, 'x');
  for (std::size_t done = 0; done < plan.jobs; done += plan.per_append) {
    std::vector<NewEntry> entries;
    for (std::size_t i = 0; i < plan.per_append; ++i) {
      entries.push_back({.shard = {queue, static_cast<std::uint32_t>(i % plan.shards)}, .bytes = body});
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return under_way < 8; });
    ++under_way;
    lock.unlock();
    store.append(std::move(entries), [&](const std::exception_ptr&) {
      const std::lock_guard guard(mutex);
      --under_way;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return under_way == 0; });
}

/// Erases what it reads: one delta per shard and chunk.
void consume(Store& store, std::vector<Grant> grants, const Plan& plan) {
  const auto log = store.open_log();
  std::unordered_map<ShardId, Grant> owned;
  for (const auto& grant : grants) {
    log->add(grant.shard);
    owned[grant.shard] = grant;
  }
  std::size_t seen = 0;
  while (seen < plan.jobs) {
    const auto chunk = log->read(10'000);
    if (chunk.rows.empty()) {
      log->wait(std::chrono::seconds{1});
      continue;
    }
    std::unordered_map<ShardId, Delta> deltas;
    for (const auto& row : chunk.rows) deltas[row.shard].erase.push_back(row.seq);
    std::vector<Delta> list;
    for (auto& [shard, delta] : deltas) {
      delta.shard = shard;
      delta.lease = owned[shard].lease;
      delta.batch = ++owned[shard].batch;
      delta.counts = std::string(60, 'c');
      list.push_back(std::move(delta));
    }
    for (const auto result : commit_and_wait(store, std::move(list))) {
      if (result != CommitResult::applied) std::abort();
    }
    seen += chunk.rows.size();
  }
}

double store_rate(const Plan& plan) {
  redis::RedisStore store(plan.location);
  const auto queue = store.define("ordo-bench", plan.shards).number;
  store.join("bench", "");
  std::vector<Claim> claims;
  for (const auto& row : store.shards()) {
    if (row.shard.queue == queue) claims.push_back({row.shard, row.owner, row.token, 0});
  }
  const auto grants = store.acquire("bench", 1, claims);
  const auto start = system_clock().steady();
  {
    const std::jthread producer([&] { produce(store, queue, plan); });
    consume(store, grants, plan);
  }
  const auto seconds = seconds_since(start);
  store.leave("bench", {});
  store.remove("ordo-bench");
  return static_cast<double>(plan.jobs) / seconds;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: bench_redis redis://HOST[:PORT][/DATABASE] [jobs [per append [shards]]]\n");
    return 2;
  }
  Plan plan{.location = redis::parse_location(words[1])};
  if (count > 2) plan.jobs = std::strtoull(words[2], nullptr, 10);
  if (count > 3) plan.per_append = std::strtoull(words[3], nullptr, 10);
  if (count > 4) plan.shards = static_cast<std::uint32_t>(std::strtoul(words[4], nullptr, 10));
  std::printf("plain XADD + XDEL           %9.0f entries/s\n", raw_rate(plan));
  std::printf("store append, read, commit  %9.0f entries/s\n", store_rate(plan));
  return 0;
}
