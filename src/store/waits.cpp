#include "store/waits.h"

#include <ordo/error.hpp>

#include "domain/entry.h"
#include "domain/wait_note.h"
#include "store/response_buffer.h"

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
      if (!row_ || row_->delivered) return row_;
      deliver();
    }
    give_up();
  }

  const domain::Row& row() const { return row_; }

  /// False: somebody else was faster.
  bool write(const domain::WaitRecord& row, Duration response_ttl = {}) {
    auto bytes = domain::encode(row);
    if (!store_.put_wait_row(
            queue_, {key_, bytes, domain::is_listed(row), domain::kept_until(row, response_ttl)}, seen_))
      return false;
    seen_ = std::move(bytes);
    row_ = row;
    return true;
  }

  /// Brings the response of the row, which is not delivered, to its job.
  void deliver() {
    append(domain::EntryType::response, *row_, {row_->wait, key_, row_->message_id, row_->body});
    write(domain::delivered(*row_, store_.now()));
  }

  /// To the log of the job.
  template <class Names>
  void append(domain::EntryType type, const Names& job, const domain::WaitNote& note) {
    const auto list = store_.queues();
    const auto* definition = list.find(queue_);
    if (definition == nullptr) fail(ErrorKind::invalid_argument, "there is no such queue");
    if (definition->closed) fail(ErrorKind::unavailable, "it is being resharded; try again");
    const auto payload = domain::encode(note);
    domain::Entry entry;
    entry.type = type;
    entry.kind = job.kind;
    entry.key = job.key;
    entry.id = job.id;
    entry.payload = payload;
    try {
      store_.append_durably(
          {{{definition->number, domain::shard_of(job.key, definition->shards)}, domain::encode(entry)}});
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::invalid_argument)
        fail(ErrorKind::unavailable, "it is being resharded; try again");
      throw;
    }
  }

  [[noreturn]] void give_up() const {
    fail(ErrorKind::unavailable, "others change it all the time; try again");
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
std::optional<domain::Buffered> kept_response(const domain::Row& row) {
  if (!row || row->state != domain::WaitRecord::State::buffered || row->deadline <= Time{})
    return std::nullopt;
  return domain::Buffered{row->deadline, row->body.size()};
}

}  // namespace

bool expect_response(Store& store, const std::string& queue, const std::string& key,
                     const domain::Waiter& waiter) {
  Key at(store, queue, key);
  bool is_told = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto kept = kept_response(at.look());
    const auto next = domain::expect(at.row(), waiter, store.now());
    if (!next) return false;
    if (!std::exchange(is_told, true))
      at.append(domain::EntryType::expected, waiter, {waiter.wait, key, {}, {}});
    if (!at.write(*next)) continue;
    if (!next->delivered) at.deliver();
    if (kept) count_out(store, queue, *kept);
    return true;
  }
  at.give_up();
}

Responded respond(Store& store, const std::string& queue, const std::string& key,
                  const domain::Message& message, Duration response_ttl, const domain::BufferBounds& bounds) {
  Key at(store, queue, key);
  std::optional<domain::Buffered> kept;  // counted already
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto verdict = domain::respond(at.look(), message, response_ttl, store.now());
    const auto keeps = kept_response(verdict.row);
    if (keeps && !kept) {
      if (!count_in(store, queue, *keeps, response_ttl, bounds)) return Responded::full;
      kept = keeps;
    }
    if (verdict.row && !at.write(*verdict.row, response_ttl)) continue;
    if (kept && !keeps) count_out(store, queue, *kept);  // meanwhile a job has come, or another response
    if (verdict.row && !verdict.row->delivered) at.deliver();
    return verdict.result;
  }
  at.give_up();
}

Responded respond_to(Store& store, const std::string& queue, const std::string& key, std::string_view wait,
                     const domain::Message& message) {
  Key at(store, queue, key);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto verdict = domain::respond_to(at.look(), wait, message, store.now());
    if (!verdict.row) return verdict.result;
    if (!at.write(*verdict.row)) continue;
    at.deliver();
    return verdict.result;
  }
  at.give_up();
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
