// Runs that are executed by another node than the one that owns their shard (stores: lent runs). The owner
// lists them with the shard; the borrower finds itself in the list, and tells the end through the log.
#include <algorithm>

#include "base/assert.h"
#include "domain/error_text.h"
#include "runtime/engine.h"

namespace ordo::runtime {
namespace {

constexpr Duration kLendAfter = std::chrono::milliseconds{100};  // that jobs wait for a thread
constexpr Duration kDeclined = std::chrono::seconds{2};  // so long a node that had no room is not asked
constexpr Duration kListed = std::chrono::seconds{10};   // by then a run that was lent is listed
constexpr Duration kTellAgain = std::chrono::milliseconds{100};
constexpr std::size_t kToldText = 16U << 20;  // of all jobs of a run, that every store takes in one entry

}  // namespace

void Engine::meet(Neighbours news) {
  if (news.losses != lease_.losses()) return;  // seen before the leases lapsed
  neighbours_ = std::move(news);
  for (const auto& [id, dead] : neighbours_.dead) static_cast<void>(owned(id));
  take_back();
  look_at_borrowed();
}

domain::Borrower Engine::look_at(const std::string& node, std::uint64_t session) const {
  using domain::Borrower;
  const auto of = [&](std::uint64_t now) { return now == session ? Borrower::alive : Borrower::lapsed; };
  if (node == neighbours_.self) return of(neighbours_.session);
  const auto member = std::ranges::find(neighbours_.members, node, &Member::id);
  if (member == neighbours_.members.end() || !member->alive) return Borrower::dead;
  return member->is_unknown ? Borrower::alive : of(member->session);
}

// A borrower tells the ends of its runs before it leaves. Only when the log was read to where it ended at a
// look that showed it gone, what is still listed has not ended.
void Engine::take_back() {
  auto before = std::exchange(over_since_, {});
  bool waits = false;
  const auto look = [&](const std::string& node, std::uint64_t session) {
    const auto borrower = look_at(node, session);
    if (borrower == domain::Borrower::alive) return borrower;
    const auto known = before.find({node, session});
    const auto since = known == before.end() ? neighbours_.look : known->second;
    over_since_[{node, session}] = since;
    if (since <= read_look_) return borrower;
    waits = waits || known == before.end();
    return domain::Borrower::alive;
  };
  for (auto& [id, shard] : awake_) {
    // What a newer node is needed for may be the end of such a run.
    if (shard->ready && shard->needs == 0) shard->machine.take_back(look, now_);
  }
  if (waits && hooks_.read_on) hooks_.read_on();
}

// A group starts nothing while a shard of it is elsewhere: its limits and locks are decided in one place.
void Engine::gather() {
  for (auto& [id, shard] : awake_) shard->ungathered = clock_.steady() < shard->starts_at;
  for (const auto& group : neighbours_.groups) {
    const bool all = std::ranges::all_of(group, [&](domain::ShardId id) {
      const auto* shard = find(id);
      return shard != nullptr && shard->ready && !shard->releasing_since;
    });
    for (const auto id : group) {
      const auto shard = shards_.find(id);
      if (shard != shards_.end()) shard->second->ungathered = shard->second->ungathered || !all;
    }
  }
}

// ------------------------------------------------------------------------------------------------- the owner

// Something may wait for a thread, or for code that is not here.
bool Engine::may_lend() const {
  if (releasing_ || neighbours_.members.size() < 2) return false;
  return std::ranges::any_of(pools_, [](const PoolLoad& load) { return load.full_since.has_value(); }) ||
         std::ranges::any_of(queues_, [](const auto& entry) { return !entry.second->full.empty(); }) ||
         std::ranges::any_of(awake_, [](const auto& entry) { return entry.second->waits_for_others; });
}

// Jobs that find no thread here, or no code, run where there is room.
void Engine::lend_what_waits() {
  if (!may_lend()) return;
  const auto self = std::ranges::find(neighbours_.members, neighbours_.self, &Member::id);
  for (const auto& member : neighbours_.members) {
    if (member.id == neighbours_.self || !member.alive) continue;
    // An older node may not know how to read what is lent.
    if (self != neighbours_.members.end() && member.level < self->level) continue;
    for (const auto& room : member.rooms) {
      const auto asked = declined_at_.find(member.id);
      if (asked != declined_at_.end() && clock_.steady() - asked->second < kDeclined) break;
      for (auto lent = lent_to(member, room); lent < room.threads && lend_one(member, room); ++lent) {
      }
    }
  }
}

std::size_t Engine::lent_to(const Member& member, const Room& room) const {
  std::size_t runs = 0;
  for (const auto& [id, shard] : awake_) {
    if (std::ranges::find(room.queues, shard->queue->options.name) != room.queues.end())
      runs += shard->machine.lent_to(member.id);
  }
  for (const auto& [key, out] : outstanding_) runs += out.lend_to == member.id;
  return runs;
}

bool Engine::lends_suspect_to(const std::string& node) const {
  using domain::Risk;
  return std::ranges::any_of(
             awake_,
             [&](const auto& entry) { return entry.second->machine.lent_to(node, Risk::suspect) > 0; }) ||
         std::ranges::any_of(outstanding_, [&](const auto& entry) {
           return entry.second.lend_to == node && entry.second.risk == Risk::suspect;
         });
}

bool Engine::can_start(const ServedQueue& queue, const std::string& kind) const {
  return !quiet_ && codes_.contains({queue.options.name, kind}) && !queue.full.contains(kind);
}

// What the member has code for, and this node no thread or no code. What is bound to this node waits for its
// thread or turn, if it can be started here.
std::set<std::string, std::less<>> Engine::kinds_to_lend(const OwnedShard& shard, const Member& member,
                                                         bool is_bound) const {
  const auto& queue = shard.queue->options.name;
  const auto known = member.kinds.find(queue);
  if (known == member.kinds.end()) return {};
  const auto& full_since = pools_[shard.queue->pool].full_since;
  const bool lacks_threads = !is_bound && full_since && clock_.steady() - *full_since >= kLendAfter;
  auto kinds = known->second;
  std::erase_if(kinds, [&](const std::string& kind) {
    const bool starts_here = !lacks_threads && can_start(*shard.queue, kind);
    return starts_here || member.unable.contains({queue, kind});
  });
  return kinds;
}

// The job that has waited longest. Suspects run alone, and runs of affinity `shard` on their thread: both are
// lent only if they cannot be started here.
bool Engine::lend_one(const Member& member, const Room& room) {
  using Kinds = std::set<std::string, std::less<>>;
  const auto only = [](bool suspects, const Kinds& kinds) {
    return domain::Admission{
        .normal = !suspects, .suspects = suspects, .witnesses = !suspects, .kinds = &kinds};
  };
  const bool may_lend_suspect = !lends_suspect_to(member.id);
  OwnedShard* best = nullptr;
  bool best_suspects = false;
  Kinds best_kinds;
  Time oldest{};
  for (auto& [id, shard] : awake_) {
    const auto& queue = *shard->queue;
    const bool has_thread = shard->thread >= 0;
    if (!shard->may_start() || (has_thread && shard->machine.running() > 0)) continue;
    if (!pools_[queue.pool].full_since && !shard->waits_for_others && queue.full.empty()) continue;
    if (std::ranges::find(room.queues, queue.options.name) == room.queues.end()) continue;
    for (const bool suspects : {false, true}) {
      if (suspects && !may_lend_suspect) continue;
      auto kinds = kinds_to_lend(*shard, member, has_thread || suspects);
      if (kinds.empty()) continue;
      const auto due = shard->machine.oldest_due(now_, only(suspects, kinds));
      if (!due || (best != nullptr && *due >= oldest)) continue;
      best = shard;
      best_suspects = suspects;
      best_kinds = std::move(kinds);
      oldest = *due;
    }
  }
  if (best == nullptr) return false;
  domain::Run run;
  const auto taken = best->machine.take(now_, only(best_suspects, best_kinds), run);
  if (taken == domain::Shard::Taken::none) return false;
  if (taken == domain::Shard::Taken::pending) run.no = best->machine.last_run();
  auto& out = outstanding_[{best->id, best->epoch, run.no}];
  out.risk = best->machine.risk_of_run(run.no);
  out.lend_to = member.id;
  out.session = member.session;
  if (taken == domain::Shard::Taken::ready) launch(*best, std::move(run));
  return true;
}

bool Engine::has_other_for(const ServedQueue& queue) const {
  return std::ranges::any_of(neighbours_.members, [&](const Member& member) {
    return member.id != neighbours_.self && member.alive && member.kinds.contains(queue.options.name);
  });
}

// The shard goes to another owner, and its runs go on here as lent to this node: nobody waits for them. When
// this node stops, and nobody is there to take it, they are waited for.
void Engine::keep_runs_of(OwnedShard& shard) {
  if (clock_.steady() - *shard.releasing_since < kLendAfter) return;
  if (releasing_ && !has_other_for(*shard.queue)) return;
  for (auto& [key, out] : outstanding_) {
    const auto& [id, epoch, no] = key;
    if (id != shard.id || epoch != shard.epoch || !out.control || out.zombie || out.borrowed) continue;
    if (out.risk == domain::Risk::suspect) continue;
    const auto jobs = *shard.machine.jobs_of(no);
    shard.machine.lend(no, neighbours_.self, neighbours_.session, /*going=*/true);
    out.borrowed = domain::LentName{shard.id, shard.lease.token, no};
    ++pools_[out.pool].borrowed;
    auto& borrowed = borrowed_[*out.borrowed];
    borrowed.listed[shard.id] = Telling::to_do;
    borrowed.run.name = *out.borrowed;
    borrowed.run.going = true;
    borrowed.run.jobs.resize(jobs);
  }
}

// ---------------------------------------------------------------------------------------------- the borrower

void Engine::look_at_borrowed() {
  std::map<domain::LentName, Listed> runs;
  for (auto& [at, run] : std::exchange(neighbours_.borrowed, {})) {
    auto& listed = runs[run.name];
    listed.emplace(at, std::move(run));
  }
  for (auto& [name, listed] : runs) find_borrowed(name, std::move(listed));
  for (auto& [name, borrowed] : borrowed_) {
    if (!runs.contains(name)) ++borrowed.looks_without;
  }
  // What is not listed any more has ended for its owner. One look is no proof: while a queue changes its
  // shards, the new ones may be read before they list the run, and the old ones when they are gone.
  std::erase_if(borrowed_, [&](const auto& entry) {
    const auto& [name, borrowed] = entry;
    if (runs.contains(name)) return false;
    // What this node lent itself may be listed later only.
    const auto has_passed = [&](const std::optional<Duration>& since) {
      return since && clock_.steady() - *since > kListed;
    };
    const bool over = (borrowed.seen && borrowed.looks_without > 1) || has_passed(borrowed.told_at) ||
                      (!borrowed.seen && has_passed(borrowed.ended_at));
    if (over && borrowed.end.empty()) stop_borrowed(name, StopReason::lease_lost);
    return over && !borrowed.end.empty();
  });
}

// While its queue is resharded a run is listed where it was lent and where it goes, maybe in parts.
void Engine::find_borrowed(const domain::LentName& name, Listed listed) {
  const auto [found, is_new] = borrowed_.try_emplace(name);
  auto& borrowed = found->second;
  borrowed.seen = true;
  borrowed.looks_without = 0;
  bool stops = false;
  std::map<domain::ShardId, Telling> telling;
  for (const auto& [at, run] : listed) {
    const auto known = borrowed.listed.find(at);
    telling[at] = known == borrowed.listed.end() ? Telling::to_do : known->second;
    stops = stops || run.stop;
  }
  borrowed.listed = std::move(telling);
  if (!is_new) {
    if (stops && !std::exchange(borrowed.run.stop, true)) stop_borrowed(name, StopReason::cancelled);
    return;
  }
  borrowed.run.name = name;
  if (const auto whole = listed.find(name.shard); whole != listed.end()) {
    borrowed.run = std::move(whole->second);
    start_borrowed(borrowed);
  } else {
    tell_end(borrowed, {});  // it was carried away before it started
  }
}

std::vector<Outcome> Engine::never_started(const domain::LentRun& run) {
  return std::vector<Outcome>(run.jobs.size(), Outcome::not_started("its borrower did not start it"));
}

void Engine::start_borrowed(Borrowed& borrowed) {
  const auto& run = borrowed.run;
  const auto* queue = served_queue(run.name.shard.queue);
  const auto* code = queue != nullptr ? code_of(queue->options.name, run.kind) : nullptr;
  const auto* load = code != nullptr ? &pools_[queue->pool] : nullptr;
  using domain::Risk;
  const auto risk = static_cast<Risk>(run.risk);
  const bool waits = risk == Risk::suspect ? witnesses_ > 0 || turn_ == Risk::witness
                                           : risk == Risk::witness && turn_ == Risk::suspect;
  const bool fits = load != nullptr && load->runs < load->by_thread.size() && suspects_ == 0 && !waits &&
                    code->limit.admits(code->runs);
  // A run that outlived its lease may have any key.
  if (quiet_ || zombies_ > 0 || !lease_.may_start() || !fits || run.going) {
    tell_end(borrowed,
             run.going ? std::vector<Outcome>(run.jobs.size(), Outcome::put_back()) : never_started(run),
             !run.going);
    return;
  }
  auto& out = outstanding_[{run.name.shard, run.name.token, run.name.no}];
  out.pool = queue->pool;
  out.risk = risk;
  out.borrowed = run.name;
  ++pools_[out.pool].runs;
  ++pools_[out.pool].borrowed;
  note_marked(risk);
  std::vector<store::Seq> seqs;
  for (const auto& job : run.jobs) {
    for (const auto& [seq, score] : job.pieces) seqs.push_back(seq);
  }
  std::sort(seqs.begin(), seqs.end());
  hooks_.fetch(run.name.shard, run.name.token, run.name.no, std::move(seqs));
}

// False: the payloads are for a run of a shard of this node.
bool Engine::provide_borrowed(const Fetched& fetched, domain::RunNo no) {
  const auto found = borrowed_.find({fetched.shard, fetched.epoch, no});
  if (found == borrowed_.end()) return false;
  const auto& [name, borrowed] = *found;
  const auto& run = borrowed.run;
  const auto out = outstanding_.find({name.shard, name.token, name.no});
  if (out == outstanding_.end() || out->second.control) return true;
  const auto* queue = served_queue(name.shard.queue);
  auto jobs = queue != nullptr ? jobs_of(run, *queue, fetched.chunk) : std::vector<BatchJob>{};
  if (jobs.empty() || out->second.stop != StopReason::none) {
    finish({name.shard, name.token, name.no, never_started(run)});
    return true;
  }
  auto& code = codes_.at({queue->options.name, run.kind});
  hand_out(out->second, code);
  out->second.timeout = run.timeout;
  next_timeout_check_ = Duration{};
  if (run.stop) out->second.control->ask_to_stop(StopReason::cancelled);
  pools_[out->second.pool].batch.push_back({name.shard, name.token, name.no, &queue->options.name,
                                            code.worker, run.kind, std::move(jobs), run.timeout,
                                            out->second.control});
  return true;
}

// Empty: not all payloads were read.
std::vector<BatchJob> Engine::jobs_of(const domain::LentRun& run, const ServedQueue& queue,
                                      const store::LogChunk& chunk) {
  std::map<store::Seq, domain::Entry> entries;
  for (const auto& row : chunk.rows) {
    if (const auto entry = domain::decode_entry(chunk.body(row))) entries.emplace(row.seq, *entry);
  }
  const auto choice = options_of(queue.options, run.kind).payloads;
  std::vector<BatchJob> jobs;
  for (const auto& listed : run.jobs) {
    auto& job = jobs.emplace_back();
    job.retry_count = listed.retry_count;
    job.fence = run.fence;
    for (const auto& [seq, score] : domain::delivered(std::span(listed.pieces), choice)) {
      const auto entry = entries.find(seq);
      if (entry == entries.end()) return {};
      job.id = entry->second.id;
      job.key = entry->second.key;
      job.payloads.push_back({std::string(entry->second.payload), score});
    }
  }
  return jobs;
}

void Engine::stop_borrowed(const domain::LentName& name, StopReason reason) {
  for (auto& [key, out] : outstanding_) {
    if (out.borrowed == name && out.control) out.control->ask_to_stop(reason);
  }
}

void Engine::tell_end(Borrowed& borrowed, std::vector<Outcome> outcomes, bool declined) {
  domain::LentEnd end{borrowed.run.name, declined, {}};
  for (auto& outcome : outcomes) {
    const auto limit = std::min(domain::kMaxErrorText, kToldText / outcomes.size());
    outcome.text.resize(domain::cut(outcome.text, limit).size());
    end.ends.push_back({std::move(outcome), random_.unit()});
  }
  const auto bytes = domain::encode(end);
  domain::Entry entry;
  entry.type = domain::EntryType::ended;
  entry.id = neighbours_.self;
  entry.payload = bytes;
  borrowed.end = domain::encode(entry);
  borrowed.ended_at = clock_.steady();
}

void Engine::tell_ends() {
  const auto steady = clock_.steady();
  const bool again = tell_again_at_.count() == 0 || steady >= tell_again_at_;
  untold_ = 0;
  if (again) tell_again_at_ = {};
  for (auto& [name, borrowed] : borrowed_) {
    if (borrowed.end.empty()) continue;
    for (auto& [at, telling] : borrowed.listed) {
      if (telling == Telling::done) continue;
      ++untold_;
      if (telling == Telling::under_way || !again) continue;
      telling = Telling::under_way;
      store_.append({{at, borrowed.end}},
                    [inbox = inbox_, name = name, at = at](const std::exception_ptr& error) {
                      inbox->post([&](News& news) { news.told.push_back({name, at, text_of(error)}); });
                    });
    }
  }
}

// A closed log takes no end any more; the run is listed elsewhere then, or will be.
void Engine::told(const EndTold& news) {
  const bool failed = !news.failure.empty();
  if (failed) {
    note_failure(appends_, news.failure);
  } else {
    note_success(appends_);
  }
  const auto found = borrowed_.find(news.run);
  if (found == borrowed_.end()) return;
  auto& borrowed = found->second;
  if (failed) {
    tell_again_at_ = clock_.steady() + kTellAgain;
  } else {
    borrowed.told_at = clock_.steady();
  }
  const auto there = borrowed.listed.find(news.at);
  if (there != borrowed.listed.end()) there->second = failed ? Telling::to_do : Telling::done;
}

// The leases have lapsed: the runs are stopped, and their owners take them back, if they have not heard of
// their ends.
void Engine::drop_borrowed() {
  for (auto& [key, out] : outstanding_) {
    if (!out.borrowed || out.zombie) continue;
    out.zombie = true;
    auto& borrowed = borrowed_.at(*out.borrowed);
    borrowed.dropped = true;
    if (out.control) {
      out.control->ask_to_stop(StopReason::lease_lost);
      ++zombies_;
      continue;
    }
    // It was never handed out.
    leave_pool(out);
    tell_end(borrowed, std::vector<Outcome>(borrowed.run.jobs.size(), Outcome::put_back()));
  }
  std::erase_if(outstanding_,
                [](const auto& entry) { return entry.second.borrowed && !entry.second.control; });
}

// --------------------------------------------------------------------------------------- what the sides
// share

void Engine::look_at_rooms() {
  const bool closed = quiet_ || releasing_ || suspects_ > 0 || zombies_ > 0;
  const std::lock_guard lock(shared_);
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const auto& load = pools_[pool];
    const auto own = load.runs - load.borrowed;
    const auto threads = load.by_thread.size();
    rooms_[pool].threads = closed || own >= threads ? 0 : static_cast<std::uint32_t>(threads - own);
  }
}

std::vector<Room> Engine::rooms() {
  const std::lock_guard lock(shared_);
  return rooms_;
}

// When a job has waited long enough for a thread, or a shard for its runs.
Duration Engine::next_lending() const {
  Duration wait = Duration::max();
  const auto until = [&](Duration since) {
    const auto left = since + kLendAfter - clock_.steady();
    if (left > Duration{0}) wait = std::min(wait, left);
  };
  for (const auto& [id, shard] : awake_) {
    if (shard->releasing_since) until(*shard->releasing_since);
  }
  if (neighbours_.members.size() < 2) return wait;
  for (const auto& load : pools_) {
    if (load.full_since) until(*load.full_since);
  }
  return wait;
}

}  // namespace ordo::runtime
