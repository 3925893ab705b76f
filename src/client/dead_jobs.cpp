// The dead: grouped by job, brought back, deleted.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/fnv.h"
#include "base/push_option.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "client/page_sizes.h"
#include "client/several_jobs.h"
#include "domain/records.h"
#include "domain/unique.h"
#include "store/limits.h"

namespace ordo {
namespace {

constexpr std::size_t kDeadBytes = 32U << 20;  // of rows that are kept while the dead are grouped
constexpr std::size_t kSmallPage = 1U << 20;
constexpr std::size_t kSmallDeadPerPage = 500;
constexpr std::size_t kMostDeadChanged = 500;

/// One that cannot be read is listed with its bytes, and left where it is.
domain::DeadPayload payload_of(const store::DeadRow& row) {
  auto read = domain::decode_dead(row.bytes);
  if (read) return *std::move(read);
  auto dead = domain::dead_entry(0, row.bytes, read.why());
  dead.id = dead.key = "dead-" + std::to_string(row.no);
  dead.is_entry = false;
  return dead;
}

/// Kind, key and id, so that no two jobs have the same.
std::string names_of(const domain::DeadPayload& dead) {
  std::string names;
  for (const auto& name : {dead.kind, dead.key}) names += std::to_string(name.size()) + ':' + name;
  return names + dead.id;
}

/// A filter as each row is held to it.
class DeadChoice {
 public:
  explicit DeadChoice(const DeadFilter& filter) : filter_(filter) {
    if (filter.ids) ids_.insert(filter.ids->begin(), filter.ids->end());
  }

  bool admits(const store::DeadRow& row, const domain::DeadPayload& dead) const {
    return (!filter_.ids || ids_.contains(dead.id)) && (filter_.kind.empty() || filter_.kind == dead.kind) &&
           (filter_.key.empty() || filter_.key == dead.key) &&
           (!filter_.error_kind || *filter_.error_kind == dead.error_kind) &&
           (!filter_.retry_count || *filter_.retry_count == dead.retry_count) &&
           (!filter_.since || row.at >= *filter_.since) && (!filter_.until || row.at < *filter_.until) &&
           dead.error.find(filter_.error) != std::string::npos;
  }

