// A push on its way: checked, named, encoded, appended. What the store makes of it is the store's.
#include <ordo/client.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include <ordo/error.hpp>

#include "base/check_function.h"
#include "base/json.h"
#include "base/shorten.h"
#include "base/start_thread.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "client/client_impl.h"
#include "client/reopening.h"
#include "domain/gates.h"
#include "domain/new_job.h"
#include "domain/option_bounds.h"
#include "domain/shard_id.h"
#include "domain/window.h"
#include "store/limits.h"

namespace ordo {
namespace {

constexpr std::size_t kMaxJobs = 10'000;
constexpr std::size_t kMaxBytes = 64 << 20;

/// A job that could never start is refused, as far as that is known here.
void check_start(const std::string& queue, const NewJob& job, const QueueOptions* options, Time now) {
  const auto start = job.run_at.value_or(now);
  const auto of_job = "job " + in_quotes(job.id);
  for (const auto& window : job.windows) {
    if (domain::Windows::of({window})) continue;
    refuse_push(queue,
                "a window of " + of_job + " has the time zone " + in_quotes(window.tz) +
                    ", which is not known here; names are those of the IANA, like Europe/Moscow, and "
                    "come with the package tzdata (days are mon, tue, wed, thu, fri, sat and sun, like "
                    "mon-fri or sat,sun)");
  }
  const auto own = *domain::Windows::of(job.windows);
  const auto rules =
      options == nullptr ? QueueOptions{} : options_of(*options, job.kind.empty() ? queue : job.kind);
  const auto of_queue = domain::Windows::of(rules.windows).value_or(domain::Windows{});
  const auto opening = domain::next_opening(std::array{&own, &of_queue}, start, rules.min_remaining);
  if (!opening) {
    const auto least = rules.min_remaining > Duration{0}
                           ? " for more than " + format_duration(rules.min_remaining)
                           : std::string{};
    refuse_push(queue, of_job +
                           " would never start: its windows and those of the queue are not open together" +
                           least + " within ten years");
  }
  if (job.expires && *job.expires <= opening->from) {
    refuse_push(queue, of_job + " expires at " + format_time(*job.expires) +
                           ", before it may start: " + format_time(opening->from));
  }
}

/// So is one that weighs more than a limit lets through, where that is known without its payload.
void check_weight(const std::string& queue, const NewJob& job, const QueueOptions& options) {
  const auto rules = options_of(options, job.kind.empty() ? queue : job.kind);
  if (job.lock && rules.lock.empty() && !domain::has_locks(options)) {
    refuse_push(queue, "job " + in_quotes(job.id) + " has a lock, and its queue has none: give [queue." +
                           queue + "] a lock first");
  }
  const auto weight = job.weight.value_or(rules.weight);
  const auto limit = job.critical.value_or(false) ? rules.critical_limit : rules.limit;
  if (!limit || weight <= *limit || rules.oversize == Oversize::alone) return;
  refuse_push(queue, "job " + in_quotes(job.id) + " weighs " + weight.text() + ", and the limit is " +
                         limit->text() +
                         ": it would never start (oversize = \"alone\" lets it run by itself)");
}

std::optional<ErrorKind> kind_of(const std::exception_ptr& error) {
  if (!error) return std::nullopt;
  try {
    std::rethrow_exception(error);
  } catch (const Error& thrown) {
    return thrown.kind();
  }
}

/// The shards that have taken their part of an append that others refused.
std::vector<store::ShardId> taken_by(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const store::PartlyRefused& thrown) {
    return thrown.taken();
  } catch (const Error&) {
    return {};
  }
}

/// Nothing: it was found.
std::optional<ErrorKind> look_for(StoreHandle& handle, const std::string& queue,
                                  store::QueueDefinition& found) {
  try {
    found = handle.queue(queue);
    return std::nullopt;
  } catch (const Error& error) {
    return error.kind();
  }
}

}  // namespace

store::NewEntry new_entry(const store::QueueDefinition& queue, const domain::Entry& entry) {
  return {{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)};
}

