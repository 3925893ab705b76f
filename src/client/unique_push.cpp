// Pushes of jobs with unique keys: each is one step of the store, the row of its key and its entry. Who is
// told that another job has the key decides what follows by the rule of the queue, and asks anew.
#include <algorithm>
#include <optional>
#include <utility>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "base/start_thread.h"
#include "base/time_text.h"
#include "client/client_impl.h"
#include "domain/new_job.h"
#include "domain/unique.h"

namespace ordo {
namespace {

constexpr int kAttempts = 1000;  // that others were faster
constexpr std::size_t kTogether = 1000;
using What = store::RowResult::What;

domain::UniqueRow read_row(const std::string& queue, std::string_view bytes) {
  auto row = domain::decode_unique_row(bytes);
  if (row) return *std::move(row);
  throw Error(row.needs() != 0 ? ErrorKind::unsupported : ErrorKind::corrupt,
              "cannot push to queue '" + queue + "': " + row.why());
}

bool changes_what_is_there(OnConflict conflict) {
  return conflict == OnConflict::replace || conflict == OnConflict::merge || conflict == OnConflict::debounce;
}

}  // namespace

/// One on its way.
struct Client::Impl::UniqueJob {
  NewJob job;
  Unique rule;
  std::string row;
  std::string token;
  std::optional<std::string> there{};  ///< the row of another job, as it was seen last
  std::optional<Pushed> end{};
};

namespace {

std::optional<Unique> rule_of(const StoreHandle& handle, const std::string& queue, const NewJob& job) {
  return unique_rule_of(handle.options(queue), job.kind.empty() ? queue : job.kind);
}

}  // namespace

bool Client::Impl::has_unique(const std::string& queue, const std::vector<NewJob>& jobs) {
  return std::ranges::any_of(jobs, [&](const NewJob& job) {
    const auto rule = rule_of(*handle_, queue, job);
    if (job.unique && !rule) {
      refuse_push(queue,
                  "job " + in_quotes(job.id) +
                      " has a unique key, and this program's config states no rule for it: give [queue." +
                      queue + "] unique");
    }
    return rule.has_value();
  });
}

// In their order: those of a row that have a unique key together, and those between them.
std::vector<Pushed> Client::Impl::push_some_unique(const std::string& queue, std::vector<NewJob> jobs) {
  const auto push = prepare(queue, std::move(jobs));
  std::vector<Pushed> all;
  std::vector<UniqueJob> unique;
  auto plain = std::make_shared<Push>();
  const auto flush = [&] {
    if (!unique.empty())
      std::ranges::move(push_unique(queue, std::exchange(unique, {})), std::back_inserter(all));
    if (plain->jobs.empty()) return;
    const auto last = std::exchange(plain, std::make_shared<Push>());
    last->queue = queue;
    for (const auto& job : last->jobs)
      all.push_back({Pushed::What::pushed, job.id, job.kind.empty() ? queue : job.kind, key_of(job)});
    send_and_wait(last);
  };
  for (auto& job : push->jobs) {
    const auto rule = rule_of(*handle_, queue, job);
    auto key = rule ? domain::unique_key_of(*rule, job) : std::nullopt;
    if (!key) {
      if (!unique.empty()) flush();
      plain->jobs.push_back(std::move(job));
      continue;
    }
    if (!plain->jobs.empty() || unique.size() == kTogether) flush();
    auto row = domain::unique_row_key(job.kind.empty() ? queue : job.kind, *key);
    unique.push_back({std::move(job), *rule, std::move(row), handle_->new_id()});
  }
  flush();
  return all;
}

// Each has to wait for the store's answer: a thread of the client does, one call after the other.
void Client::Impl::push_unique_later(PushPtr push) {
  try {
    const std::lock_guard lock(mutex_);
    if (!unique_pusher_.joinable())
      unique_pusher_ = start_thread([this](const std::stop_token& stop) { push_unique_ones(stop); });
    later_.push_back(push);
  } catch (const Error&) {
    push->done(std::current_exception());
    return;
  }
  later_changed_.notify_one();
}

void Client::Impl::push_unique_ones(const std::stop_token& stop) {
  while (true) {
    PushPtr push;
    {
      std::unique_lock lock(mutex_);
      if (!later_changed_.wait(lock, stop, [&] { return !later_.empty(); })) return;
      push = std::move(later_.front());
      later_.pop_front();
    }
    try {
      ids_of(push->queue, push_some_unique(push->queue, std::move(push->jobs)));
      push->done(nullptr);
    } catch (...) {
      push->done(std::current_exception());
    }
  }
}

store::RowStep Client::Impl::step_of(const std::string& queue, const store::QueueDefinition& definition,
                                     const UniqueJob& unique) {
  const auto& [job, rule, row, token, there, end] = unique;
  const auto scope = domain::scope_of(rule);
  auto entry = entry_of(queue, job);
  store::RowStep step{{row, {}, true, Time::max()}, there, {}};
  const auto now = handle_->store().now();
  domain::UniqueHold hold{row, token, scope, entry.run_at.value_or(now)};
  std::optional<domain::UniqueRow> holder;
  if (there) holder = read_row(queue, *there);
  if (holder && rule.on_conflict == OnConflict::merge) {
    entry.kind = holder->kind;
    entry.key = holder->key;
    entry.id = holder->id;
    step.row.bytes = *there;
    step.entries = {new_entry(definition, entry)};
    return step;
  }
  if (holder) {
    domain::Entry cancel;
    cancel.type = domain::EntryType::cancel;
    cancel.kind = holder->kind;
    cancel.key = holder->key;
    cancel.id = holder->id;
    cancel.payload = holder->token;  // that one only, not one of its name that runs
    step.entries.push_back(new_entry(definition, cancel));
  }
  if (holder && rule.on_conflict == OnConflict::debounce) {
    hold.first = holder->first;
    entry.run_at = std::min(entry.run_at.value_or(now), time_after(holder->first, rule.period));
    if (entry.options.expires_after)
      entry.options.expires = time_after(*entry.run_at, *entry.options.expires_after);
  }
  if (scope == UniqueScope::period) {
    hold.first = now;
    step.row.until = time_after(now, rule.period);
  } else {
    entry.options.unique = {hold};
  }
  step.row.bytes = domain::row_of(hold, entry.kind, entry.key, entry.id);
  step.entries.push_back(new_entry(definition, entry));
  return step;
}

// A queue that is resharded refuses.
store::QueueDefinition Client::Impl::open_route(const std::string& queue, bool was_refused) {
  if (!was_refused) {
    const std::lock_guard lock(mutex_);
    return routes_.at(queue).definition;
  }
  auto found = handle_->open_queue(queue);
  const std::lock_guard lock(mutex_);
  routes_.at(queue).definition = found;
  return found;
}

std::vector<Pushed> Client::Impl::push_unique(const std::string& queue, std::vector<UniqueJob> jobs) {
  auto& store = handle_->store();
  bool was_refused = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto definition = open_route(queue, was_refused);
    std::vector<store::RowStep> steps;
    std::vector<UniqueJob*> asked;
    for (auto& job : jobs) {
      if (job.end) continue;
      steps.push_back(step_of(queue, definition, job));
      asked.push_back(&job);
    }
    if (asked.empty()) break;
    was_refused = false;
    auto results = store.step_rows(store::Store::unique_rows(queue), std::move(steps));
    for (std::size_t i = 0; i < asked.size(); ++i) {
      auto& [job, rule, row, token, there, end] = *asked[i];
      auto& result = results[i];
      was_refused = was_refused || result.what == What::refused;
      if (result.what == What::refused) continue;
      const auto holder = there && rule.on_conflict == OnConflict::merge
                              ? std::optional(read_row(queue, *there))
                              : std::nullopt;
      if (result.what == What::done && holder) {
        end = {Pushed::What::merged, holder->id, holder->kind, holder->key};
      } else if (result.what == What::done) {
        end = {Pushed::What::pushed, job.id, job.kind.empty() ? queue : job.kind, key_of(job)};
      } else {
        there = std::move(result.there);
        if (!there) continue;  // it is free by now
        const auto other = read_row(queue, *there);
        if (changes_what_is_there(rule.on_conflict) && other.scope == UniqueScope::queued) continue;
        const bool is_ignored =
            rule.on_conflict == OnConflict::ignore || rule.on_conflict == OnConflict::throttle;
        end = {is_ignored ? Pushed::What::ignored : Pushed::What::rejected, other.id, other.kind, other.key};
        // By this program's rule: one that has changed since the push may say a time that is over.
        const auto until = time_after(other.first, rule.period);
        if (other.scope == UniqueScope::period && domain::scope_of(rule) == UniqueScope::period &&
            until > store.now())
          end->until = until;
      }
    }
  }
  std::vector<Pushed> all;
  for (auto& job : jobs) {
    if (!job.end) {
      throw Error(ErrorKind::unavailable, "cannot push to queue '" + queue +
                                              "': others change its unique keys all the time; try again");
    }
    all.push_back(*std::move(job.end));
  }
  return all;
}

}  // namespace ordo
