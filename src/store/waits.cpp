#include "store/waits.h"

#include <ordo/error.hpp>

#include "domain/entry.h"
#include "domain/wait_note.h"
#include "store/dead_letters.h"
#include "store/limits.h"

namespace ordo::store {
namespace {

constexpr int kAttempts = 1000;  // that others were faster

/// One key of a queue, and its row as it was read last.
class Key {
 public:
  Key(Store& store, const std::string& queue, const std::string& key)
      : store_(store), queue_(queue), key_(key) {}

  /// Reads the row anew; nothing that it holds is on its way still.
  const domain::Row& look() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      read();
      if (row_ && domain::is_expired(*row_, store_.believed_now())) {
        retire_expired(store_, queue_, key_);
        continue;
      }
      if (!row_ || row_->delivered) return row_;
      deliver();
    }
    give_up();
  }

  const domain::Row& row() const { return row_; }

  /// False: somebody else was faster.
  bool write(const domain::WaitRecord& row, Duration response_ttl = {}) {
    if (!seen_ && store_.queues().find(queue_) == nullptr) fail_as_unknown();
    auto bytes = domain::encode(row);
    if (!store_.put_row(queue_, {key_, bytes, domain::is_listed(row), domain::kept_until(row, response_ttl)},
                        seen_))
      return false;
    seen_ = std::move(bytes);
    row_ = row;
    return true;
  }

  /// An entry for the log of the job.
  template <class Names>
  NewEntry entry_in(const QueueList& list, domain::EntryType type, const Names& job,
                    const domain::WaitNote& note) const {
    const auto* definition = list.find(queue_);
    if (definition == nullptr) fail_as_unknown();
    if (definition->closed) fail_as_closed();
    const auto payload = domain::encode(note);
    domain::Entry entry;
    entry.type = type;
    entry.kind = job.kind;
    entry.key = job.key;
    entry.id = job.id;
    entry.payload = payload;
    return {{definition->number, domain::shard_of(job.key, definition->shards)}, domain::encode(entry)};
  }
  NewEntry response_in(const QueueList& list, const domain::WaitRecord& row) const {
    return entry_in(list, domain::EntryType::response, row, {row.wait, key_, row.message_id, row.body});
  }

  /// The row, and in the same step what goes to the log of its job. False: somebody else was faster. Nothing:
  /// this store has them in different places, or the queue takes nothing more.
  std::optional<bool> write_with(const domain::WaitRecord& row, std::vector<NewEntry> entries) {
    try {
      const auto result = store_.step_rows(queue_, {step_of(row, seen_, std::move(entries))}).front();
      if (result.what == RowResult::What::refused) return std::nullopt;
      return result.what == RowResult::What::done;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      return std::nullopt;
    }
  }
  RowStep step_of(const domain::WaitRecord& row, std::optional<std::string> seen,
                  std::vector<NewEntry> entries) const {
    return {{key_, domain::encode(row), domain::is_listed(row), domain::kept_until(row, {})},
            std::move(seen),
            std::move(entries)};
  }

  /// Brings the response of the row, which is not delivered, to its job.
  void deliver() {
    append(response_in(store_.queues(), *row_));
    write(domain::delivered(*row_, store_.now()));
  }

  /// Writes the row, and brings its response to its job if it has one to bring. False: somebody else was
  /// faster.
  bool bring(const domain::WaitRecord& row, Duration response_ttl = {}) {
    if (row.delivered) return write(row, response_ttl);
    const auto list = store_.queues();
    const auto* definition = list.find(queue_);
    if (definition != nullptr && !definition->closed) {
      const auto done = write_with(domain::delivered(row, store_.now()), {response_in(list, row)});
      if (done) return *done;
    }
    if (!write(row, response_ttl)) return false;
    deliver();
    return true;
  }

  /// To the log of the job.
  void append(NewEntry entry) {
    try {
      store_.append_durably({std::move(entry)});
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::invalid_argument) fail_as_closed();
      throw;
    }
  }

  [[noreturn]] void give_up() const {
    fail(ErrorKind::unavailable, "others change it all the time; try again");
  }
  [[noreturn]] void fail_as_unknown() const { fail(ErrorKind::invalid_argument, "there is no such queue"); }
  [[noreturn]] void fail_as_closed() const {
    fail(ErrorKind::unavailable, "it is being resharded; try again");
  }

 private:
  void read() {
    seen_ = store_.wait_row(queue_, key_);
    row_.reset();
    if (!seen_) return;
    auto record = domain::decode_wait_record(*seen_);
    if (record.needs() != 0) fail(ErrorKind::unsupported, record.why());
    if (record) row_ = *std::move(record);  // else it is written anew: nobody knows what it said
  }

  [[noreturn]] void fail(ErrorKind kind, const std::string& why) const {
    throw Error(kind, "cannot reach the wait for '" + key_ + "' in queue '" + queue_ + "': " + why);
  }

  Store& store_;
  const std::string& queue_;
  const std::string& key_;
  std::optional<std::string> seen_;
  domain::Row row_;
};

