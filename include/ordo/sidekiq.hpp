#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/json.hpp>
#include <ordo/time.hpp>

/// Jobs of Sidekiq, Resque and Verk, which keep them in Redis (docs/sidekiq.md).
namespace ordo::sidekiq {

/// Whose format a job has.
enum class Dialect : std::uint8_t {
  sidekiq,
  resque,  ///< class and args only; keys begin with `resque:`, and workers take from the other end
  verk,    ///< args is a string that holds a JSON array; 13 fields, always all of them
};

/// "sidekiq", "resque", "verk", as in the config.
[[nodiscard]] std::string_view to_string(Dialect dialect);

/// The retries of a job that says `"retry": true`, or nothing of it.
inline constexpr std::int32_t kDefaultRetries = 25;

/// A job as a worker gets it in its payload.
///
///   const auto job = ordo::sidekiq::Job::parse(batch.jobs().front().payloads.front().bytes);
///   if (job.class_name == "ShipWorker") ship(job.args[0].as_int());
struct Job {
  std::string class_name{};
  std::string wrapped{};  ///< of an ActiveJob: the class of the program; empty: it is none
  Json args{};            ///< an array, in every dialect
  std::string queue{};    ///< without `queue:`; empty: it says none
  std::string jid{};      ///< empty: it has none
  /// How often it is run again: 0 for `false`, kDefaultRetries for `true`. Nothing: it does not say.
  std::optional<std::int32_t> retries{};
  bool keeps_dead = true;                     ///< false for `"retry": false` and `"dead": false`
  std::optional<std::int32_t> retry_count{};  ///< Sidekiq: 0 after the first failure; Verk: 1
  std::optional<Time> created_at{}, enqueued_at{}, at{}, failed_at{}, retried_at{};
  std::string error_class{}, error_message{};
  Dialect dialect = Dialect::sidekiq;
  Json json{};  ///< the whole job, where all other fields are found

  /// `args_keys`: the keys that objects in the arguments may have, at any depth; nothing: any key. A worker
  /// that lists them finds out about a changed producer at once (Verk: `args_keys: :atoms!`).
  /// Throws Error{invalid_argument} that says what is wrong with it.
  [[nodiscard]] static Job parse(std::string_view payload,
                                 const std::optional<std::vector<std::string>>& args_keys = {});
};

/// What a push asks for.
struct Push {
  std::string class_name{};
  Json args = Json::array();
  std::string queue = "default";
  std::optional<Time> at{};  ///< earliest start; one that has passed: at once. Not for Resque
  Json retry = true;         ///< true, false or a number of retries. Not for Resque
  std::string jid{};         ///< empty: a new one. Not for Resque
  Json fields{};             ///< more fields of the job, an object: "tags", "backtrace", … Sidekiq only
};

/// Pushes jobs that Ruby and Elixir workers run, byte for byte as their own clients do.
///
///   ordo::sidekiq::Client client("redis://localhost");
///   client.perform_async({.class_name = "ShipWorker", .args = ordo::Json::array({42})});
///
/// Thread-safe; calls wait for each other. Connects at the first push, and again after a failure. Every push
/// blocks until the server has answered. Throws Error{invalid_argument}: nothing was pushed;
/// Error{unavailable}: it may or may not be pushed.
class Client {
 public:
  /// `url` as in docs/redis.md. Throws Error{invalid_argument}.
  explicit Client(std::string_view url, Dialect dialect = Dialect::sidekiq);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Returns the job's jid; empty for Resque.
  std::string perform_async(Push job);
  std::string perform_in(Duration delay, Push job);
  std::string perform_at(Time at, Push job);

  /// One job for each element of `args`, which are arrays. Returns their jids in that order. Sends 1,000 jobs
  /// at a time; when it throws, some may be pushed.
  std::vector<std::string> perform_bulk(const Push& job, const std::vector<Json>& args);

  /// The same for jobs of any class and queue, in their order.
  std::vector<std::string> push_many(const std::vector<Push>& jobs);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ordo::sidekiq