// Throws what is wrong with the jobs, and an unknown queue.
Client::Impl::PushPtr Client::Impl::prepare(const std::string& queue, std::vector<NewJob> jobs) {
  auto push = std::make_shared<Push>();
  check_queue_name(queue);
  push->queue = queue;
  if (jobs.empty()) return push;
  if (jobs.size() > kMaxJobs) {
    refuse_push(queue, std::to_string(jobs.size()) + " jobs in one call, at most " +
                           std::to_string(kMaxJobs) + " fit");
  }
  const auto* rules = handle_->options(queue);
  for (auto& job : jobs) {
    check_new_job(queue, job, rules != nullptr ? rules->max_payload : kLongestPayload);
    if (job.id.empty()) job.id = handle_->new_id();
    if (job.delay) job.run_at = time_after(handle_->clock().wall(), *std::exchange(job.delay, std::nullopt));
    if (job.run_at) job.run_at = written_time(*job.run_at);
    if (job.timeout) job.timeout = std::min(*job.timeout, kLongestDuration);
    if (job.expires_after)
      job.expires = time_after(job.run_at.value_or(handle_->clock().wall()), *job.expires_after);
    if (job.expires && *job.expires != Time::max()) job.expires = written_time(*job.expires);
    if (rules != nullptr) check_weight(queue, job, *rules);
    if (job.expires || !job.windows.empty()) check_start(queue, job, rules, handle_->clock().wall());
    push->bytes += job.id.size() + job.key.size() + job.kind.size() + job.payload.size() + 16;
  }
  if (push->bytes > kMaxBytes) {
    refuse_push(queue, std::to_string(push->bytes >> 20) + " MiB in one call, at most " +
                           std::to_string(kMaxBytes >> 20) + " fit");
  }
  push->jobs = std::move(jobs);
  find_route(queue);
  return push;
}

// The first time for all queues that the store knows, as many may be pushed to.
void Client::Impl::find_route(const std::string& queue) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (routes_.contains(queue)) return;
    is_first = routes_.empty();
  }
  if (is_first) {
    auto list = handle_->store().queues();
    const std::lock_guard lock(mutex_);
    for (auto& known : list.queues) {
      auto name = known.name;
      if (!known.is_hidden()) routes_.try_emplace(std::move(name), Route{std::move(known)});
    }
    if (routes_.contains(queue)) return;
  }
  auto definition = handle_->queue(queue);
  const std::lock_guard lock(mutex_);
  routes_.try_emplace(queue, Route{std::move(definition)});
}

std::vector<std::string> Client::Impl::ids_of(const Push& push) {
  std::vector<std::string> ids;
  ids.reserve(push.jobs.size());
  for (const auto& job : push.jobs) ids.push_back(job.id);
  return ids;
}

void Client::Impl::send(PushPtr push) {
  if (push->jobs.empty()) return push->done(nullptr);
  store::QueueDefinition definition;
  {
    const std::lock_guard lock(mutex_);
    auto& route = routes_.at(push->queue);
    push->ticket = ++last_ticket_;
    if (route.is_sending || !route.refused.empty()) {
      route.refused.emplace(push->ticket, std::move(push));
      return;
    }
    ++route.under_way;
    definition.number = route.definition.number;
    definition.shards = route.definition.shards;
  }
  submit(push, definition);
}

void Client::Impl::submit(const PushPtr& push, const store::QueueDefinition& definition) {
  std::vector<store::NewEntry> entries;
  entries.reserve(push->jobs.size());
  for (const auto& job : push->jobs) entries.push_back(new_entry(definition, entry_of(push->queue, job)));
  handle_->store_to_append().append(std::move(entries), [this, push, number = definition.number,
                                                         shards =
                                                             definition.shards](std::exception_ptr error) {
    if (const auto taken = taken_by(error); !taken.empty()) {
      push->is_partly_stored = true;
      std::erase_if(push->jobs, [&](const NewJob& job) {
        return std::ranges::count(taken, domain::shard_of(key_of(job), shards), &store::ShardId::index) > 0;
      });
    }
    ended(push, number, error);
  });
}