/// What the row keeps for whoever comes. One of an older node has no deadline, and was never counted.
std::optional<Buffered> kept_response(const domain::Row& row) {
  if (!row || row->state != domain::WaitRecord::State::buffered || row->deadline <= Time{})
    return std::nullopt;
  return Buffered{row->deadline, row->body.size()};
}

/// The response came too late for the job that the row is of.
void keep_late(Store& store, const std::string& queue, const std::string& key, const domain::Row& row,
               const domain::Message& message) {
  DeadLetter letter{DeadLetter::Why::late, key, {}, {}, {}, message.id, message.body, store.now()};
  if (row) {
    letter.job_kind = row->kind;
    letter.job_key = row->key;
    letter.job_id = row->id;
  }
  keep_letter(store, queue, letter);
}

/// What was done is done: else the count leaves with its time.
void forget_count(Store& store, const std::string& queue, const std::string& key, const Buffered& kept) {
  try {
    store.response_buffer().remove(store, queue, key, kept);
  } catch (const Error&) {
    // as above
  }
}

/// Some of many that are expected together.
class Together {
 public:
  Together(Store& store, const std::string& queue, std::span<const Wanted> wanted)
      : store_(store), queue_(queue), wanted_(wanted), answers_(wanted.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      try {
        check_wait_key(wanted[i].key);
        open_.emplace_back().at = i;
      } catch (const Error&) {
        answers_[i].failure = std::current_exception();
      }
    }
  }

  /// Takes those that are as they were seen, in one step; at first as if nobody had heard of their keys.
  void step() {
    const auto list = store_.queues();
    const auto now = store_.now();
    std::vector<Open> stepped, left;
    std::vector<RowStep> steps;
    for (auto& each : open_) {
      const auto& [key, waiter] = wanted_[each.at];
      const Key at(store_, queue_, key);
      if (const auto next = each.is_unreadable ? domain::Row{} : domain::sooner(each.row, waiter)) {
        steps.push_back(at.step_of(*next, each.seen, {}));
        stepped.push_back(std::move(each));
        continue;
      }
      const auto next = domain::expect(each.row, waiter, now);
      const bool is_known = each.row && (each.row->wait == waiter.wait || !each.row->delivered);
      const bool is_plain =
          !each.is_unreadable && next && next->delivered && !is_known && !kept_response(each.row);
      if (!is_plain) {
        left.push_back(std::move(each));
        continue;
      }
      steps.push_back(
          at.step_of(*next, each.seen,
                     {at.entry_in(list, domain::EntryType::expected, waiter, {waiter.wait, key, {}, {}})}));
      stepped.push_back(std::move(each));
    }
    auto results = steps.empty() ? std::vector<RowResult>{} : store_.step_rows(queue_, std::move(steps));
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto& each = stepped[i];
      answers_[each.at].is_ours = results[i].what == RowResult::What::done;
      if (answers_[each.at].is_ours) continue;
      each.see(std::move(results[i].there));
      left.push_back(std::move(each));
    }
    open_ = std::move(left);
  }

  /// The others one by one; all of them alike once the store is away.
  std::vector<Expectation> finish(std::exception_ptr away) {
    for (const auto& each : open_) {
      auto& answer = answers_[each.at];
      answer.failure = away;
      if (away) continue;
      try {
        answer.is_ours = expect_response(store_, queue_, wanted_[each.at].key, wanted_[each.at].waiter);
      } catch (const Error& error) {
        answer.failure = std::current_exception();
        if (error.kind() == ErrorKind::unavailable) away = answer.failure;
      }
    }
    return std::move(answers_);
  }

 private:
  struct Open {
    std::size_t at = 0;  // in what is wanted
    std::optional<std::string> seen{};
    domain::Row row{};
    bool is_unreadable = false;

    void see(std::optional<std::string> bytes) {
      seen = std::move(bytes);
      row.reset();
      if (!seen) return;
      auto record = domain::decode_wait_record(*seen);
      is_unreadable = !record;
      if (record) row = *std::move(record);
    }
  };

  Store& store_;
  const std::string& queue_;
  const std::span<const Wanted> wanted_;
  std::vector<Expectation> answers_;
  std::vector<Open> open_;
};

}  // namespace

