#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "runtime/inbox.h"
#include "store/store.h"

namespace ordo::runtime {

/// Reads payloads again that were not kept in memory. request() is thread-safe, tick() belongs to one thread.
class Fetcher {
 public:
  Fetcher(store::Store& store, Inbox& inbox) : store_(store), inbox_(inbox) {}

  void request(domain::ShardId shard, std::uint64_t epoch, domain::RunNo run, std::vector<store::Seq> seqs) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back({shard, epoch, {run}, std::move(seqs)});
    }
    changed_.notify_one();
  }

  /// Until there is a request. False: asked to stop.
  bool wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return !requests_.empty(); });
  }

  /// Answers every request; what runs of one shard wait for at the same time is read at once. Throws what the
  /// store or memory throws, after the answers to those requests said so.
  void tick() {
    std::vector<Request> requests;
    {
      const std::lock_guard lock(mutex_);
      requests.swap(requests_);
    }
    std::exception_ptr failure;
    for (auto& request : join(std::move(requests))) {
      Fetched answer{request.shard, request.epoch, std::move(request.runs), {}};
      try {
        answer.chunk = store_.fetch(request.shard, request.seqs);
      } catch (...) {
        answer.failed = true;
        failure = std::current_exception();
      }
      inbox_.post([&](News& news) { news.fetched.push_back(std::move(answer)); });
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static constexpr std::size_t kTogether = 256;  // payloads; one run may need more

  struct Request {
    domain::ShardId shard;
    std::uint64_t epoch = 0;
    std::vector<domain::RunNo> runs;
    std::vector<store::Seq> seqs;  // ascending
  };

  static std::vector<Request> join(std::vector<Request> requests) {
    std::vector<Request> joined;
    std::map<std::pair<domain::ShardId, std::uint64_t>, std::size_t> open;  // places in `joined`
    for (auto& request : requests) {
      const auto [at, added] = open.try_emplace({request.shard, request.epoch}, joined.size());
      if (!added) {
        auto& group = joined[at->second];
        if (group.seqs.size() + request.seqs.size() <= kTogether) {
          group.runs.push_back(request.runs.front());
          group.seqs.insert(group.seqs.end(), request.seqs.begin(), request.seqs.end());
          continue;
        }
        at->second = joined.size();
      }
      joined.push_back(std::move(request));
    }
    for (auto& group : joined) std::sort(group.seqs.begin(), group.seqs.end());
    return joined;
  }

  store::Store& store_;
  Inbox& inbox_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Request> requests_;
};

}  // namespace ordo::runtime
