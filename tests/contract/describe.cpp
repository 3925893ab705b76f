#include "contract/describe.h"

#include <sstream>

#include "store/test_log.h"

namespace ordo::store {
namespace {

std::string text_of(ShardId shard) { return std::to_string(shard.queue) + "/" + std::to_string(shard.index); }

std::int64_t micros_of(Time time) { return time.time_since_epoch().count(); }

// Enough to tell bodies apart.
std::string body_text(std::string_view body) {
  std::ostringstream text;
  text << body.size() << "x" << (body.empty() ? 0 : static_cast<int>(static_cast<unsigned char>(body[0])));
  return text.str();
}

}  // namespace

std::string describe(const LogChunk& chunk) {
  std::ostringstream text;
  for (const auto& row : chunk.rows) {
    text << "\n  " << row.seq << " " << text_of(row.shard) << " at " << micros_of(row.at) << " "
         << body_text(chunk.body(row));
  }
  return text.str();
}

std::string describe(const std::vector<ShardFacts>& facts) {
  std::ostringstream text;
  for (const auto& fact : facts) {
    text << "\n  " << text_of(fact.shard) << " " << body_text(fact.counts) << ":";
    for (const auto& state : fact.states) text << " " << state.seq << "=" << body_text(state.bytes);
  }
  return text.str();
}

std::string describe(const QueueDefinition& queue) {
  std::ostringstream text;
  text << queue.number << " " << queue.name << " " << queue.shards << (queue.paused ? " paused" : "");
  return text.str();
}

std::string describe(const std::vector<Grant>& grants) {
  std::ostringstream text;
  for (const auto& grant : grants) {
    text << "\n  " << text_of(grant.shard) << " " << grant.lease.token << " " << grant.lease.holder
         << " batch " << grant.batch << " head " << grant.head << (grant.clean ? " clean" : "")
         << (grant.crashed ? " crashed" : "");
  }
  return text.str();
}

std::string describe(const std::vector<DeadRow>& rows) {
  std::ostringstream text;
  for (const auto& row : rows) {
    text << "\n  " << text_of(row.shard) << " " << row.no << " at " << micros_of(row.at) << " "
         << body_text(row.bytes);
  }
  return text.str();
}

std::string describe_log_and_states(Store& store) {
  std::ostringstream text;
  std::vector<ShardId> shards;
  for (const auto& row : store.shards()) {
    shards.push_back(row.shard);
    text << "\n  " << text_of(row.shard) << " token " << row.token << " batch " << row.batch << " at "
         << row.position << " " << body_text(row.counts) << " dead " << row.dead << " trimmed "
         << row.dead_trimmed;
  }
  const auto queues = store.queues();
  text << "\nversion " << queues.version;
  for (const auto& queue : queues.queues)
    text << "\n " << describe(queue) << describe(store.dead(queue.number, 0, 1000));
  text << "\n" << describe(read_log(store, shards)) << describe(store.load(shards));
  return text.str();
}

std::string describe_all(Store& store) {
  std::ostringstream text;
  for (const auto& row : store.shards()) text << text_of(row.shard) << " of " << row.owner << "\n";
  for (const auto& node : store.nodes()) {
    text << node.id << " " << node.renewals << " " << body_text(node.facts) << (node.gone ? " gone" : "")
         << "\n";
  }
  return text.str() + describe_log_and_states(store);
}

}  // namespace ordo::store
