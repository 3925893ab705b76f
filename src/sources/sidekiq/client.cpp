// The sink: what Sidekiq::Client, Resque.push and Verk.enqueue send to Redis.
#include <ordo/sidekiq.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/time_text.h"
#include "sources/redis_link.h"
#include "sources/sidekiq/job_writer.h"

namespace ordo::sidekiq {
namespace {

using store::redis::CommandText;

constexpr std::size_t kAtOnce = 1000;

/// As SecureRandom.hex(12), and as Verk makes one of two random words.
std::string new_jid(Dialect dialect) {
  const auto bytes = secret_bytes(dialect == Dialect::verk ? 8 : 12);
  std::string jid;
  if (dialect != Dialect::verk) {
    for (const auto byte : bytes) jid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return jid;
  }
  for (std::size_t word = 0; word < 2; ++word) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
      number = number << 8U | static_cast<unsigned char>(bytes[4 * word + i]);
    jid += std::to_string(number);
  }
  return jid;
}

/// Jobs that one LPUSH or ZADD may take: those of one queue that stand behind each other.
struct Run {
  std::string queue;  ///< empty: they are scheduled
  std::vector<std::string> words;
};

}  // namespace

class Client::Impl {
 public:
  Impl(std::string_view url, Dialect dialect) : link_(url), dialect_(dialect) {}

  enum class Call : std::uint8_t { one, many };

  std::vector<std::string> push(const std::vector<Push>& jobs, Call call) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> jids;
    std::vector<Run> runs;
    const auto now = system_clock().wall();
    for (const auto& job : jobs) {
      const bool is_scheduled = job.at && *job.at > now;
      auto jid = dialect_ == Dialect::resque ? std::string() : job.jid.empty() ? new_jid(dialect_) : job.jid;
      const sources::JobStamp stamp{jid, now, is_scheduled, is_scheduled || call == Call::many};
      auto bytes = sources::write_job(dialect_, job, stamp);
      const auto queue = is_scheduled ? std::string() : job.queue;
      if (runs.empty() || runs.back().queue != queue) runs.push_back({queue, {}});
      if (is_scheduled)
        runs.back().words.push_back(dialect_ == Dialect::verk ? sources::whole_seconds(*job.at)
                                                              : sources::float_seconds(*job.at));
      runs.back().words.push_back(std::move(bytes));
      jids.push_back(std::move(jid));
    }
    CommandText commands;
    for (const auto& run : runs) add(commands, run);
    link_.leave_if_closed();
    if (commands.count() > 0) link_.ask("push a job", commands);
    return jids;
  }

 private:
  void add(CommandText& commands, const Run& run) const {
    if (run.queue.empty()) return add(commands, "ZADD", "schedule", run.words);
    const std::string prefix = dialect_ == Dialect::resque ? "resque:" : "";
    if (dialect_ != Dialect::verk) commands.add("SADD", prefix + "queues", run.queue);
    const auto* const verb = dialect_ == Dialect::resque ? "RPUSH" : "LPUSH";
    add(commands, verb, prefix + "queue:" + run.queue, run.words);
  }

  static void add(CommandText& commands, std::string_view verb, std::string_view key,
                  const std::vector<std::string>& words) {
    commands.begin(2 + words.size());
    commands.word(verb);
    commands.word(key);
    for (const auto& word : words) commands.word(std::string_view(word));
  }

  std::mutex mutex_;
  sources::RedisLink link_;
  const Dialect dialect_;
};

Client::Client(std::string_view url, Dialect dialect) : impl_(std::make_unique<Impl>(url, dialect)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

std::string Client::perform_async(Push job) {
  job.at.reset();
  return impl_->push({std::move(job)}, Impl::Call::one).front();
}

std::string Client::perform_in(Duration delay, Push job) {
  return perform_at(time_after(system_clock().wall(), delay), std::move(job));
}

std::string Client::perform_at(Time at, Push job) {
  job.at = at;
  return impl_->push({std::move(job)}, Impl::Call::one).front();
}

std::vector<std::string> Client::perform_bulk(const Push& job, const std::vector<Json>& args) {
  std::vector<Push> jobs(args.size(), job);
  for (std::size_t i = 0; i < args.size(); ++i) jobs[i].args = args[i];
  return push_many(jobs);
}

std::vector<std::string> Client::push_many(const std::vector<Push>& jobs) {
  std::vector<std::string> jids;
  for (std::size_t first = 0; first < jobs.size(); first += kAtOnce) {
    const auto begin = jobs.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kAtOnce, jobs.size() - first));
    for (auto& jid : impl_->push({begin, end}, Impl::Call::many)) jids.push_back(std::move(jid));
  }
  return jids;
}

}  // namespace ordo::sidekiq
