#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ordo/client.hpp>

#include "client/store_handle.h"
#include "domain/entry.h"
#include "domain/new_job.h"
#include "domain/wait_record.h"

namespace ordo {

store::NewEntry new_entry(const store::QueueDefinition& queue, const domain::Entry& entry);

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<StoreHandle> handle) : handle_(std::move(handle)) {}
  ~Impl();  ///< waits for the pushes that are under way
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<std::string> push(std::string_view queue, std::vector<NewJob> jobs);
  std::vector<std::string> push_async(std::string_view queue, std::vector<NewJob> jobs,
                                      std::function<void(std::exception_ptr)> done);
  std::vector<Pushed> push_each(std::string_view queue, std::vector<NewJob> jobs);
  PushedOnce push_once(std::string_view queue, std::vector<NewJob> jobs, const OnceKey& once);
  Responded respond(std::string_view queue, std::string_view key, std::string_view body,
                    std::string_view message_id);
  Responded respond(const ResponseToken& token, std::string_view body, std::string_view message_id);
  void use(ClientMiddleware middleware) { middlewares_.push_back(std::move(middleware)); }
  StoreHandle& handle() { return *handle_; }
  /// The same client of what has taken the place of its store's files.
  std::shared_ptr<Impl> reopened();

 private:
  /// One call's jobs on their way. They are kept until they are stored: a queue may have got other shards.
  struct Push {
    std::string queue;
    std::vector<NewJob> jobs;  ///< checked and named; without those that are stored
    std::size_t bytes = 0;
    std::function<void(std::exception_ptr)> done{};
    std::uint64_t ticket = 0;         ///< its place among the pushes of this client
    std::uint32_t refused_by = 0;     ///< the number of the queue that took it last, in vain
    std::exception_ptr refusal{};     ///< why
    bool is_partly_stored = false;    ///< which is then said by `refusal`
    std::optional<Duration> since{};  ///< steady; the first time
  };
  using PushPtr = std::shared_ptr<Push>;

  /// Where a queue's pushes go. What was refused goes again before anything that was pushed after it.
  struct Route {
    store::QueueDefinition definition;
    std::size_t under_way = 0;                   ///< in the store
    std::map<std::uint64_t, PushPtr> refused{};  ///< by ticket, with those that came behind them
    bool is_sending = false;                     ///< again
  };

  void find_route(const std::string& queue);
  PushPtr prepare(const std::string& queue, std::vector<NewJob> jobs);
  static std::vector<std::string> ids_of(const Push& push);
  void send(PushPtr push);
  void submit(const PushPtr& push, const store::QueueDefinition& definition);
  void ended(const PushPtr& push, std::uint32_t number, std::exception_ptr error);
  void send_again(const std::stop_token& stop);
  bool look_again(const std::string& queue);
  template <class Result>
  Result through_middlewares(const std::string& queue, std::vector<NewJob> jobs,
                             const std::function<Result(std::vector<NewJob>)>& last);
  void send_and_wait(PushPtr push);
  static std::vector<std::string> ids_of(const std::string& queue, std::vector<Pushed> all);
  std::function<void(std::exception_ptr)> take_room(std::size_t bytes,
                                                    std::function<void(std::exception_ptr)> done);
  Responded respond(const std::string& queue, const std::function<Responded()>& once);

  PushedOnce push_under_key(const std::string& queue, std::vector<NewJob> jobs, const OnceKey& once);

  // Unique keys (unique_push.cpp)
  struct UniqueJob;
  bool has_unique(const std::string& queue, const std::vector<NewJob>& jobs);
  std::vector<Pushed> push_some_unique(const std::string& queue, std::vector<NewJob> jobs);
  std::vector<Pushed> push_unique(const std::string& queue, std::vector<UniqueJob> jobs);
  store::RowStep step_of(const std::string& queue, const store::QueueDefinition& definition,
                         const UniqueJob& job);
  store::QueueDefinition open_route(const std::string& queue, bool was_refused);
  void push_unique_later(PushPtr push);
  void push_unique_ones(const std::stop_token& stop);

  std::shared_ptr<StoreHandle> handle_;
  std::vector<ClientMiddleware> middlewares_;
  std::mutex mutex_;
  std::condition_variable_any room_;
  std::size_t under_way_ = 0;  // bytes
  std::map<std::string, Route, std::less<>> routes_;
  std::uint64_t last_ticket_ = 0;
  bool is_ending_ = false;
  std::condition_variable_any refused_;
  std::jthread again_;  // started with the first refusal
  std::deque<PushPtr> later_;
  std::condition_variable_any later_changed_;
  std::jthread unique_pusher_;  // started with the first of `later_`
};

}  // namespace ordo
