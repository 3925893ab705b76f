#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/codec.hpp>
#include <ordo/job.hpp>
#include <ordo/options.hpp>

namespace ordo {

/// Wraps each push: `jobs` may be changed before `next` stores them; not calling `next` drops the push
/// silently to the store but not to the caller (push throws Error{invalid_argument}), and so does calling it
/// twice, after the first. What it throws comes out of the push. The first added is the outermost.
using ClientMiddleware = std::function<void(const std::string& queue, std::vector<NewJob>& jobs,
                                            const std::function<void()>& next)>;

/// Puts jobs into queues.
///
///   ordo::Client client(ordo::Config{.store = "sqlite:ordo.db", .queues = {{.name = "orders"}}});
///   client.push("orders", {.id = "42", .payload = R"({"total":7})"});
///
/// Thread-safe. Opens the store when made (blocks; throws Error) and keeps it. One that was moved from, and
/// one that a fork has left to the child, throw Error{invalid_argument}: open a new one.
class Client {
 public:
  explicit Client(Config config);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Appends `job` to its queue's log; returns its id when the store has made it durable.
  ///
  /// A job whose (kind, key, id) already waits merges with it (docs/merging.md). Wakes an idle owner. Blocks
  /// for one commit, shared with the pushes of other threads. Throws Error{invalid_argument}: nothing was
  /// stored (bad name, too long, unknown queue). Error{unavailable}: it may or may not be stored; pushing the
  /// same id again merges, or runs the job again if it has ended.
  std::string push(std::string_view queue, NewJob job);

  /// The same for many jobs: all or none, in their order. Returns their ids. At most 10,000 jobs and 64 MiB a
  /// call.
  ///
  /// In a Redis Cluster each shard is a step of its own: all or none, and in order, are the jobs of one key
  /// (of one shard, even), not those of the call. When it throws, whatever the kind of the error, some shards
  /// may have theirs: push the same ids again.
  std::vector<std::string> push_many(std::string_view queue, std::vector<NewJob> jobs);

  /// A push whose end is told by `done(nullptr)` or the exception push() would throw; `done` runs on the
  /// store's thread and must not block. Errors of the arguments are thrown here. Waits while 64 MiB are under
  /// way.
  ///
  /// `done` may itself call push_async, for a queue that this client has pushed to before. All that would
  /// wait for the store there throws Error{invalid_argument} instead and does nothing: push, push_many, a
  /// push_async without room, opening a store, and the calls of Admin and Server that ask the store. A client
  /// that is destroyed there ends a moment later, on a thread of its own. What `done` throws is dropped.
  std::vector<std::string> push_async(std::string_view queue, std::vector<NewJob> jobs,
                                      std::function<void(std::exception_ptr)> done);

  /// push with a value that goes through Codec<T>.
  template <class T>
  std::string push_value(std::string_view queue, const T& value, NewJob job = {}) {
    job.payload = Codec<T>::encode(value);
    return push(queue, std::move(job));
  }

  /// Add before the first push.
  void use(ClientMiddleware middleware);

  class Impl;  ///< Ordo's own
  explicit Client(std::shared_ptr<Impl> impl);

 private:
  Impl& impl();

  std::shared_ptr<Impl> impl_;
};

}  // namespace ordo