 private:
  const DeadFilter& filter_;
  std::set<std::string> ids_;
};

}  // namespace

std::string Admin::Impl::dead_jobs(std::string_view name, const DeadFilter& filter, const Listing& listing,
                                   const std::function<bool(JobView)>& visit) {
  const auto queue = handle_->existing_queue(name);
  const ListOrder order(listing, nullptr, Time{}, queue ? queue->number : 0);  // refuses what is no cursor
  if (!queue) return {};
  std::optional<JobView> job;
  ListPlace place;  // of the job
  std::string shown;
  const auto tell = [&] {
    if (!visit(*std::exchange(job, {}))) return false;
    shown = order.cursor(place);
    return true;
  };
  bool goes_on = true;
  dead(*queue, filter, listing, order, [&](const DeadView& row, const ListPlace& its_place) {
    if (job && place != its_place) goes_on = tell();
    if (!goes_on) return false;
    if (!job) {
      place = its_place;
      job.emplace();
      job->queue = name;
      job->kind = row.kind;
      job->key = row.key;
      job->id = row.id;
      job->state = JobStatus::dead;
    }
    job->payloads.push_back(row.payload);
    job->run_at = row.died_at;
    job->retry_count = row.retry_count;
    job->crashes = row.crashes;
    job->error = row.error;
    job->error_kind = row.error_kind;
    copy_options(row, *job);
    return true;
  });
  if (job && goes_on) tell();
  return shown;
}

void Admin::Impl::each_dead(
    const store::QueueDefinition& queue, const DeadFilter& filter,
    const std::function<bool(const store::DeadRow&, const domain::DeadPayload&)>& visit) {
  const DeadChoice choice(filter);
  std::uint64_t after = 0;
  std::size_t page = kDeadPerPage;
  while (true) {
    const auto rows = handle_->store().dead(queue.number, after, page);
    std::size_t bytes = 0;
    for (const auto& row : rows) {
      after = row.no;
      bytes += row.bytes.size();
      const auto payload = payload_of(row);
      if (!choice.admits(row, payload)) continue;
      if (!visit(row, payload)) return;
    }
    if (rows.size() < page) return;
    page = bytes < kSmallPage ? kSmallDeadPerPage : kDeadPerPage;
  }
}

void Admin::Impl::dead(std::string_view name, const DeadFilter& filter, const Listing& listing,
                       const std::function<bool(const DeadView&, const ListPlace&)>& visit) {
  const auto queue = handle_->existing_queue(name);
  if (queue) dead(*queue, filter, listing, {listing, nullptr, Time{}, queue->number}, visit);
}

// Grouped: one look at all rows tells which belong together. Those beyond a budget are read again when it is
// their turn.
void Admin::Impl::dead(const store::QueueDefinition& queue, const DeadFilter& filter, const Listing& listing,
                       const ListOrder& order,
                       const std::function<bool(const DeadView&, const ListPlace&)>& visit) {
  struct Row {
    std::uint64_t no = 0;
    std::unique_ptr<DeadView> view;
  };
  const auto view_of_row = [](const store::DeadRow& row, const domain::DeadPayload& dead) {
    DeadView view{row.no, dead.kind,        dead.key,     dead.id,         {dead.payload, dead.score},
                  row.at, dead.retry_count, dead.crashes, dead.error_kind, dead.error};
    copy_options(dead.options, view);
    return view;
  };
  std::vector<std::vector<Row>> jobs;
  std::vector<ListPlace> sorted;                        // if not by what their rows say
  std::unordered_map<std::string, std::size_t> places;  // by the job's names
  std::size_t kept = 0;
  each_dead(queue, filter, [&](const auto& row, const auto& payload) {
    const auto [place, is_new] = places.try_emplace(names_of(payload), jobs.size());
    if (is_new) jobs.emplace_back();
    if (listing.sort != JobSort::start) {
      sorted.resize(jobs.size());
      const auto first = is_new ? row.no : jobs[place->second].front().no;
      sorted[place->second] = order.place_of_dead(payload.id, row.at, payload.retry_count, first);
    }
    auto& added = jobs[place->second].emplace_back(Row{row.no, {}});
    kept += sizeof(DeadView) + row.bytes.size();
    if (kept <= kDeadBytes) added.view = std::make_unique<DeadView>(view_of_row(row, payload));
    return true;
  });
  check_not_moved(queue, "dead");
  places.clear();
  const auto place_of = [&](std::uint32_t job) {
    return sorted.empty() ? order.place_of_dead({}, {}, 0, jobs[job].front().no) : sorted[job];
  };
  std::vector<std::uint32_t> turns(jobs.size());
  std::iota(turns.begin(), turns.end(), 0U);
  if (!order.is_of_starts()) {
    std::ranges::sort(turns, [&](auto a, auto b) { return order.before(place_of(a), place_of(b)); });
  }
  std::map<std::uint64_t, DeadView> page;  // rows that were read together: mostly they follow each other
  std::uint64_t last = 0;
  const auto read_again = [&](std::uint64_t no) -> const DeadView* {
    if (!page.contains(no)) {
      page.clear();
      const bool is_near = no > last && no - last <= kDeadPerPage;
      for (const auto& row : handle_->store().dead(queue.number, no - 1, is_near ? kDeadPerPage : 1)) {
        page.emplace(row.no, view_of_row(row, payload_of(row)));
      }
    }
    last = no;
    const auto found = page.find(no);
    return found == page.end() ? nullptr : &found->second;  // none: it has been brought back meanwhile
  };
  for (const auto turn : turns) {
    const auto place = place_of(turn);
    if (!order.shows(place)) continue;
    for (auto& row : jobs[turn]) {
      const DeadView* view = row.view ? row.view.get() : read_again(row.no);
      if (view == nullptr) check_not_moved(queue, "dead");
      if (view != nullptr && !visit(*view, place)) return;
      row.view.reset();
    }
  }
}

// Of their names 64 bits each: two jobs that are taken for one are rarer than a count that is old.
DeadCount Admin::Impl::count_dead(std::string_view name, const DeadFilter& filter) {
  DeadCount count;
  const auto queue = handle_->existing_queue(name);
  if (!queue) return count;
  std::vector<std::uint64_t> jobs;
  each_dead(*queue, filter, [&](const auto& row, const auto& dead) {
    jobs.push_back(fnv1a(names_of(dead)));
    count.until = std::max(count.until, time_after(row.at, Duration{1}));
    return true;
  });
  check_not_moved(*queue, "dead");
  count.payloads = jobs.size();
  std::ranges::sort(jobs);
  count.jobs = static_cast<std::uint64_t>(std::ranges::unique(jobs).begin() - jobs.begin());
  return count;
}

std::size_t Admin::Impl::change_dead(std::string_view name, const DeadFilter& filter, bool revive,
                                     const Skipped& skipped) {
  std::size_t changed = 0;
  const auto known = handle_->existing_queue(name);
  if (!known) return changed;
  if (filter.ids) {
    std::map<std::string, KindsAndKeys> found;
    each_dead(*known, filter, [&](const store::DeadRow&, const domain::DeadPayload& dead) {
      found[dead.id].emplace(dead.kind, dead.key);
      return true;
    });
    for (const auto& [id, jobs] : found) {
      if (jobs.size() > 1) throw several_jobs(revive ? "dead retry" : "dead delete", name, id, jobs);
    }
  }
  handle_->until_done(name, [&](const store::QueueDefinition& queue) {
    change_dead(queue, filter, revive, skipped, changed);
    return false;
  });
  return changed;
}

/// Dead payloads of one job with a unique key. They come back together: they are no conflict to each other.
struct Admin::Impl::UniqueDead {
  std::vector<std::uint64_t> nos;
  std::vector<domain::DeadPayload> payloads;
  std::optional<std::string> there{};  ///< the row of the key, as it was seen last, if it names this job
};

namespace {

/// What a dead job comes back with of unique keys: of several the first, else the one it had before its
/// start.
std::optional<domain::UniqueHold> hold_of(const domain::JobOptions& options) {
  if (!options.unique.empty()) return options.unique.front();
  if (options.freed_row.empty()) return std::nullopt;
  return domain::UniqueHold{.row = options.freed_row, .token = {}, .scope = UniqueScope::queued};
}

/// An entry that was buried whole, as it goes into the log again.
std::string entry_again(domain::Entry entry, const std::string& bytes) {
  if (entry.type != domain::EntryType::edit && entry.type != domain::EntryType::handed_back) return bytes;
  // Who did not know these may have buried one that was carried out: it is a payload then.
  entry.type = domain::EntryType::revive;
  entry.edits.clear();
  return domain::encode(entry);
}

/// The job that has the key waits, and has the names of the dead one: both become one job.
bool merges_into(const domain::UniqueRow& holder, const domain::DeadPayload& dead) {
  return holder.scope == UniqueScope::queued && holder.kind == dead.kind && holder.key == dead.key &&
         holder.id == dead.id;
}

}  // namespace

void Admin::Impl::change_dead(const store::QueueDefinition& queue, const DeadFilter& filter, bool revive,
                              const Skipped& skipped, std::size_t& changed) {
  std::vector<std::uint64_t> nos;
  std::vector<store::NewEntry> entries;
  std::vector<UniqueDead> unique;
  std::unordered_map<std::string, std::size_t> places;  // in `unique`, by the job's names
  std::size_t rows = 0;
  std::size_t bytes = 0;
  const auto flush = [&] {
    auto& store = handle_->store();
    if (!nos.empty()) {
      changed += revive ? store.revive(queue.number, nos, std::exchange(entries, {}))
                        : store.erase_dead(queue.number, nos);
    }
    revive_unique(queue, std::exchange(unique, {}), skipped, changed);
    nos.clear();
    places.clear();
    rows = bytes = 0;
  };
  each_dead(queue, filter, [&](const store::DeadRow& row, const domain::DeadPayload& dead) {
    if (revive && !domain::decode_dead(row.bytes)) return true;  // for a version that can read it
    const bool is_unique = revive && hold_of(dead.options).has_value();
    if (is_unique ? !nos.empty() : !unique.empty()) flush();  // in their order
    if (is_unique) {
      const auto [place, is_new] = places.try_emplace(names_of(dead), unique.size());
      if (is_new) unique.emplace_back();
      unique[place->second].nos.push_back(row.no);
      unique[place->second].payloads.push_back(dead);
    } else {
      nos.push_back(row.no);
    }
    if (revive && dead.is_entry) {
      // As it stood in the log; who can read it knows, after a reshard, too, where its key belongs.
      const auto entry = domain::decode_entry(dead.payload);
      const auto index = entry ? domain::shard_of(entry->key, queue.shards) : row.shard.index;
      entries.push_back({{queue.number, index}, entry ? entry_again(*entry, dead.payload) : dead.payload});
    } else if (revive && !is_unique) {
      entries.push_back({row.shard, domain::encode(domain::revival(dead))});
    }
    bytes += row.bytes.size();
    if (++rows == kMostDeadChanged || bytes >= kAppendBytes) flush();
    return true;
  });
  flush();
}

bool Admin::Impl::revive_one(std::string_view call, const store::QueueDefinition& queue,
                             const store::DeadRow& row, const domain::DeadPayload& dead) {
  if (!hold_of(dead.options)) {
    const std::vector<std::uint64_t> nos{row.no};
    return handle_->store().revive(queue.number, nos, {{row.shard, domain::encode(domain::revival(dead))}}) >
           0;
  }
  std::size_t changed = 0;
  std::vector<UniqueDead> unique;
  unique.push_back({{row.no}, {dead}});
  revive_unique(
      queue, std::move(unique),
      [&](const SkippedRetry& job) {
        throw Error(ErrorKind::conflict,
                    fmt::format("{}: job {} stays dead, as job {} has its unique key; nothing was done", call,
                                in_quotes(job.id), in_quotes(job.existing)));
      },
      changed);
  return changed > 0;
}

store::RowStep Admin::Impl::step_of(const store::QueueDefinition& queue, const UniqueDead& job) {
  const auto& first = job.payloads.front();
  auto hold = *hold_of(first.options);
  hold.token = handle_->new_id();
  hold.first = handle_->store().now();
  store::RowStep step{
      {hold.row, domain::row_of(hold, first.kind, first.key, first.id), true, Time::max()}, job.there, {}};
  if (job.there) step.row.bytes = *job.there;
  for (const auto& payload : job.payloads) {
    auto entry = domain::revival(payload);
    entry.options.freed_row.clear();
    entry.options.unique.clear();
    if (!job.there && step.entries.empty()) entry.options.unique = {hold};
    step.entries.push_back(new_entry(queue, entry));
  }
  return step;
}

// They come back before they go from the dead: who dies in between can bring them back twice, but never loses
// one, and not while its first return has the key.
void Admin::Impl::revive_unique(const store::QueueDefinition& queue, std::vector<UniqueDead> jobs,
                                const Skipped& skipped, std::size_t& changed) {
  using What = store::RowResult::What;
  auto& store = handle_->store();
  while (!jobs.empty()) {
    std::vector<store::RowStep> steps;
    for (const auto& job : jobs) steps.push_back(step_of(queue, job));
    const auto results = store.step_rows(store::Store::unique_rows(queue.name), std::move(steps));
    std::vector<std::uint64_t> back;
    std::vector<UniqueDead> again;
    bool is_closed = false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      auto& job = jobs[i];
      const auto& result = results[i];
      if (result.what == What::done) back.insert(back.end(), job.nos.begin(), job.nos.end());
      is_closed = is_closed || result.what == What::refused;
      if (result.what != What::conflict) continue;
      job.there = result.there;
      const auto holder = job.there ? domain::decode_unique_row(*job.there).or_empty() : domain::UniqueRow{};
      if (!job.there || merges_into(holder, job.payloads.front())) {
        again.push_back(std::move(job));
      } else if (skipped) {
        skipped({job.payloads.front().id, holder.id});
      }
    }
    if (!back.empty()) {
      store.erase_dead(queue.number, back);
      changed += back.size();
    }
    if (is_closed) throw store::closed_queue(queue.number);
    jobs = std::move(again);
  }
}

}  // namespace ordo
