// A push on its way: checked, named, encoded, appended. What the store makes of it is the store's.
#include <ordo/client.hpp>

#include <cmath>
#include <future>

#include <ordo/error.hpp>

#include "client/client_impl.h"
#include "domain/shard_id.h"

namespace ordo {
namespace {

constexpr std::size_t kMaxPayload = 1 << 20;
constexpr std::size_t kMaxJobs = 10'000;
constexpr std::size_t kMaxBytes = 64 << 20;

[[noreturn]] void refuse(const std::string& queue, const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              "cannot push to queue '" + queue + "': " + why + "; nothing was stored");
}

void check(const std::string& queue, const NewJob& job) {
  const auto check_name = [&](const char* what, const std::string& name) {
    if (name.size() > 255) {
      refuse(queue,
             std::string("the ") + what + " has " + std::to_string(name.size()) + " bytes, at most 255 fit");
    }
  };
  check_name("id", job.id);
  check_name("key", job.key);
  check_name("kind", job.kind);
  if (job.payload.size() > kMaxPayload) {
    refuse(queue, "the payload of job '" + job.id + "' has " + std::to_string(job.payload.size()) +
                      " bytes, at most " + std::to_string(kMaxPayload) +
                      " fit; store it elsewhere and push its place");
  }
  if (job.score && !std::isfinite(*job.score))
    refuse(queue, "the score of job '" + job.id + "' is not a finite number");
  if (job.run_at && job.delay) refuse(queue, "job '" + job.id + "' has both run_at and delay; give one");
  if (job.timeout && *job.timeout <= Duration{0})
    refuse(queue, "the timeout of job '" + job.id + "' is not positive");
}

}  // namespace

Client::Impl::Prepared Client::Impl::prepare(const std::string& queue, std::vector<NewJob> jobs) {
  if (jobs.empty()) return {};
  if (jobs.size() > kMaxJobs) {
    refuse(queue,
           std::to_string(jobs.size()) + " jobs in one call, at most " + std::to_string(kMaxJobs) + " fit");
  }
  for (const auto& job : jobs) check(queue, job);
  const auto definition = handle_->queue(queue);
  Prepared prepared;
  prepared.ids.reserve(jobs.size());
  prepared.entries.reserve(jobs.size());
  for (auto& job : jobs) {
    if (job.id.empty()) job.id = handle_->new_id();
    domain::Entry entry;
    entry.id = job.id;
    entry.kind = job.kind.empty() ? std::string_view(queue) : job.kind;
    entry.key = job.key.empty() ? std::string_view(job.id) : job.key;
    entry.score = job.score;
    entry.run_at = job.delay ? std::optional(handle_->clock().wall() + *job.delay) : job.run_at;
    entry.options = {job.priority, job.timeout};
    entry.payload = job.payload;
    auto bytes = domain::encode(entry);
    prepared.bytes += bytes.size();
    prepared.entries.push_back(
        {{definition.number, domain::shard_of(entry.key, definition.shards)}, std::move(bytes)});
    prepared.ids.push_back(std::move(job.id));
  }
  if (prepared.bytes > kMaxBytes) {
    refuse(queue, std::to_string(prepared.bytes >> 20) + " MiB in one call, at most " +
                      std::to_string(kMaxBytes >> 20) + " fit");
  }
  return prepared;
}

void Client::Impl::append(const std::string& queue, Prepared prepared,
                          std::function<void(std::exception_ptr)> done) {
  if (prepared.entries.empty()) return done(nullptr);
  handle_->store().append(std::move(prepared.entries),
                          [this, queue, done = std::move(done)](std::exception_ptr error) {
                            if (error)
                              handle_->forget(queue);  // it may have been removed: the next push looks again
                            done(error);
                          });
}

std::vector<std::string> Client::Impl::through_middlewares(
    const std::string& queue, std::vector<NewJob> jobs,
    const std::function<std::vector<std::string>(std::vector<NewJob>)>& last) {
  if (middlewares_.empty()) return last(std::move(jobs));
  std::optional<std::vector<std::string>> ids;
  std::function<void(std::size_t)> call = [&](std::size_t index) {
    if (index == middlewares_.size()) {
      ids = last(jobs);
    } else {
      middlewares_[index](queue, jobs, [&] { call(index + 1); });
    }
  };
  call(0);
  if (!ids) refuse(queue, "a client middleware did not call on");
  return *std::move(ids);
}

std::vector<std::string> Client::Impl::push(std::string_view queue, std::vector<NewJob> jobs) {
  const std::string name(queue);
  return through_middlewares(name, std::move(jobs), [&](std::vector<NewJob> last) {
    auto prepared = prepare(name, std::move(last));
    auto ids = std::move(prepared.ids);
    std::promise<void> stored;
    append(name, std::move(prepared), [&](std::exception_ptr error) {
      if (error) {
        stored.set_exception(error);
      } else {
        stored.set_value();
      }
    });
    stored.get_future().get();
    return ids;
  });
}

std::vector<std::string> Client::Impl::push_async(std::string_view queue, std::vector<NewJob> jobs,
                                                  std::function<void(std::exception_ptr)> done) {
  const std::string name(queue);
  return through_middlewares(name, std::move(jobs), [&](std::vector<NewJob> last) {
    auto prepared = prepare(name, std::move(last));
    auto ids = std::move(prepared.ids);
    const auto bytes = prepared.bytes;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return under_way_ == 0 || under_way_ + bytes <= kMaxBytes; });
      under_way_ += bytes;
    }
    append(name, std::move(prepared), [this, bytes, done = std::move(done)](std::exception_ptr error) {
      {
        const std::lock_guard lock(mutex_);
        under_way_ -= bytes;
      }
      room_.notify_all();
      done(error);
    });
    return ids;
  });
}

Client::Client(Config config)
    : impl_(std::make_shared<Impl>(std::make_shared<StoreHandle>(std::move(config), system_clock()))) {}
Client::Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

std::string Client::push(std::string_view queue, NewJob job) {
  std::vector<NewJob> jobs;
  jobs.push_back(std::move(job));
  return impl_->push(queue, std::move(jobs)).front();
}

std::vector<std::string> Client::push_many(std::string_view queue, std::vector<NewJob> jobs) {
  return impl_->push(queue, std::move(jobs));
}

std::vector<std::string> Client::push_async(std::string_view queue, std::vector<NewJob> jobs,
                                            std::function<void(std::exception_ptr)> done) {
  return impl_->push_async(queue, std::move(jobs), std::move(done));
}

void Client::use(ClientMiddleware middleware) { impl_->use(std::move(middleware)); }

}  // namespace ordo
