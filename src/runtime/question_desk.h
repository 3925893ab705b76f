#pragma once

#include <deque>
#include <string>
#include <vector>

#include "domain/job_question.h"
#include "runtime/engine_scope.h"
#include "runtime/shard_host.h"

namespace ordo::runtime {

/// Answers what others ask of this node's jobs: a bounded number of them is looked at in a tick. A shard that
/// would take longer is left out of the answer, as is one that this node does not have, or has not read yet.
class QuestionDesk {
 public:
  QuestionDesk(EngineScope& scope, ShardHost& host) : scope_(scope), host_(host) {}

  /// The logs are read to where they ended when this was asked.
  void take(std::vector<store::Question> questions);
  void tick();
  /// Something is left for the next tick.
  bool is_busy() const { return !open_.empty(); }

  /// Of a question. A walk over so many takes about 2 ms.
  static constexpr std::size_t kMostLooks = 10'000;

 private:
  struct Open {
    std::string id;
    domain::JobQuestion question;
    domain::JobListing listing;
    std::size_t next = 0;  // of its shards
    domain::JobAnswer answer{};

    explicit Open(std::string name, domain::JobQuestion asked)
        : id(std::move(name)), question(std::move(asked)), listing(question.wish) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };
  bool answer_on(Open& open, std::size_t& looks);
  void finish(Open& open);

  EngineScope& scope_;
  ShardHost& host_;
  std::deque<Open> open_;
};

}  // namespace ordo::runtime
