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
/// to keep responses that no job will handle, to take rows of unique keys away, to keep answers, and which
/// blocks of records are old. tick() belongs to one thread, the rest is thread-safe.
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

  void keep(domain::ShardId shard, std::uint64_t epoch, const std::string& queue, store::Seq response) {
    {
      const std::lock_guard lock(mutex_);
      keeps_.push_back({queue, {shard, epoch, response}});
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

  void read_kept(domain::ShardId shard, std::uint64_t epoch, std::uint64_t from) {
    {
      const std::lock_guard lock(mutex_);
      kept_.push_back({shard, epoch, from});
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
      return !requests_.empty() || !closes_.empty() || !keeps_.empty() || !frees_.empty() ||
             !answers_.empty() || !kept_.empty();
    });
  }

  /// Answers every request; what runs of one shard wait for at the same time is read at once. Throws what the
  /// store or memory throws, after the answers to those requests said so.
  void tick() {
    std::vector<Request> requests;
    std::vector<Close> closes;
    std::vector<Keep> keeps;
    std::map<std::string, std::vector<RowFreed>> frees;
    std::vector<Answer> answers;
    std::vector<Kept> kept;
    {
      const std::lock_guard lock(mutex_);
      requests.swap(requests_);
      answers.swap(answers_);
      take_first(kept_, kept);
      take_first(closes_, closes);
      take_first(keeps_, keeps);
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
    for (auto& [queue, response] : keeps) {
      response.failed = is_away;
      try {
        if (!is_away) store::keep_unused_response(store_, queue, response.shard, response.entry);
      } catch (const Error& error) {
        response.failed = true;
        is_away = error.kind() == ErrorKind::unavailable;
        if (is_away) failure = std::current_exception();
      }
      inbox_.post([&](News& news) { news.kept_responses.push_back(response); });
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
    for (const auto& each : kept) {
      KeptRead answer{each.shard, each.epoch, {}};
      answer.failed = is_away;
      try {
        if (!is_away) read_heads(each, answer);
      } catch (const Error& error) {
        answer.failed = true;
        is_away = error.kind() == ErrorKind::unavailable;
        if (is_away) failure = std::current_exception();
      }
      inbox_.post([&](News& news) { news.kept.push_back(std::move(answer)); });
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

  struct Keep {
    std::string queue;
    ResponseKept response;
  };

  struct Answer {
    std::string node, question, bytes;
  };

  struct Kept {
    domain::ShardId shard;
    std::uint64_t epoch = 0;
    std::uint64_t from = 0;
  };

  void read_heads(const Kept& asked, KeptRead& answer) {
    const auto rows = store_.kept_heads(asked.shard, asked.from, domain::KeptBook::kMostHeads);
    answer.is_all = rows.size() < domain::KeptBook::kMostHeads;
    for (const auto& row : rows)
      answer.heads.emplace_back(row.no, domain::decode_kept_head(row.head).or_empty());
  }

  template <class Request>
  static void take_first(std::vector<Request>& from, std::vector<Request>& to) {
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), kClosesAtOnce));
    to.assign(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
    from.erase(from.begin(), end);
  }

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
  std::vector<Keep> keeps_;
  std::vector<Answer> answers_;
  std::vector<Kept> kept_;
  std::map<std::string, std::vector<RowFreed>> frees_;  // by queue
};

}  // namespace ordo::runtime
