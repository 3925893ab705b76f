#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/codec.hpp>
#include <ordo/error.hpp>
#include <ordo/job.hpp>
#include <ordo/options.hpp>
#include <ordo/token.hpp>

namespace ordo {

/// Wraps each push: `jobs` may be changed before `next` stores them; not calling `next` drops the push
/// silently to the store but not to the caller (push throws Error{invalid_argument}), and so does calling it
/// twice, after the first. What it throws comes out of the push. The first added is the outermost.
using ClientMiddleware = std::function<void(const std::string& queue, std::vector<NewJob>& jobs,
                                            const std::function<void()>& next)>;

/// What became of one job of a push.
struct Pushed {
  enum class What : std::uint8_t {
    pushed,    ///< it is stored
    merged,    ///< its payload is, in the job that has its unique key
    ignored,   ///< nothing: a job has its unique key
    rejected,  ///< likewise, and that is an error
  };
  What what = What::pushed;
  std::string id{};           ///< of the job that has its payload, or its unique key
  std::string kind{}, key{};  ///< of that job
  /// Of one that is ignored or rejected: when the key is free again. Nothing: that hangs on the job.
  std::optional<Time> until{};

  [[nodiscard]] bool is_stored() const { return what <= What::merged; }
};

/// Thrown by a push whose unique key another job has (OnConflict::reject).
class NotUnique final : public Error {
 public:
  NotUnique(const std::string& message, Pushed existing)
      : Error(ErrorKind::conflict, message), existing_(std::move(existing)) {}

  [[nodiscard]] const Pushed& existing() const noexcept { return existing_; }

 private:
  Pushed existing_;
};

/// Under what a push is known again (Client::push_once).
struct OnceKey {
  std::string key{};      ///< 1 to 200 bytes: who pushes makes a new one for each push that is meant
  std::string content{};  ///< says what is pushed, as a hash of it: 1 to 255 bytes
};

struct PushedOnce {
  enum class What : std::uint8_t {
    pushed,  ///< all of it, and durable
    again,   ///< it was pushed before: nothing was stored now
    other,   ///< other content was pushed under the key: nothing was stored now
  };
  What what = What::pushed;
  std::vector<std::string> ids{};  ///< of its jobs, in their order; of `other`: none
};

/// What became of a response.
enum class Responded : std::uint8_t {
  accepted,   ///< a job waits for it, and has it now
  buffered,   ///< nobody waits for it yet: it is kept for `response_ttl` of the queue
  duplicate,  ///< it was taken before
  late,       ///< the wait is over, or has another response already
  unknown,    ///< nobody waits for it, and nothing is kept: `response_ttl` is 0
  refused,    ///< its token is none of this store's, or too old: nothing is kept
  full,       ///< nobody waits for it yet, and the queue keeps as many such as it may: it is not kept
};

/// "accepted", "buffered", … as shown by the CLI.
[[nodiscard]] std::string_view to_string(Responded responded);

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
  /// Calls with unique keys are pushed one after the other, by a thread of the client; others may overtake
  /// them. The first of their jobs that is rejected is told as NotUnique; the ids are those of the call, also
  /// where another job's stays.
  ///
  /// `done` may itself call push_async, for a queue that this client has pushed to before. All that would
  /// wait for the store there throws Error{invalid_argument} instead and does nothing: push, push_many, a
  /// push_async without room, opening a store, and the calls of Admin and Server that ask the store. A client
  /// that is destroyed there ends a moment later, on a thread of its own. What `done` throws is dropped.
  std::vector<std::string> push_async(std::string_view queue, std::vector<NewJob> jobs,
                                      std::function<void(std::exception_ptr)> done);

  /// The same, for who waits later: the future has the ids once the jobs are durable, or the exception that
  /// push() would throw. To wait for it in a callback of a push_async is to wait for ever.
  [[nodiscard]] std::future<std::vector<std::string>> push_async(std::string_view queue,
                                                                 std::vector<NewJob> jobs);

  /// push with a value that goes through Codec<T>.
  template <class T>
  std::string push_value(std::string_view queue, const T& value, NewJob job = {}) {
    job.payload = Codec<T>::encode(value);
    return push(queue, std::move(job));
  }

  /// As push_many(), and tells of each job what became of it; one whose unique key another has is `rejected`
  /// instead of thrown. Jobs without a unique key are stored as by push_many(), those with one each by
  /// itself: all others are stored although one is rejected.
  [[nodiscard]] std::vector<Pushed> push_each(std::string_view queue, std::vector<NewJob> jobs);

  /// As push_many(), but once: nothing is stored where the queue has got the same under this key within 24
  /// hours.
  ///
  /// Key and jobs are one step of the store: after Error{unavailable} the same call again stores them if the
  /// first one has not. At most 1,000 jobs, none of them with a unique key. One without an id gets one that
  /// follows from the key. Error{unsupported}: in a Redis Cluster key and jobs are in different slots.
  [[nodiscard]] PushedOnce push_once(std::string_view queue, std::vector<NewJob> jobs, const OnceKey& once);

  /// Answers the job that waits for `key` in `queue` (Outcome::wait; docs/responses.md).
  ///
  /// `accepted` and `buffered` are durable when it returns, and `accepted` wins over any timeout. A response
  /// is known again by its message id, or, without one, by its body: `duplicate` is handled once. Key and
  /// message id: at most 255 bytes; body: at most 1 MiB. Blocks for the store, and while the queue is
  /// resharded for up to 30 s. Throws Error{invalid_argument} as push() does; Error{unavailable}: it may or
  /// may not be taken; the same message again is taken once.
  Responded respond(std::string_view queue, std::string_view key, std::string_view body,
                    std::string_view message_id = {});

  /// Answers the wait that the token was given for (Batch::expect), which anybody may have sent: `refused`
  /// costs no look at waits, and no answer tells more than this one. Never `buffered`: when the attempt, the
  /// job or its queue is over, it is `late`. All else as above.
  Responded respond(const ResponseToken& token, std::string_view body, std::string_view message_id = {});

  /// Add before the first push.
  void use(ClientMiddleware middleware);

  class Impl;  ///< Ordo's own
  explicit Client(std::shared_ptr<Impl> impl);

 private:
  class Place;
  std::shared_ptr<Impl> impl();

  std::shared_ptr<Place> place_;
};

}  // namespace ordo