// A queue that is resharded, or was removed, refuses: then it is looked for again, by a thread of its own.
void Client::Impl::ended(const PushPtr& push, std::uint32_t number, std::exception_ptr error) {
  const bool is_partly = !taken_by(error).empty();
  const bool is_refused = is_partly || kind_of(error) == ErrorKind::invalid_argument;
  if (!is_refused) push->done(error);
  std::unique_lock lock(mutex_);
  auto& route = routes_.at(push->queue);
  --route.under_way;
  if (is_refused) {
    push->refused_by = number;
    if (is_partly || !push->is_partly_stored) push->refusal = error;
    if (!push->since) push->since = handle_->clock().steady();
    route.refused.emplace(push->ticket, push);
    try {
      if (!is_ending_ && !again_.joinable())
        again_ = start_thread([this](const std::stop_token& stop) { send_again(stop); });
    } catch (const Error& failure) {
      const Error reason(failure.kind(), failure.what());
      const auto failed = std::exchange(route.refused, {});
      if (route.under_way == 0) refused_.notify_all();
      lock.unlock();
      for (const auto& [ticket, each] : failed)
        each->done(std::make_exception_ptr(Error(reason.kind(), reason.what())));
      return;
    }
  }
  if (route.under_way == 0) refused_.notify_all();
}

void Client::Impl::send_again(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto waits = [](const auto& entry) {
    return !entry.second.refused.empty() && entry.second.under_way == 0;
  };
  const auto has_any = [&] { return std::any_of(routes_.begin(), routes_.end(), waits); };
  while (refused_.wait(lock, stop, has_any) && !stop.stop_requested()) {
    std::vector<std::string> queues;
    for (const auto& entry : routes_) {
      if (waits(entry)) queues.push_back(entry.first);
    }
    lock.unlock();
    bool has_waiting = false;
    for (const auto& queue : queues) has_waiting = !look_again(queue) || has_waiting;
    lock.lock();
    if (has_waiting) refused_.wait_for(lock, stop, kReshardLook, [] { return false; });
  }
}

// Nothing of the queue is in the store. False: it is to be looked for again.
bool Client::Impl::look_again(const std::string& queue) {
  store::QueueDefinition found;
  const auto failure = look_for(*handle_, queue, found);
  const auto now = handle_->clock().steady();
  std::vector<PushPtr> again;
  std::vector<std::pair<PushPtr, std::exception_ptr>> failed;
  {
    const std::lock_guard lock(mutex_);
    auto& route = routes_.at(queue);
    const bool is_unknown = failure && *failure != ErrorKind::unavailable;
    const bool is_open = !failure && !found.closed;
    for (auto& [ticket, push] : route.refused) {
      if (is_unknown || (is_open && push->refused_by == found.number)) {
        failed.emplace_back(push, push->refusal ? push->refusal : route.refused.begin()->second->refusal);
      } else if (is_open) {
        again.push_back(push);
      } else if (push->since && now - *push->since >= kReshardPatience) {
        failed.emplace_back(push, std::make_exception_ptr(still_closed(queue)));
      } else if (!push->since) {
        push->since = now;
      }
    }
    for (const auto& push : again) route.refused.erase(push->ticket);
    for (const auto& [push, error] : failed) route.refused.erase(push->ticket);
    if (is_open) route.definition = found;
    route.under_way += again.size();
    route.is_sending = !again.empty();
  }
  for (const auto& [push, error] : failed) push->done(error);
  for (const auto& push : again) submit(push, found);
  const std::lock_guard lock(mutex_);
  auto& route = routes_.at(queue);
  route.is_sending = false;
  return route.refused.empty();
}

std::shared_ptr<Client::Impl> Client::Impl::reopened() {
  auto next = std::make_shared<Impl>(handle_->reopened());
  next->middlewares_ = middlewares_;
  return next;
}

Client::Impl::~Impl() {
  unique_pusher_ = {};  // it ends with what it has to push
  const auto has_ended = [&] {
    return std::all_of(routes_.begin(), routes_.end(),
                       [](const auto& entry) { return entry.second.under_way == 0; });
  };
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  again_ = {};
  std::unique_lock lock(mutex_);
  // Nobody can catch it here, but its message ends the program, instead of a silence without end.
  if (!has_ended()) refuse_in_callback("the destructor of a Client with pushes under way");
  refused_.wait(lock, has_ended);
  lock.unlock();  // nobody else is here any more, and who is told may look in
  for (auto& [queue, route] : routes_) {
    for (const auto& [ticket, push] : route.refused) {
      push->done(push->refusal ? push->refusal : std::make_exception_ptr(still_closed(queue)));
    }
  }
}

