#include "runtime/lender.h"

#include <algorithm>

#include "base/saturate.h"

namespace ordo::runtime {
namespace {

constexpr Duration kLendAfter = std::chrono::milliseconds{100};  // that jobs wait for a thread
constexpr Duration kShareCheck = std::chrono::seconds{1};
constexpr Duration kDeclined = std::chrono::seconds{2};  // so long a node that had no room is not asked

}  // namespace

// Something may wait for a thread, or for code that is not here.
bool Lender::may_lend() const {
  if (host_.is_releasing() || scope_.cluster.members.size() < 2) return false;
  return runs_.is_full() || queues_.has_full() || host_.waits_for_others();
}

void Lender::lend_what_waits() {
  if (!may_lend()) return;
  const auto& cluster = scope_.cluster;
  const auto self = std::ranges::find(cluster.members, cluster.self, &Member::id);
  for (const auto& member : cluster.members) {
    if (member.id == cluster.self || !member.alive) continue;
    // An older node may not know how to read what is lent.
    if (self != cluster.members.end() && member.level < self->level) continue;
    for (const auto& room : member.rooms) {
      const auto asked = declined_at_.find(member.id);
      if (asked != declined_at_.end() && scope_.steady() - asked->second < kDeclined) break;
      for (auto lent = lent_to(member, room); lent < room.threads && lend_one(member, room); ++lent) {
      }
    }
  }
}

std::size_t Lender::lent_to(const Member& member, const Room& room) const {
  std::size_t runs = 0;
  host_.each_lending([&](const OwnedShard& shard) {
    if (std::ranges::find(room.queues, shard.queue->options.name) != room.queues.end())
      runs += shard.machine.lent_to(member.id);
  });
  for (const auto& [name, leaving] : leaving_) runs += leaving.node == member.id;
  return runs;
}

bool Lender::lends_suspect_to(const std::string& node) const {
  using domain::Risk;
  std::size_t suspects = 0;
  host_.each_lending(
      [&](const OwnedShard& shard) { suspects += shard.machine.lent_to(node, Risk::suspect); });
  return suspects > 0 || std::ranges::any_of(leaving_, [&](const auto& entry) {
           return entry.second.node == node && entry.second.risk == Risk::suspect;
         });
}

// What the member has code for, and this node no thread or no code. What is bound to this node waits for its
// thread or turn, if it can be started here.
Lender::Kinds Lender::kinds_to_lend(const OwnedShard& shard, const Member& member, bool is_bound) const {
  const auto& queue = shard.queue->options.name;
  const auto known = member.kinds.find(queue);
  if (known == member.kinds.end()) return {};
  const auto& full_since = runs_.pools()[shard.queue->pool].full_since;
  const bool lacks_threads = !is_bound && full_since && scope_.steady() - *full_since >= kLendAfter;
  auto kinds = known->second;
  std::erase_if(kinds, [&](const std::string& kind) {
    const bool starts_here = !lacks_threads && !runs_.is_quiet() && codes_.can_start(*shard.queue, kind);
    return starts_here || member.unable.contains({queue, kind});
  });
  return kinds;
}

// The job that has waited longest. Suspects run alone, and runs of affinity `shard` on their thread: both are
// lent only if they cannot be started here.
bool Lender::lend_one(const Member& member, const Room& room) {
  const auto only = [](bool suspects, const Kinds& kinds) {
    return domain::Admission{
        .normal = !suspects, .suspects = suspects, .witnesses = !suspects, .kinds = &kinds};
  };
  const bool may_lend_suspect = !lends_suspect_to(member.id);
  OwnedShard* best = nullptr;
  bool best_suspects = false;
  Kinds best_kinds;
  Time oldest{};
  host_.each_waiting([&](OwnedShard& shard) {
    const auto& queue = *shard.queue;
    const bool has_thread = shard.thread >= 0;
    if (!shard.may_start() || (has_thread && shard.machine.running() > 0)) return;
    if (!runs_.pools()[queue.pool].full_since && !shard.waits_for_others && queue.full.empty()) return;
    if (std::ranges::find(room.queues, queue.options.name) == room.queues.end()) return;
    for (const bool suspects : {false, true}) {
      if (suspects && !may_lend_suspect) continue;
      auto kinds = kinds_to_lend(shard, member, has_thread || suspects);
      if (kinds.empty()) continue;
      const auto due = shard.machine.due_since(scope_.now, only(suspects, kinds));
      if (!due || (best != nullptr && *due >= oldest)) continue;
      best = &shard;
      best_suspects = suspects;
      best_kinds = std::move(kinds);
      oldest = *due;
    }
  });
  if (best == nullptr) return false;
  static_cast<void>(host_.owned(best->id));
  domain::Run run;
  const auto taken = best->machine.take(scope_.now, only(best_suspects, best_kinds), run);
  if (taken == domain::Shard::Taken::none) return false;
  if (taken == domain::Shard::Taken::pending) run.no = best->machine.last_run();
  leaving_[{best->id, best->epoch, run.no}] = {member.id, member.session, best->machine.risk_of_run(run.no)};
  if (taken == domain::Shard::Taken::ready) go_on(*best, std::move(run));
  return true;
}

void Lender::go_on(OwnedShard& shard, domain::Run run) {
  const auto found = leaving_.find({shard.id, shard.epoch, run.no});
  const auto& leaving = found->second;
  if (shard.queue->is_paused() || leaving.stop != StopReason::none) {
    shard.machine.recall(run.no, scope_.now);
  } else if (!run.missing.empty()) {
    scope_.hooks.fetch(shard.id, shard.epoch, run.no, std::move(run.missing));
    return;
  } else {
    shard.machine.lend(run.no, leaving.node, leaving.session);
  }
  leaving_.erase(found);
}

void Lender::stop_all(StopReason reason) {
  for (auto& [name, leaving] : leaving_) leaving.stop = reason;
}

void Lender::drop(const std::set<domain::ShardId>& ids) {
  std::erase_if(leaving_, [&](const auto& entry) { return ids.contains(entry.first.shard); });
}

void Lender::note_declined(OwnedShard& shard) {
  for (auto& node : shard.machine.declined()) declined_at_[std::move(node)] = scope_.steady();
}

bool Lender::has_other_for(const ServedQueue& queue) const {
  return std::ranges::any_of(scope_.cluster.members, [&](const Member& member) {
    return member.id != scope_.cluster.self && member.alive && member.kinds.contains(queue.options.name);
  });
}

// When this node stops or serves the queue no more, and nobody is there to take the shard, its runs are
// waited for.
void Lender::keep_runs_of(OwnedShard& shard) {
  if (scope_.steady() - *shard.releasing_since < kLendAfter) return;
  const bool comes_back = !host_.is_releasing() && queues_.serves(shard.queue->options.name);
  if (!comes_back && !has_other_for(*shard.queue)) return;
  const auto may_stay = [&](const RunName& name, const LocalRun& run) {
    return name.shard == shard.id && name.epoch == shard.epoch && run.control && !run.borrowed &&
           run.risk != domain::Risk::suspect;
  };
  for (const auto& name : runs_.names(may_stay)) {
    const auto jobs = *shard.machine.jobs_of(name.no);
    shard.machine.lend(name.no, scope_.cluster.self, scope_.cluster.session, /*going=*/true);
    const domain::LentName lent{shard.id, shard.lease.token, name.no};
    runs_.lend(*runs_.find(name), lent);
    borrower_.keep(lent, jobs);
  }
}

// ------------------------------------------------------------------------------------------------- taking
// back

domain::Borrower Lender::look_at(const std::string& node, std::uint64_t session) const {
  const auto& cluster = scope_.cluster;
  const auto of = [&](std::uint64_t now) {
    return now == session ? domain::Borrower::alive : domain::Borrower::lapsed;
  };
  if (node == cluster.self) return of(cluster.session);
  const auto member = std::ranges::find(cluster.members, node, &Member::id);
  if (member == cluster.members.end() || !member->alive) return domain::Borrower::dead;
  return member->is_unknown ? domain::Borrower::alive : of(member->session);
}

// A borrower tells the ends of its runs before it leaves. Only when the log was read to where it ended at a
// look that showed it gone, what is still listed has not ended.
void Lender::take_back() {
  auto before = std::exchange(over_since_, {});
  bool waits = false;
  const auto look = [&](const std::string& node, std::uint64_t session) {
    const auto borrower = look_at(node, session);
    if (borrower == domain::Borrower::alive) return borrower;
    const auto known = before.find({node, session});
    const auto since = known == before.end() ? scope_.cluster.look : known->second;
    over_since_[{node, session}] = since;
    if (since <= read_look_) return borrower;
    waits = waits || known == before.end();
    return domain::Borrower::alive;
  };
  host_.each_lending([&](OwnedShard& shard) {
    // What a newer node is needed for may be the end of such a run.
    if (shard.ready && shard.needs == 0) host_.owned(shard.id)->machine.take_back(look, scope_.now);
  });
  if (waits && scope_.hooks.read_on) scope_.hooks.read_on();
}

void Lender::share_suspects() {
  const auto steady = scope_.steady();
  if (steady < next_share_) return;
  next_share_ = steady + kShareCheck;
  host_.each_lending([&](OwnedShard& shard) {
    if (!shard.ready) return;
    for (const auto no : shard.machine.lent_alone_since(saturating_sub(scope_.now, domain::kAloneAtMost)))
      host_.owned(shard.id)->machine.share(no);
  });
}

void Lender::all_read(const AllRead& read) {
  read_look_ = read.look;
  if (!over_since_.empty()) take_back();
}

Duration Lender::next_lending() const {
  Duration wait = Duration::max();
  const auto until = [&](Duration since) {
    const auto left = since + kLendAfter - scope_.steady();
    if (left > Duration{0}) wait = std::min(wait, left);
  };
  for (const auto& [id, shard] : host_.awake()) {
    if (shard->releasing_since) until(*shard->releasing_since);
  }
  if (scope_.cluster.members.size() < 2) return wait;
  for (const auto& load : runs_.pools()) {
    if (load.full_since) until(*load.full_since);
  }
  return wait;
}

}  // namespace ordo::runtime
