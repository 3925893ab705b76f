#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <vector>

#include <ordo/error.hpp>

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
      requests_.push_back({shard, epoch, run, std::move(seqs)});
    }
    changed_.notify_one();
  }

  /// Until there is a request. False: asked to stop.
  bool wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return !requests_.empty(); });
  }

  /// Answers every request. Throws what the store throws, after the answer to that request said so.
  void tick() {
    std::vector<Request> requests;
    {
      const std::lock_guard lock(mutex_);
      requests.swap(requests_);
    }
    std::exception_ptr failure;
    for (auto& request : requests) {
      Fetched answer{request.shard, request.epoch, request.run, {}};
      try {
        answer.chunk = store_.fetch(request.shard, request.seqs);
      } catch (const Error&) {
        answer.failed = true;
        failure = std::current_exception();
      }
      inbox_.post([&](News& news) { news.fetched.push_back(std::move(answer)); });
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  struct Request {
    domain::ShardId shard;
    std::uint64_t epoch = 0;
    domain::RunNo run = 0;
    std::vector<store::Seq> seqs;
  };

  store::Store& store_;
  Inbox& inbox_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Request> requests_;
};

}  // namespace ordo::runtime