template <class Result>
Result Client::Impl::through_middlewares(const std::string& queue, std::vector<NewJob> jobs,
                                         const std::function<Result(std::vector<NewJob>)>& last) {
  if (middlewares_.empty()) return last(std::move(jobs));
  std::optional<Result> result;
  std::size_t reached = 0;
  bool is_twice = false;
  const auto refuse_twice = [&] {
    if (!is_twice) return;
    throw Error(ErrorKind::invalid_argument,
                "cannot push to queue '" + queue +
                    "': a client middleware called on twice; what it passed on the "
                    "first time may be stored");
  };
  std::function<void(std::size_t)> call = [&](std::size_t index) {
    is_twice = is_twice || index < reached;
    refuse_twice();
    reached = index + 1;
    if (index == middlewares_.size()) {
      result = last(jobs);
    } else {
      middlewares_[index](queue, jobs, [&] { call(index + 1); });
    }
  };
  call(0);
  refuse_twice();  // it may have caught it
  if (!result) refuse_push(queue, "a client middleware did not call on");
  return *std::move(result);
}

void Client::Impl::send_and_wait(PushPtr push) {
  std::promise<void> stored;
  push->done = [&](std::exception_ptr error) {
    if (error) {
      stored.set_exception(error);
    } else {
      stored.set_value();
    }
  };
  send(std::move(push));
  stored.get_future().get();
}

std::vector<Pushed> Client::Impl::push_each(std::string_view queue, std::vector<NewJob> jobs) {
  refuse_in_callback("Client::push()");
  const std::string name(queue);
  return through_middlewares<std::vector<Pushed>>(name, std::move(jobs), [&](std::vector<NewJob> last) {
    if (has_unique(name, last)) return push_some_unique(name, std::move(last));
    const auto push = prepare(name, std::move(last));
    std::vector<Pushed> pushed;
    for (const auto& job : push->jobs)
      pushed.push_back({Pushed::What::pushed, job.id, job.kind.empty() ? name : job.kind, key_of(job)});
    send_and_wait(push);
    return pushed;
  });
}

PushedOnce Client::Impl::push_once(std::string_view queue, std::vector<NewJob> jobs, const OnceKey& once) {
  refuse_in_callback("Client::push_once()");
  const std::string name(queue);
  return through_middlewares<PushedOnce>(name, std::move(jobs), [&](std::vector<NewJob> last) {
    return push_under_key(name, std::move(last), once);
  });
}

std::vector<std::string> Client::Impl::push(std::string_view queue, std::vector<NewJob> jobs) {
  return ids_of(std::string(queue), push_each(queue, std::move(jobs)));
}

std::vector<std::string> Client::Impl::ids_of(const std::string& queue, std::vector<Pushed> all) {
  std::vector<std::string> ids;
  for (auto& pushed : all) {
    if (pushed.what == Pushed::What::rejected) {
      const auto until = pushed.until ? ", until " + format_time(*pushed.until) : std::string();
      const auto text = "cannot push to queue '" + queue + "': job " + in_quotes(pushed.id) +
                        " has the unique key already" + until + "; nothing was stored for it";
      throw NotUnique(text, std::move(pushed));
    }
    ids.push_back(std::move(pushed.id));
  }
  return ids;
}

// Waits for room, and returns how to tell the end, which gives it back.
std::function<void(std::exception_ptr)> Client::Impl::take_room(
    std::size_t bytes, std::function<void(std::exception_ptr)> done) {
  {
    std::unique_lock lock(mutex_);
    const auto has_room = [&] { return under_way_ == 0 || under_way_ + bytes <= kMaxBytes; };
    if (!has_room()) refuse_in_callback("Client::push_async() with 64 MiB under way");
    room_.wait(lock, has_room);
    under_way_ += bytes;
  }
  return [this, bytes, done = std::move(done)](std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      under_way_ -= bytes;
    }
    room_.notify_all();
    const StoreCallback here;
    try {
      done(error);
    } catch (...) {  // nobody is left to tell
    }
  };
}

