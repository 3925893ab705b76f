#include "runtime/wait_desk.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "base/start_thread.h"
#include "base/time_text.h"
#include "store/waits.h"

namespace ordo::runtime {
namespace {

constexpr std::size_t kMostKeys =
    100;  // each takes the store's time, and the thread's of whoever owns the job

constexpr std::size_t kMostAtOnce = 64;  // waits, in one step of the store

constexpr Duration kSame = std::chrono::seconds{1};  // deadlines that differ by less are one

Error taken(const std::string& queue, const std::string& key) {
  return Error(ErrorKind::invalid_argument, "cannot wait for " + in_quotes(key) + " in queue " +
                                                in_quotes(queue) +
                                                ": another job waits for it, or a later run of this one;"
                                                " wait for a key that is the job's own");
}

Outcome instead_of(const Outcome& outcome, const Error& error) {
  auto instead = error.kind() == ErrorKind::unavailable ? Outcome::put_back() : Outcome::fail(error.what());
  instead.penalty = outcome.penalty;
  return instead;
}

}  // namespace

std::string WaitDesk::new_id() {
  const auto ms = store_.now().time_since_epoch().count() / 1000;
  const std::lock_guard lock(mutex_);
  return make_ulid(ms, random_);
}

std::string WaitDesk::expect(const Run& run, const BatchJob& job, const std::string& key, Time deadline) {
  domain::Waiter waiter{new_id(), run.kind, job.key, job.id, job.fence, deadline};
  if (!store::expect_response(store_, run.queue, key, waiter)) throw taken(run.queue, key);
  return waiter.wait;
}

store::Wanted WaitDesk::want(const Run& run, const BatchJob& job, Outcome& outcome, Duration left) {
  outcome.deadline = time_after(store_.now(), std::max(std::min(outcome.snooze, left), Duration{0}));
  return {outcome.text, {new_id(), run.kind, job.key, job.id, job.fence, outcome.deadline}};
}

void WaitDesk::settle(Ended& run) { settle_all({&run, 1}); }

void WaitDesk::settle_later(Ended run) {
  if (leave(run)) return;
  settle(run);
  run.done(std::move(run.outcomes));
}

bool WaitDesk::leave(Ended& run) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || left_ >= kMostAtOnce) return false;
  if (!thread_.joinable()) {
    try {
      thread_ = start_thread([this](const std::stop_token& stop) { loop(stop); });
    } catch (const Error&) {
      return false;  // the system has no thread for it
    }
  }
  left_ += run.waits.size();
  ended_.push(std::move(run));
  return true;
}

void WaitDesk::end() {
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    thread.swap(thread_);
  }
}

void WaitDesk::loop(const std::stop_token& stop) {
  std::vector<Ended> runs;
  while (true) {
    std::size_t waits = 0;
    ended_.take(stop, runs, {}, [&](const Ended& run) {
      if (waits > 0 && waits + run.waits.size() > kMostAtOnce) return false;
      waits += run.waits.size();
      return true;
    });
    if (runs.empty()) return;
    settle_all(runs);
    for (auto& run : runs) run.done(std::move(run.outcomes));
    runs.clear();
    const std::lock_guard lock(mutex_);
    left_ -= waits;
  }
}

void WaitDesk::settle_all(std::span<Ended> runs) {
  struct Asked {
    std::vector<store::Wanted> wanted;
    std::vector<Outcome*> outcomes;
  };
  std::map<std::string, Asked> by_queue;
  for (auto& run : runs) {
    auto& asked = by_queue[run.queue];
    for (auto& [at, wanted] : run.waits) {
      asked.outcomes.push_back(&run.outcomes.at(at));
      asked.wanted.push_back(std::move(wanted));
    }
  }
  for (const auto& [queue, asked] : by_queue) {
    const auto answers = store::expect_responses(store_, queue, asked.wanted);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      auto& outcome = *asked.outcomes[i];
      const auto& [key, waiter] = asked.wanted[i];
      if (!outcome.wait_id.empty()) continue;  // it is registered, whatever its row says of its deadline
      try {
        if (answers[i].failure) std::rethrow_exception(answers[i].failure);
        if (!answers[i].is_ours) throw taken(queue, key);
        outcome.wait_id = waiter.wait;
      } catch (const Error& error) {
        outcome = instead_of(outcome, error);
      }
    }
  }
}

RunWaits::RunWaits(WaitDesk* desk, Batch& batch, std::function<Duration()> left)
    : desk_(desk), batch_(batch), left_(std::move(left)) {
  if (desk_ == nullptr) return;
  batch_.set_expect([this](std::size_t job, std::string_view key) { return expect(job, std::string(key)); });
}

ResponseToken RunWaits::expect(std::size_t job, const std::string& key) {
  if (known_.size() >= kMostKeys && !known_.contains({job, key})) {
    throw Error(ErrorKind::invalid_argument,
                "a run may expect " + std::to_string(kMostKeys) + " keys, and has done so");
  }
  auto& known = known_[{job, key}];
  if (known.wait.empty()) {
    known.deadline = time_after(desk_->now(), left_());
    known.wait = desk_->expect({batch_.queue(), batch_.kind()}, batch_.jobs().at(job), key, known.deadline);
  }
  if (known.token.text.empty()) known.token = desk_->token(batch_.queue(), key, known.wait, known.deadline);
  return known.token;
}

WaitDesk::Ended RunWaits::end(std::vector<Outcome> outcomes) {
  WaitDesk::Ended run{batch_.queue(), std::move(outcomes), {}};
  for (std::size_t i = 0; i < run.outcomes.size(); ++i) {
    auto& outcome = run.outcomes[i];
    if (outcome.kind != Outcome::Kind::waiting) continue;
    if (desk_ == nullptr) {
      outcome = Outcome::fail("there is no store here that a wait could be registered in");
      continue;
    }
    auto wanted = desk_->want({batch_.queue(), batch_.kind()}, batch_.jobs()[i], outcome, left_());
    const auto known = known_.find({i, outcome.text});
    if (known != known_.end() && !known->second.wait.empty()) {
      outcome.wait_id = wanted.waiter.wait = known->second.wait;
      if (outcome.deadline + kSame >= known->second.deadline) {
        outcome.deadline = known->second.deadline;
        continue;
      }
    }
    run.waits.emplace_back(i, std::move(wanted));
  }
  batch_.set_expect({});
  return run;
}

}  // namespace ordo::runtime
