#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "runtime/inbox.h"
#include "store/store.h"
#include "store/unique.h"
#include "store/waits.h"

namespace ordo::runtime {

/// Asks the store what the engine must not wait for: payloads that were not kept in memory, to close waits,
/// to take rows of unique keys away, and to keep answers. tick() belongs to one thread, the rest is
/// thread-safe.
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

  void close(domain::ShardId shard, std::uint64_t epoch, const std::string& queue, domain::WaitToClose wait) {
    {
      const std::lock_guard lock(mutex_);
      closes_.push_back({shard, epoch, queue, std::move(wait)});
    }
    changed_.notify_one();
  }

  void free(domain::ShardId shard, std::uint64_t epoch, const std::string& queue, domain::RowToFree row) {
    {
      const std::lock_guard lock(mutex_);
      frees_[queue].push_back({shard, epoch, std::move(row), false});
    }
    changed_.notify_one();
  }

  /// To a question of the node; may be lost.
  void answer(const std::string& node, const std::string& question, std::string bytes) {
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back({node, question, std::move(bytes)});
    }
    changed_.notify_one();
  }

  /// Until there is a request. False: asked to stop.
  bool wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] {
      return !requests_.empty() || !closes_.empty() || !frees_.empty() || !answers_.empty();
    });
  }

  /// Answers every request; what runs of one shard wait for at the same time is read at once. Throws what the
  /// store or memory throws, after the answers to those requests said so.
  void tick() {
    std::vector<Request> requests;
    std::vector<Close> closes;
    std::map<std::string, std::vector<RowFreed>> frees;
    std::vector<Answer> answers;
    {
      const std::lock_guard lock(mutex_);
      requests.swap(requests_);
      answers.swap(answers_);
      const auto some =
          closes_.begin() + static_cast<std::ptrdiff_t>(std::min(closes_.size(), kClosesAtOnce));
      closes.assign(std::make_move_iterator(closes_.begin()), std::make_move_iterator(some));
      closes_.erase(closes_.begin(), some);
      take_some(frees);
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
    bool is_away = false;
    for (auto& each : closes) {
      WaitClosed answer{each.shard, each.epoch, each.wait.wait};
      answer.failed = is_away;
      try {
        if (!is_away)
          answer.is_answered = store::close_wait(store_, each.queue, each.wait.key, each.wait.wait);
      } catch (const Error& error) {  // a row that is not as it should be is no reason to end or to pause
        answer.failed = true;
        is_away = error.kind() == ErrorKind::unavailable;
        if (is_away) failure = std::current_exception();
      }
      inbox_.post([&](News& news) { news.closed.push_back(std::move(answer)); });
    }
    for (auto& [queue, rows] : frees) {
      try {
        std::vector<std::pair<domain::ShardId, domain::RowToFree>> asked;
        for (const auto& each : rows) asked.emplace_back(each.shard, each.row);
        store::free_rows(store_, queue, asked);
      } catch (const Error& error) {
        for (auto& each : rows) each.failed = true;
        if (error.kind() == ErrorKind::unavailable) failure = std::current_exception();
      }
      inbox_.post([&](News& news) { std::ranges::move(rows, std::back_inserter(news.freed)); });
    }
    for (auto& [node, question, bytes] : answers) {
      try {
        store_.answer(node, question, std::move(bytes));
      } catch (const Error&) {
        // Whoever asked does without it.
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static constexpr std::size_t kTogether = 256;                       // payloads; one run may need more
  static constexpr std::size_t kClosesAtOnce = 64, kRowsAtOnce = 64;  // payloads are asked for between them

  struct Request {
    domain::ShardId shard;
    std::uint64_t epoch = 0;
    std::vector<domain::RunNo> runs;
    std::vector<store::Seq> seqs;  // ascending
  };

  struct Close {
    domain::ShardId shard;
    std::uint64_t epoch = 0;
    std::string queue;
    domain::WaitToClose wait;
  };

  struct Answer {
    std::string node, question, bytes;
  };

  // Those that starts wait for come first.
  void take_some(std::map<std::string, std::vector<RowFreed>>& frees) {
    auto left = kRowsAtOnce;
    for (const bool starts : {true, false}) {
      for (auto& [queue, rows] : frees_) {
        const auto some = std::stable_partition(rows.begin(), rows.end(), [&](const RowFreed& each) {
          return each.row.starts != starts || left == 0 || left-- == 0;
        });
        if (some == rows.end()) continue;
        auto& taken = frees[queue];
        taken.insert(taken.end(), std::make_move_iterator(some), std::make_move_iterator(rows.end()));
        rows.erase(some, rows.end());
      }
    }
    std::erase_if(frees_, [](const auto& of) { return of.second.empty(); });
  }

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
  std::vector<Close> closes_;
  std::vector<Answer> answers_;
  std::map<std::string, std::vector<RowFreed>> frees_;  // by queue
};

}  // namespace ordo::runtime
