#include "store/dead_letters.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/time_text.h"
#include "domain/wait_record.h"

namespace ordo::store {
namespace {

using domain::LetterList;

// Queues that may have dead letters have a row of this name: most have none, and need not be looked at. No
// queue of a user's has it.
constexpr std::string_view kQueueRows = "!letters";

constexpr int kMostLetterTries = 1000;  // that others were faster
constexpr std::size_t kLettersAtOnce = 1000, kRetiredAtOnce = 4;

LetterList listed(const std::optional<std::string>& bytes) {
  if (!bytes) return {};
  auto list = domain::decode_letter_list(*bytes);
  if (list.needs() != 0) throw Error(ErrorKind::unsupported, "cannot list the dead letters: " + list.why());
  return list ? *std::move(list) : LetterList{};
}

void take_away(Store& store, const std::string& rows, const std::string& key) {
  auto seen = store.wait_row(rows, key);
  if (seen) store.step_rows(rows, {{{key, {}, true, Time::min()}, std::move(seen), {}}});
}

/// Calls `visit(row)` for the responses whose time was over, those that were taken meanwhile, too. It returns
/// false to stop.
template <class Visit>
void each_expired(Store& store, const std::string& queue, Time now, std::size_t at_once, Visit visit) {
  const auto rows = Store::unique_rows(queue);
  const auto end = domain::end_of_expired(now);
  for (auto after = domain::first_expiry();;) {
    const auto page = store.wait_rows(rows, after, at_once);
    for (const auto& row : page) {
      if (row.key >= end) return;
      if (domain::is_expiry_row_key(row.key) && !visit(row)) return;
    }
    if (page.size() < at_once) return;
    after = page.back().key;
  }
}

std::optional<DeadLetter> expired_in(const std::string& key, const std::optional<std::string>& bytes,
                                     Time now) {
  if (!bytes) return std::nullopt;
  const auto row = domain::decode_wait_record(*bytes);
  if (!row || !domain::is_expired(*row, now)) return std::nullopt;
  return DeadLetter{DeadLetter::Why::unknown, key, {}, {}, {}, row->message_id, row->body, row->deadline};
}

}  // namespace

void keep_letter(Store& store, const std::string& queue, const DeadLetter& letter,
                 const domain::LetterBounds& bounds) {
  const auto rows = Store::unique_rows(queue);
  const std::string key(domain::kLetterListRow);
  const auto now = store.believed_now();
  RowStep body{{domain::letter_row_key(domain::letter_name(letter)), domain::encode(letter), true,
                time_after(letter.at, domain::kLetterLife)},
               {},
               {}};
  auto seen = store.wait_row(rows, key);
  if (!seen) may_have_letters(store, queue);
  for (int i = 0; i < kMostLetterTries; ++i) {
    auto with = domain::with(listed(seen), letter, bounds, now);
    if (!with) return;
    auto& [list, gone] = *with;
    const WaitRow row{key, domain::encode(list), true, time_after(now, domain::kLetterLife)};
    auto results = store.step_rows(rows, {body, {row, seen, {}}});
    if (results.at(1).what == RowResult::What::done) {
      for (const auto& name : gone) take_away(store, rows, domain::letter_row_key(name));
      return;
    }
    seen = std::move(results.at(1).there);
  }
  throw Error(ErrorKind::unavailable, "cannot keep a dead letter of queue '" + queue +
                                          "': others change the list all the time; try again");
}

void retire_expired(Store& store, const std::string& queue, const std::string& key) {
  auto seen = store.wait_row(queue, key);
  const auto letter = expired_in(key, seen, store.believed_now());
  if (!letter) return;
  keep_letter(store, queue, *letter);
  store.step_rows(queue, {{{key, {}, true, Time::min()}, std::move(seen), {}}});
  const auto expiry = domain::expiry_row_key(letter->at, key, letter->body.size());
  store.step_rows(Store::unique_rows(queue), {{{expiry, {}, true, Time::min()}, key, {}}});
}

void retire_some(Store& store, const std::string& queue) {
  const auto rows = Store::unique_rows(queue);
  auto left = kRetiredAtOnce;
  each_expired(store, queue, store.believed_now(), kRetiredAtOnce, [&](const WaitRow& row) {
    retire_expired(store, queue, row.bytes);
    store.step_rows(rows, {{{row.key, {}, true, Time::min()}, row.bytes, {}}});
    return --left > 0;
  });
}

void each_letter(Store& store, const std::string& queue, const std::function<bool(DeadLetter)>& visit) {
  const auto rows = Store::unique_rows(queue);
  const auto now = store.believed_now();
  struct Place {
    Time at{};
    std::string name, key;  // in the list, or where it waits
  };
  std::vector<Place> all;
  const auto list =
      domain::kept_letters(listed(store.wait_row(rows, std::string(domain::kLetterListRow))), now);
  for (const auto& item : list.items) all.push_back({item.at, item.name, {}});
  each_expired(store, queue, now, kLettersAtOnce, [&](const WaitRow& row) {
    all.push_back({time_after(row.until, -domain::kLetterLife), {}, row.bytes});
    return true;
  });
  std::ranges::stable_sort(all, {}, &Place::at);
  const auto most = domain::LetterBounds{}.most;
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  for (const auto& [at, name, key] : all) {
    std::optional<DeadLetter> letter;
    if (name.empty()) {
      letter = expired_in(key, store.wait_row(queue, key), now);
    } else if (const auto row = store.wait_row(rows, domain::letter_row_key(name))) {
      if (auto read = domain::decode_dead_letter(*row)) letter = *std::move(read);
    }
    if (letter && !visit(*std::move(letter))) return;
  }
}

void may_have_letters(Store& store, const std::string& queue) {
  store.step_rows(kQueueRows, {{{queue, {}, true, Time::max()}, {}, {}}});  // or it is there
}

bool is_said_to_have_letters(Store& store, const std::string& queue) {
  return store.wait_row(kQueueRows, queue).has_value();
}

std::map<std::string, std::uint64_t> count_letters(Store& store,
                                                   const std::function<bool(const std::string&)>& counts) {
  std::map<std::string, std::uint64_t> all;
  const auto now = store.believed_now();
  std::string after;
  for (bool at_end = false; !at_end;) {
    const auto queues = store.wait_rows(kQueueRows, after, kLettersAtOnce);
    at_end = queues.size() < kLettersAtOnce;
    for (const auto& row : queues) {
      after = row.key;
      const auto& queue = row.key;
      if (!counts(queue)) continue;
      const auto list = store.wait_row(Store::unique_rows(queue), std::string(domain::kLetterListRow));
      auto count = domain::kept_letters(listed(list), now).items.size();
      const auto most = domain::LetterBounds{}.most;
      each_expired(store, queue, now, kLettersAtOnce, [&](const WaitRow&) { return ++count < most; });
      if (count > 0) all.emplace(queue, std::min<std::uint64_t>(count, most));
    }
  }
  return all;
}

}  // namespace ordo::store
