#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "store/group_queue.h"
#include "store/redis/connection.h"
#include "store/redis/eviction.h"
#include "store/redis/slot_map.h"

namespace ordo::store::redis {

/// How long the store waits; tests wait less.
struct Patience {
  Duration answer = std::chrono::seconds{5};    ///< for a server that says nothing
  Duration connect = std::chrono::seconds{5};   ///< before a request fails because no server takes it
  Duration replicas = std::chrono::seconds{1};  ///< for replicas that must confirm
  Duration silence = std::chrono::seconds{1};   ///< of all logs, until they are read again without being told
};

/// Commands on keys of one slot, and who gets the replies. They are one step, or can be repeated: a server
/// that has not its slot does none of them.
struct Request {
  /// One reply per command, none of them an error; or why there are none.
  using Finish = std::function<void(std::vector<Reply>, std::exception_ptr)>;

  const char* task = "";  ///< for messages: "append"
  Slot slot = 0;
  CommandText commands;
  Finish finish;           ///< runs on the pipeline's thread; must not block; none: it is done
  bool in_order = false;   ///< is never done behind a later one of its slot that is in_order, too
  bool takes_odd = false;  ///< a reply that is_wrong_type() is given to it as it is
  bool must_last = false;  ///< fails while the server throws away what it is given

  // The pipeline's own.
  Duration since{};
  std::optional<Address> asked{};  // where it is sent this once, behind ASKING
  unsigned refusals = 0;
  Duration again_at{};
};

/// The one thread of a store that writes: it sends all that has arrived meanwhile in one piece to each
/// server, takes the answers, and connects again when a connection is lost. What was under way there then
/// fails, as nobody knows whether it was done. What no server has taken yet is tried again for a while: it
/// was not sent, or the server said that another has its slot, or that it is not ready. The requests of a
/// slot stay in their order. Thread-safe.
class Pipeline {
 public:
  /// Connects. Throws as Connection does.
  Pipeline(const Location& location, SlotMap& slots, Patience patience);

  /// Finishes what was submitted, without waiting for a server that is gone.
  ~Pipeline();

  void submit(Request request);

  /// The replies. Throws what the request fails with.
  std::vector<Reply> ask(const char* task, Slot slot, CommandText commands);

  /// The same of what must_last.
  std::vector<Reply> store(const char* task, Slot slot, CommandText commands);
  std::map<Slot, std::vector<Reply>> store(const char* task, std::map<Slot, CommandText> commands);

  /// Asks in all these slots at once; the replies by slot.
  std::map<Slot, std::vector<Reply>> ask(const char* task, std::map<Slot, CommandText> commands,
                                         bool takes_odd = false);

  /// The time of the server that has the registry, told by this machine's steady clock since it was last
  /// asked. Never waits.
  Time server_time();

  /// How many keys that may have been Ordo's the servers have evicted, as far as is known.
  std::uint64_t evicted() const;

  /// Of each server that does so, that it throws jobs away, and how many keys it has evicted.
  std::vector<std::string> dangers() const;

  /// True on the thread that runs Request::finish: it must not wait for a request.
  bool is_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  using Group = std::vector<Request>;

  struct Server {
    std::unique_ptr<Connection> connection;
    unsigned failures = 0;    // to connect, in a row
    Duration again_at{};      // not before
    std::string why;          // the last one's text
    std::uint64_t turns = 0;  // SlotMap::turns(), when it was connected to
  };

  /// What one server gets of a group.
  struct Part {
    Address address;
    Connection* connection = nullptr;
    std::vector<Request*> requests;
    std::size_t next = 0;                                       // whose replies have not come
    std::vector<std::pair<Request*, std::vector<Reply>>> held;  // until it is known whether they last
    std::vector<Request*> put_off;                              // as the server was not ready
    bool has_forgotten = false;                                 // its scripts
    bool asks_evicted = false;                                  // how many keys it has evicted
    bool is_stale = false;                                      // it is to be asked anew who it is
  };

  /// Whether what a server has taken lasts.
  struct Lasting {
    std::uint64_t replicas = 0;  // that have confirmed it
    std::string danger;          // why the server may have thrown it away; empty: it has not
  };

  void loop(const std::stop_token& stop);
  bool take_group(const std::stop_token& stop, Group& group);
  void take_refused(Group& group);
  bool may_stay(const Server& server, const Address& address);
  Connection& connection_to(const Address& address);
  Connection& connect(const Address& address, Server& server);
  void take_time(const Reply& reply);

  std::map<Slot, std::vector<Reply>> ask(const Request& kind, std::map<Slot, CommandText> commands);
  void exchange(Group& group);
  std::vector<Part> split(Group& group) const;
  bool send(Part& part);
  std::optional<std::size_t> wait_for_any(const std::vector<Part>& parts) const;
  void receive(Part& part);
  void fail(Part& part, const Error& error);
  void take(Part& part, Request& request, std::vector<Reply> replies);
  bool is_refused(Part& part, Request& request, const Reply& reply);
  void refuse(Request& request, const Error& error);
  void answer(Part& part, Request& request, std::vector<Reply> replies, const Lasting& lasting);
  void keep_back(Part& part);
  bool is_evicted_due(const Part& part) const;
  std::string look_at_eviction(const Address& address, std::string policy,
                               std::optional<std::uint64_t> evicted);
  std::string not_lasting(const char* task, const Address& address, const std::string& why) const;
  static void finish(Request& request, std::vector<Reply> replies, std::exception_ptr error);
  static void finish_overtaken(Part& part, const Request& done);

  const Location location_;
  const Patience patience_;
  SlotMap& slots_;
  const Slot registry_;
  std::mutex time_mutex_;
  Time asked_time_{};       // what the server said …
  Duration asked_since_{};  // … and when

  mutable std::mutex evictions_mutex_;
  std::map<Address, Eviction> evictions_;   // as each server told last; written by the own thread alone
  std::map<Address, Duration> evicted_at_;  // steady: when each server told how many

  std::map<Address, Server> servers_;
  std::deque<Request> refused_;  // what no server took, and what came since and must not overtake it
  bool must_find_servers_ = false;
  std::atomic<bool> is_stopping_ = false;

  GroupQueue<Request> waiting_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ordo::store::redis
