#include "runtime/user_calls.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace ordo::runtime {

UserCalls::UserCalls(std::vector<std::pair<EventFilter, EventHandler>> subscribers, Workers workers,
                     std::function<void()> on_lease_lost, Log log, NodeThreads& threads)
    : subscribers_(std::move(subscribers)),
      workers_(std::move(workers)),
      on_lease_lost_(std::move(on_lease_lost)),
      log_(std::move(log)),
      threads_(threads) {}

void UserCalls::publish(std::vector<Event> events) {
  std::erase_if(events, [this](const Event& event) {
    return std::ranges::none_of(subscribers_, [&](const auto& each) { return each.first.admits(event); });
  });
  if (events.empty()) return;
  const auto admitted = notifier_.admit(Notifier::Of::events, events.size());
  if (admitted == 0) return;
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(admitted), events.end());
  auto tell = [this, events = std::move(events)] {
    for (const auto& event : events) {
      if (!notifier_.begin(Notifier::Of::events)) return;
      for (const auto& subscriber : subscribers_) {
        if (subscriber.first.admits(event)) call("a handler of events", [&] { subscriber.second(event); });
      }
    }
  };
  notifier_.post(std::move(tell));
}

void UserCalls::died(const std::string& queue, std::vector<JobView> dead) {
  std::shared_ptr<Worker> worker;
  {
    const std::lock_guard lock(mutex_);
    const auto known = workers_.find({queue, dead.front().kind});
    if (known == workers_.end()) return;
    worker = known->second;
  }
  if (notifier_.admit(Notifier::Of::deaths, 1) == 0) return;
  notifier_.post([this, worker, dead = std::move(dead)]() mutable {
    if (!notifier_.begin(Notifier::Of::deaths)) return;
    for (auto& job : dead) {
      call("load_error", [&] { job.error = worker->load_error(job.error); });
    }
    call("retries_exhausted", [&] { worker->retries_exhausted(dead); });
  });
}

void UserCalls::serve(const std::string& queue, std::map<std::string, std::shared_ptr<Worker>> workers) {
  const std::lock_guard lock(mutex_);
  std::erase_if(workers_, [&](const auto& entry) { return entry.first.first == queue; });
  for (auto& [kind, worker] : workers) workers_[{queue, kind}] = std::move(worker);
  ++served_[queue];
}

std::uint64_t UserCalls::times_served(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  return served_[queue];
}

void UserCalls::forget(const std::string& queue, std::uint64_t times_served) {
  const std::lock_guard lock(mutex_);
  if (served_[queue] != times_served) return;
  std::erase_if(workers_, [&](const auto& entry) { return entry.first.first == queue; });
}

void UserCalls::lease_lost() {
  if (!on_lease_lost_ || tells_loss_.exchange(true)) return;
  loss_teller_ = threads_.make("loss", [this](const std::stop_token&) {
    call("on_lease_lost", on_lease_lost_);
    tells_loss_ = false;
  });
}

void UserCalls::run(const std::stop_token& stop) {
  while (true) {
    auto calls = notifier_.wait(stop);
    if (calls.empty()) return;
    if (const auto dropped = notifier_.take_dropped(); dropped > 0) {
      log_(LogLevel::error,
           fmt::format("{} events or deaths were told to nobody: a handler took too long, and {} events or "
                       "{} deaths waited for it",
                       dropped, Notifier::kEvents, Notifier::kDeaths));
    }
    for (auto& code : calls) std::exchange(code, nullptr)();  // what was told takes no memory
  }
}

// Each alone: what one throws keeps nothing from the others. Behind close() nobody is called, and nothing is
// logged of one that returns so late.
void UserCalls::call(const char* what, const std::function<void()>& code) {
  if (notifier_.is_closed()) return;
  std::string why;
  try {
    code();
    return;
  } catch (const std::exception& error) {
    why = std::string(": ") + error.what();
  } catch (...) {
  }
  if (!notifier_.is_closed()) log_(LogLevel::error, std::string(what) + " threw" + why);
}

}  // namespace ordo::runtime
