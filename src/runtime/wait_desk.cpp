#include "runtime/wait_desk.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/time_text.h"
#include "store/waits.h"

namespace ordo::runtime {
namespace {

constexpr std::size_t kMostKeys =
    100;  // each takes the store's time, and the thread's of whoever owns the job

}  // namespace

std::string WaitDesk::new_id() {
  const auto ms = store_.now().time_since_epoch().count() / 1000;
  const std::lock_guard lock(mutex_);
  return make_ulid(ms, random_);
}

std::string WaitDesk::expect(const Run& run, const BatchJob& job, const std::string& key, Time deadline) {
  domain::Waiter waiter{new_id(), run.kind, job.key, job.id, job.fence, deadline};
  if (!store::expect_response(store_, run.queue, key, waiter)) {
    throw Error(ErrorKind::invalid_argument, "cannot wait for '" + key + "' in queue '" + run.queue +
                                                 "': another job waits for it, or a later run of this one;"
                                                 " wait for a key that is the job's own");
  }
  return waiter.wait;
}

Outcome WaitDesk::settle(const Run& run, const BatchJob& job, Outcome outcome, Duration left,
                         const std::string& known) {
  try {
    outcome.deadline = time_after(store_.now(), std::max(std::min(outcome.snooze, left), Duration{0}));
    outcome.wait_id = known.empty() ? expect(run, job, outcome.text, outcome.deadline) : known;
    return outcome;
  } catch (const Error& error) {
    auto instead = error.kind() == ErrorKind::unavailable ? Outcome::put_back() : Outcome::fail(error.what());
    instead.penalty = outcome.penalty;
    return instead;
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

void RunWaits::settle(std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& outcome = outcomes[i];
    if (outcome.kind != Outcome::Kind::waiting) continue;
    if (desk_ == nullptr) {
      outcome = Outcome::fail("there is no store here that a wait could be registered in");
      continue;
    }
    const auto known = known_.find({i, outcome.text});
    outcome = desk_->settle({batch_.queue(), batch_.kind()}, batch_.jobs()[i], std::move(outcome), left_(),
                            known == known_.end() ? std::string{} : known->second.wait);
  }
  batch_.set_expect({});
}

}  // namespace ordo::runtime
