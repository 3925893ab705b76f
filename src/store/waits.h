#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/wait_record.h"
#include "store/store.h"

// What jobs wait for, on every store. A verb changes the row of a key by compare-and-set, and appends to the
// log of the job's shard, both in one step. Where they are in different places of a store (a Redis Cluster)
// the two are steps of their own, in an order in which a crash between them loses nothing:
//
// - expect: the `expected` entry, then the row. So the owner of the shard knows of every row that may be
// open.
// - respond: the row, which says that the response is not delivered; the `response` entry; the row again.
//   Whoever comes to a row that is not delivered delivers it first: who sends it again, who waits, who
//   closes. An entry that comes twice is taken once.
// - close: the row alone.
//
// All of them may be repeated. They throw Error{unavailable} when the store gives no answer, or while the
// queue is resharded; Error{invalid_argument}: no such queue, or a key that is none.
namespace ordo::store {

/// The job waits for `key` from now on. False: another job does. Once more with the same wait: its deadline
/// may have come nearer.
bool expect_response(Store& store, const std::string& queue, const std::string& key,
                     const domain::Waiter& waiter);

struct Wanted {
  std::string key;
  domain::Waiter waiter;
};
struct Expectation {
  bool is_ours = false;          ///< as expect_response() answers
  std::exception_ptr failure{};  ///< what it would have thrown
};
/// The same for many of a queue, in about the time of one. Throws nothing of the store's.
std::vector<Expectation> expect_responses(Store& store, const std::string& queue,
                                          std::span<const Wanted> wanted);

/// `bounds`: of what the queue keeps for keys that nobody waits for.
Responded respond(Store& store, const std::string& queue, const std::string& key,
                  const domain::Message& message, Duration response_ttl, const BufferBounds& bounds = {});

/// The same by who knows the wait alone, of the key or of another that has it by now.
Responded respond_to(Store& store, const std::string& queue, const std::string& key, std::string_view wait,
                     const domain::Message& message);

/// No job will handle the response in this entry of a log: it is kept as a dead letter, once. Nothing happens
/// if the entry is gone.
void keep_unused_response(Store& store, const std::string& queue, ShardId shard, Seq entry);

/// True: a response came before, and is in the log. False: none will ever come.
bool close_wait(Store& store, const std::string& queue, const std::string& key, std::string_view wait);

}  // namespace ordo::store