std::vector<std::string> Client::Impl::push_async(std::string_view queue, std::vector<NewJob> jobs,
                                                  std::function<void(std::exception_ptr)> done) {
  const std::string name(queue);
  check_queue_name(name);
  if (!done) refuse_push(name, "push_async() needs a function to tell the end to");
  return through_middlewares<std::vector<std::string>>(name, std::move(jobs), [&](std::vector<NewJob> last) {
    const bool is_unique = has_unique(name, last);
    const auto push = prepare(name, std::move(last));
    auto ids = ids_of(*push);
    push->done = take_room(push->bytes, std::move(done));
    if (is_unique) {
      push_unique_later(push);
    } else {
      send(push);
    }
    return ids;
  });
}

class Client::Place : public Reopening<Impl> {
 public:
  using Reopening::Reopening;
};

Client::Client(Config config)
    : place_(std::make_shared<Place>(
          std::make_shared<Impl>(std::make_shared<StoreHandle>(std::move(config), system_clock())),
          [](Impl& before) { return before.reopened(); })) {}
Client::Client(std::shared_ptr<Impl> impl) : place_(std::make_shared<Place>(std::move(impl))) {}
Client::~Client() {
  if (!place_) return;
  auto last = place_->last();
  if (last->handle().is_of_parent()) {
    new std::shared_ptr<Impl>(std::move(last));  // its threads are in the parent: it is left as it is
  } else {
    drop_outside_callback(std::move(last));
  }
}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  Client before(std::move(*this));
  place_ = std::move(other.place_);
  return *this;
}

std::shared_ptr<Client::Impl> Client::impl() {
  if (!place_)
    throw Error(ErrorKind::invalid_argument, "this Client was moved from: use the one it was moved to");
  auto impl = place_->get();
  impl->handle().check_process();
  return impl;
}

std::string Client::push(std::string_view queue, NewJob job) {
  std::vector<NewJob> jobs;
  jobs.push_back(std::move(job));
  const auto ids = impl()->push(queue, std::move(jobs));
  if (ids.empty()) refuse_push(std::string(queue), "a client middleware has left no job");
  return ids.front();
}

std::vector<std::string> Client::push_many(std::string_view queue, std::vector<NewJob> jobs) {
  return impl()->push(queue, std::move(jobs));
}

std::vector<std::string> Client::push_async(std::string_view queue, std::vector<NewJob> jobs,
                                            std::function<void(std::exception_ptr)> done) {
  return impl()->push_async(queue, std::move(jobs), std::move(done));
}

namespace {

/// The ids and the end of a push, each told by another thread, whichever is the first.
class AsyncPush {
 public:
  using Ids = std::vector<std::string>;

  std::future<Ids> future() { return promise_.get_future(); }
  void begun(Ids ids) {
    const std::lock_guard lock(mutex_);
    ids_ = std::move(ids);
    if (is_over_) tell();
  }
  void ended(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    error_ = std::move(error);
    if (ids_) tell();
  }

 private:
  void tell() {
    if (error_) {
      promise_.set_exception(error_);
    } else {
      promise_.set_value(*std::move(ids_));
    }
  }

  std::mutex mutex_;
  std::promise<Ids> promise_;
  std::optional<Ids> ids_;
  bool is_over_ = false;
  std::exception_ptr error_;
};

}  // namespace

std::future<std::vector<std::string>> Client::push_async(std::string_view queue, std::vector<NewJob> jobs) {
  const auto push = std::make_shared<AsyncPush>();
  auto future = push->future();
  push->begun(push_async(queue, std::move(jobs),
                         [push](std::exception_ptr error) { push->ended(std::move(error)); }));
  return future;
}

std::vector<Pushed> Client::push_each(std::string_view queue, std::vector<NewJob> jobs) {
  return impl()->push_each(queue, std::move(jobs));
}

PushedOnce Client::push_once(std::string_view queue, std::vector<NewJob> jobs, const OnceKey& once) {
  return impl()->push_once(queue, std::move(jobs), once);
}

void Client::use(ClientMiddleware middleware) {
  check_function("Client::use()", middleware);
  impl()->use(std::move(middleware));
}

}  // namespace ordo