bool expect_response(Store& store, const std::string& queue, const std::string& key,
                     const domain::Waiter& waiter) {
  Key at(store, queue, key);
  bool is_told = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto kept = kept_response(at.look());
    if (at.row() && at.row()->wait == waiter.wait) {  // a step whose answer was lost
      const auto next = domain::sooner(at.row(), waiter);
      if (!next || at.write(*next)) return true;
      continue;
    }
    const auto next = domain::expect(at.row(), waiter, store.now());
    if (!next) return false;
    const auto list = store.queues();
    auto expected = at.entry_in(list, domain::EntryType::expected, waiter, {waiter.wait, key, {}, {}});
    std::vector entries{expected};
    if (!next->delivered) entries.push_back(at.response_in(list, *next));
    const auto row = next->delivered ? *next : domain::delivered(*next, store.now());
    auto done = at.write_with(row, std::move(entries));
    if (!done) {
      if (!std::exchange(is_told, true)) at.append(std::move(expected));
      done = at.write(*next);
      if (*done && !next->delivered) at.deliver();
    }
    if (!*done) continue;
    if (kept) forget_count(store, queue, key, *kept);
    return true;
  }
  at.give_up();
}

Responded respond(Store& store, const std::string& queue, const std::string& key,
                  const domain::Message& message, Duration response_ttl, const BufferBounds& bounds) {
  Key at(store, queue, key);
  std::optional<Buffered> kept;  // counted already
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto verdict = domain::respond(at.look(), message, response_ttl, store.now());
    const auto keeps = kept_response(verdict.row);
    if (keeps && !kept) {
      if (!store.response_buffer().add(store, queue, key, *keeps, bounds)) return Responded::full;
      kept = keeps;
    }
    if (verdict.row && !at.bring(*verdict.row, response_ttl)) continue;
    // Meanwhile a job has come, or another response.
    if (kept && !keeps) forget_count(store, queue, key, *kept);
    if (verdict.result == Responded::late) keep_late(store, queue, key, at.row(), message);
    if (keeps) retire_some(store, queue);  // so their number stays in bounds, too
    return verdict.result;
  }
  at.give_up();
}

Responded respond_to(Store& store, const std::string& queue, const std::string& key, std::string_view wait,
                     const domain::Message& message) {
  Key at(store, queue, key);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto verdict = domain::respond_to(at.look(), wait, message, store.now());
    if (verdict.row && !at.bring(*verdict.row)) continue;
    if (verdict.result == Responded::late) keep_late(store, queue, key, at.row(), message);
    return verdict.result;
  }
  at.give_up();
}

std::vector<Expectation> expect_responses(Store& store, const std::string& queue,
                                          std::span<const Wanted> wanted) {
  constexpr int kRounds = 2;  // keys that nobody has heard of, and those that were waited for before
  Together all(store, queue, wanted);
  std::exception_ptr away;
  try {
    for (int round = 0; round < kRounds; ++round) all.step();
  } catch (const Error& error) {  // or the store cannot do it so, or one of them is to blame
    if (error.kind() == ErrorKind::unavailable) away = std::current_exception();
  }
  return all.finish(away);
}

void keep_unused_response(Store& store, const std::string& queue, ShardId shard, Seq entry) {
  const auto chunk = store.fetch(shard, {&entry, 1});
  if (chunk.rows.empty()) return;
  const auto response = domain::decode_entry(chunk.body(chunk.rows.front()));
  if (!response || response->type != domain::EntryType::response) return;
  auto note = *domain::decode_wait_note(response->payload);  // decode_entry() has read it
  keep_letter(
      store, queue,
      {DeadLetter::Why::unused, std::move(note.key), std::string(response->kind), std::string(response->key),
       std::string(response->id), std::move(note.message_id), std::move(note.body), store.now()});
}

bool close_wait(Store& store, const std::string& queue, const std::string& key, std::string_view wait) {
  Key at(store, queue, key);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto close = domain::close(at.look(), wait, store.now());
    if (!close.row || at.write(*close.row)) return close.is_answered;
  }
  at.give_up();
}

}  // namespace ordo::store
