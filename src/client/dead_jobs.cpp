// The dead: grouped by job, brought back, deleted.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/fnv.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "client/page_sizes.h"
#include "client/several_jobs.h"
#include "domain/records.h"
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
  if (!queue) return {};
  const ListOrder order(listing, nullptr, Time{}, queue->number);
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
    job->priority = row.priority;
    job->timeout = row.timeout;
    job->windows = row.windows;
    domain::copy_more_options(row, *job);
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
    DeadView view{row.no,
                  dead.kind,
                  dead.key,
                  dead.id,
                  {dead.payload, dead.score},
                  row.at,
                  dead.retry_count,
                  dead.crashes,
                  dead.error_kind,
                  dead.error,
                  dead.options.priority,
                  dead.options.timeout,
                  dead.options.windows};
    domain::copy_more_options(dead.options, view);
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

void Admin::Impl::change_dead(const store::QueueDefinition& queue, const DeadFilter& filter, bool revive,
                              const Skipped& skipped, std::size_t& changed) {
  std::vector<std::uint64_t> nos;
  std::vector<store::NewEntry> entries;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (nos.empty()) return;
    auto& store = handle_->store();
    changed += revive ? store.revive(queue.number, nos, std::exchange(entries, {}))
                      : store.erase_dead(queue.number, nos);
    nos.clear();
    bytes = 0;
  };
  each_dead(queue, filter, [&](const store::DeadRow& row, const domain::DeadPayload& dead) {
    if (revive && !domain::decode_dead(row.bytes)) return true;  // for a version that can read it
    if (revive && !dead.options.unique.empty()) {
      flush();  // in their order
      changed += revive_unique(queue, row.no, dead, skipped) ? 1 : 0;
      return true;
    }
    nos.push_back(row.no);
    if (revive && dead.is_entry) {
      // As it stood in the log; who can read it knows, after a reshard, too, where its key belongs.
      const auto entry = domain::decode_entry(dead.payload);
      const auto index = entry ? domain::shard_of(entry->key, queue.shards) : row.shard.index;
      entries.push_back({{queue.number, index}, dead.payload});
    } else if (revive) {
      entries.push_back({row.shard, domain::encode(domain::revival(dead))});
    }
    bytes += row.bytes.size();
    if (nos.size() == kMostDeadChanged || bytes >= kAppendBytes) flush();
    return true;
  });
  flush();
}

// It comes back before it goes from the dead: who dies in between can bring it back twice, but never loses
// it, and not while its first return has the key. Of several keys it has its first one again.
bool Admin::Impl::revive_unique(const store::QueueDefinition& queue, std::uint64_t no,
                                const domain::DeadPayload& dead, const Skipped& skipped) {
  using What = store::RowResult::What;
  auto& store = handle_->store();
  auto entry = domain::revival(dead);
  entry.options.unique.resize(1);
  auto& hold = entry.options.unique.front();
  hold.token = handle_->new_id();
  hold.first = store.now();
  const auto bytes = domain::row_of(hold, dead.kind, dead.key, dead.id);
  while (true) {
    const store::RowStep step{{hold.row, bytes, true, Time::max()}, std::nullopt, {new_entry(queue, entry)}};
    const auto result = store.step_rows(store::Store::unique_rows(queue.name), {step}).front();
    if (result.what == What::refused) throw store::closed_queue(queue.number);
    if (result.what == What::done) {
      store.erase_dead(queue.number, {&no, 1});
      return true;
    }
    if (!result.there) continue;  // it is free by now
    const auto holder = domain::decode_unique_row(*result.there).or_empty();
    if (skipped) skipped({dead.id, holder.id});
    return false;
  }
}

}  // namespace ordo
