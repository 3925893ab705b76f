#include "runtime/node_facts.h"

#include "domain/archive.h"
#include "domain/option_bounds.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, runtime::NewerShard>& newer) {
  a.number(newer.shard.queue);
  a.number(newer.shard.index);
  a.number(newer.needs);
}

template <class A>
void fields(A& a, In<A, StuckRun>& run) {
  a.long_text(run.queue);
  a.long_text(run.kind);
  a.long_text(run.key);
  a.long_text(run.id);
  a.any_time(run.since);
}

template <class A>
void fields(A& a, In<A, CannotStart>& what) {
  a.long_text(what.queue);
  a.long_text(what.kind);
  a.long_text(what.why);
}

/// Two names, of a queue and something of it.
template <class A>
void fields(A& a, In<A, std::pair<std::string, std::string>>& names) {
  a.long_text(names.first);
  a.long_text(names.second);
}

template <class A>
void fields(A& a, In<A, runtime::Room>& room) {
  a.number(room.threads);
  a.list(room.queues);
}

template <class A>
void fields(A& a, In<A, std::vector<std::string>>& names) {
  a.list(names);
}

template <class A>
void fields(A& a, In<A, runtime::NodeFacts>& facts) {
  std::string dropped;
  a.head(1, dropped, [&](auto& f) {
    f.number(2, facts.level, 1);
    f.each(3, facts.newer);
    f.each(4, facts.throttled);
    f.text(5, facts.schedules);
    f.number(6, facts.answers);
    f.each(7, facts.stuck);
    f.text(8, facts.version);
    f.maybe(9, facts.clock);
    f.maybe(10, facts.paused);
    f.maybe(11, facts.paused_at);
    f.each(12, facts.unable);
    f.text(13, facts.commit_error);
    f.any_time(14, facts.commit_error_since, Time{});
    f.any_time(15, facts.leapt_at, Time{});
    auto leap = facts.leap.count();
    f.number(16, leap);
    if constexpr (A::kReads) facts.leap = Duration{leap};
    f.each(17, facts.sources);
  });
  a.long_text(facts.host);
  a.number(facts.pid);
  a.number(facts.threads);
  a.any_time(facts.started);
  a.flags(facts.stopping, facts.quiet);
  a.list(facts.kinds);
  a.number(facts.session);
  a.list(facts.rooms);
  a.list(facts.groups);
  a.duration(facts.lease);
  if constexpr (A::kReads) {
    if (facts.lease > kMostLease) facts.lease = {};  // no config may state that: it is damaged
  }
}

}  // namespace ordo::domain

namespace ordo::runtime {

std::string encode(const NodeFacts& facts) { return domain::to_bytes(facts); }

domain::Decoded<NodeFacts> decode_node_facts(std::string_view bytes) {
  return domain::decode<NodeFacts>(bytes, "node row");
}

}  // namespace ordo::runtime
