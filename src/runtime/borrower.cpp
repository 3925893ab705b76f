#include "runtime/borrower.h"

#include <algorithm>

#include "domain/error_text.h"
#include "domain/lent.h"

namespace ordo::runtime {
namespace {

constexpr Duration kListed = std::chrono::seconds{10};  // by then a run that was lent is listed
constexpr Duration kTellAgain = std::chrono::milliseconds{100};
constexpr std::size_t kKeptNames = 65'536;
constexpr std::size_t kToldText = 16U << 20;  // of all jobs of a run, that every store takes in one entry

std::vector<Outcome> never_started(const domain::LentRun& run) {
  return std::vector<Outcome>(run.jobs.size(), Outcome::not_started("its borrower did not start it"));
}

// Empty: not all payloads were read.
std::vector<BatchJob> jobs_of(const domain::LentRun& run, const ServedQueue& queue,
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
  if (run.response == 0) return jobs;
  const auto entry = entries.find(run.response);
  if (entry == entries.end() || entry->second.type != domain::EntryType::response) return {};
  auto note = *domain::decode_wait_note(entry->second.payload);
  jobs.front().response = Response{std::move(note.key), std::move(note.body), std::move(note.message_id)};
  return jobs;
}

}  // namespace

void Borrower::look(std::vector<std::pair<domain::ShardId, domain::LentRun>> lent) {
  std::map<domain::LentName, Listed> runs;
  for (auto& [at, run] : lent) {
    auto& listed = runs[run.name];
    listed.emplace(at, std::move(run));
  }
  for (auto& [name, listed] : runs) find(name, std::move(listed));
  for (auto& [name, borrowed] : borrowed_) {
    if (!runs.contains(name)) ++borrowed.looks_without;
  }
  std::erase_if(borrowed_, [&](const auto& entry) {
    const auto& [name, borrowed] = entry;
    if (runs.contains(name) || !is_over(borrowed)) return false;
    if (borrowed.end.empty()) {
      runs_.stop_borrowed(name, StopReason::lease_lost);
      return false;
    }
    forget(name);
    return true;
  });
}

// A store that went back may list it once more.
void Borrower::forget(const domain::LentName& name) {
  if (!over_.insert(name).second) return;
  over_in_turn_.push_back(name);
  if (over_in_turn_.size() <= kKeptNames) return;
  over_.erase(over_in_turn_.front());
  over_in_turn_.pop_front();
}

// What is not listed any more has ended for its owner. One look is no proof: while a queue changes its
// shards, the new ones may be read before they list the run, and the old ones when they are gone. What this
// node lent itself may be listed later only.
bool Borrower::is_over(const Borrowed& borrowed) const {
  const auto has_passed = [&](const std::optional<Duration>& since) {
    return since && scope_.steady() - *since > kListed;
  };
  return (borrowed.seen && borrowed.looks_without > 1) || has_passed(borrowed.told_at) ||
         (!borrowed.seen && has_passed(borrowed.ended_at));
}

// While its queue is resharded a run is listed where it was lent and where it goes, maybe in parts.
void Borrower::find(const domain::LentName& name, Listed listed) {
  const auto [found, is_new] = borrowed_.try_emplace(name);
  auto& borrowed = found->second;
  borrowed.seen = true;
  borrowed.looks_without = 0;
  bool stops = false, shares = false;
  std::map<domain::ShardId, Telling> telling;
  for (const auto& [at, run] : listed) {
    const auto known = borrowed.listed.find(at);
    telling[at] = known == borrowed.listed.end() ? Telling::to_do : known->second;
    stops = stops || run.stop;
    shares = shares || run.shares;
  }
  borrowed.listed = std::move(telling);
  if (!is_new) {
    if (shares) runs_.share(name_of(name));
    if (stops && !std::exchange(borrowed.run.stop, true)) runs_.stop_borrowed(name, StopReason::cancelled);
    return;
  }
  borrowed.run.name = name;
  if (const auto whole = listed.find(name.shard); whole != listed.end()) {
    borrowed.run = std::move(whole->second);
    // What it began again here would start behind what came after it: its owner does what it finds best.
    if (over_.contains(name)) {
      tell(borrowed, std::vector<Outcome>(borrowed.run.jobs.size(), Outcome::put_back()), false);
    } else {
      start(borrowed);
    }
  } else {
    tell(borrowed, {}, false);  // it was carried away before it started
  }
}

void Borrower::start(Borrowed& borrowed) {
  const auto& run = borrowed.run;
  const auto* queue = queues_.find(run.name.shard.queue);
  const auto* code = queue != nullptr ? codes_.find(queue->options.name, run.kind) : nullptr;
  const auto* load = code != nullptr ? &runs_.pools()[queue->pool] : nullptr;
  const auto risk = static_cast<domain::Risk>(run.risk);
  const bool is_ours = runs_.find(name_of(run.name)) != nullptr;  // no shard lends what its owner runs
  const bool fits = load != nullptr && !is_ours && load->runs < load->by_thread.size() &&
                    runs_.marks().may_borrow(risk) && code->limit.admits(code->runs);
  // A run that outlived its lease may have any key.
  if (runs_.is_quiet() || runs_.zombies() > 0 || !scope_.lease.may_start() || !fits || run.going) {
    tell(borrowed,
         run.going ? std::vector<Outcome>(run.jobs.size(), Outcome::put_back()) : never_started(run),
         !run.going);
    return;
  }
  runs_.lend(runs_.enter(name_of(run.name), queue->pool, -1, risk), run.name);
  std::vector<store::Seq> seqs;
  for (const auto& job : run.jobs) {
    for (const auto& [seq, score] : job.pieces) seqs.push_back(seq);
  }
  if (run.response != 0) seqs.push_back(run.response);
  std::sort(seqs.begin(), seqs.end());
  scope_.hooks.fetch(run.name.shard, run.name.token, run.name.no, std::move(seqs));
}

void Borrower::keep(const domain::LentName& name, std::size_t jobs) {
  auto& borrowed = borrowed_[name];
  borrowed.listed[name.shard] = Telling::to_do;
  borrowed.run.name = name;
  borrowed.run.going = true;
  borrowed.run.jobs.resize(jobs);
}

bool Borrower::provide(const Fetched& fetched, domain::RunNo no) {
  const auto found = borrowed_.find({fetched.shard, fetched.epoch, no});
  if (found == borrowed_.end()) return false;
  const auto& [name, borrowed] = *found;
  const auto& run = borrowed.run;
  auto* local = runs_.find(name_of(name));
  if (local == nullptr || local->control) return true;
  const auto* queue = queues_.find(name.shard.queue);
  auto* code = queue != nullptr ? codes_.find(queue->options.name, run.kind) : nullptr;
  auto jobs = code != nullptr ? jobs_of(run, *queue, fetched.chunk) : std::vector<BatchJob>{};
  if (jobs.empty() || runs_.is_quiet() || local->stop != StopReason::none) {
    runs_.leave(name_of(name));
    give_back(name);
    return true;
  }
  runs_.hand_out(*local, *code, run.timeout);
  if (run.stop) local->control->ask_to_stop(StopReason::cancelled);
  runs_.send(*local, {name.shard, name.token, name.no, &queue->options.name, code->worker, run.kind,
                      std::move(jobs), run.timeout, local->control, scope_.waits.get()});
  return true;
}

// ------------------------------------------------------------------------------------------- telling the
// ends

void Borrower::ended(const domain::LentName& name, std::vector<Outcome> outcomes, bool declined) {
  tell(borrowed_.at(name), std::move(outcomes), declined);
}

void Borrower::give_back(const domain::LentName& name) {
  auto& borrowed = borrowed_.at(name);
  tell(borrowed, never_started(borrowed.run), true);
}

void Borrower::tell(Borrowed& borrowed, std::vector<Outcome> outcomes, bool declined) {
  domain::LentEnd end{borrowed.run.name, declined, {}};
  for (auto& outcome : outcomes) {
    const auto limit = std::min(domain::kMaxErrorText, kToldText / outcomes.size());
    outcome.text.resize(domain::cut(outcome.text, limit).size());
    end.ends.push_back({std::move(outcome), scope_.random.unit()});
  }
  const auto bytes = domain::encode(end);
  domain::Entry entry;
  entry.type = domain::EntryType::ended;
  entry.id = scope_.cluster.self;
  entry.payload = bytes;
  borrowed.end = domain::encode(entry);
  borrowed.ended_at = scope_.steady();
}

void Borrower::tell_ends() {
  const auto steady = scope_.steady();
  const bool again = tell_again_at_.count() == 0 || steady >= tell_again_at_;
  untold_ = 0;
  if (again) tell_again_at_ = {};
  for (auto& [name, borrowed] : borrowed_) {
    if (borrowed.end.empty()) continue;
    const bool is_known =
        std::ranges::any_of(borrowed.listed, [](const auto& entry) { return entry.second == Telling::done; });
    for (auto& [at, telling] : borrowed.listed) {
      if (telling == Telling::done) continue;
      const bool was_refused = telling == Telling::refused || telling == Telling::repeated;
      if (!is_known || !was_refused) ++untold_;
      if (telling == Telling::under_way || telling == Telling::repeated || !again) continue;
      telling = was_refused ? Telling::repeated : Telling::under_way;
      scope_.store.append({{at, borrowed.end}},
                          [inbox = scope_.inbox, name = name, at = at](const std::exception_ptr& error) {
                            inbox->post([&](News& news) { news.told.push_back({name, at, text_of(error)}); });
                          });
    }
  }
}

// A closed log takes no end any more; the run is listed elsewhere then, or will be.
void Borrower::told(const EndTold& news) {
  const bool failed = !news.failure.empty();
  if (failed) {
    scope_.failed(appends_, news.failure);
  } else {
    scope_.succeeded(appends_);
  }
  const auto found = borrowed_.find(news.run);
  if (found == borrowed_.end()) return;
  auto& borrowed = found->second;
  if (failed) {
    tell_again_at_ = scope_.steady() + kTellAgain;
  } else {
    borrowed.told_at = scope_.steady();
  }
  const auto there = borrowed.listed.find(news.at);
  if (there != borrowed.listed.end()) there->second = failed ? Telling::refused : Telling::done;
}

Duration Borrower::next_telling() const {
  return tell_again_at_.count() == 0 ? Duration::max() : scope_.until(tell_again_at_);
}

// ---------------------------------------------------------------------------------------- the end of the
// leases

void Borrower::drop_all() {
  const auto is_borrowed = [](const RunName&, const LocalRun& run) { return run.borrowed.has_value(); };
  for (const auto& name : runs_.names(is_borrowed)) {
    auto& borrowed = borrowed_.at(*runs_.find(name)->borrowed);
    borrowed.dropped = true;
    const bool goes_on = runs_.cut(name);
    if (!goes_on) tell(borrowed, std::vector<Outcome>(borrowed.run.jobs.size(), Outcome::put_back()), false);
  }
}

bool Borrower::is_idle() const {
  return std::ranges::all_of(
      borrowed_, [](const auto& entry) { return !entry.second.end.empty() || entry.second.dropped; });
}

}  // namespace ordo::runtime
