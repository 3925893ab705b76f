#include "domain/wait_record.h"

#include <algorithm>

#include "base/fnv.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/archive.h"
#include "domain/dead_letters.h"

namespace ordo::domain {
namespace {

using State = WaitRecord::State;

constexpr std::size_t kMostRemembered = 16;  // messages, and waits
// What nobody has closed so long after its time belongs to a job that is gone.
constexpr Duration kForgotten = std::chrono::hours{1};

// A message is known again by its id, or, without one, by its body.
std::string fingerprint_of(const Message& message) {
  return message.id.empty() ? "b" + fnv1a_128(message.body) : "m" + message.id;
}

void remember(std::vector<std::string>& all, std::string last) {
  all.push_back(std::move(last));
  if (all.size() > kMostRemembered) all.erase(all.begin());
}

bool is_of(const WaitRecord& record, const Waiter& waiter) {
  return record.kind == waiter.kind && record.key == waiter.key && record.id == waiter.id;
}

}  // namespace

template <class A>
void fields(A& a, In<A, WaitRecord>& record) {
  a.head(1, record.fields, [&](auto& f) { f.each(2, record.answered); });
  a.choice(record.state, State::buffered, "its state is unknown");
  a.check(record.state >= State::expected, "its state is unknown");
  a.short_text(record.wait);
  a.short_text(record.kind);
  a.short_text(record.key);
  a.short_text(record.id);
  a.number(record.fence);
  a.time(record.since);
  a.time(record.deadline);
  a.flags(record.delivered);
  a.short_text(record.message_id);
  a.list(record.taken, [](auto& b, auto& fingerprint) { b.long_text(fingerprint); });
  a.rest(record.body);
}

std::string encode(const WaitRecord& record) { return to_bytes(record); }

Decoded<WaitRecord> decode_wait_record(std::string_view bytes) { return decode<WaitRecord>(bytes, "wait"); }

bool is_listed(const WaitRecord& record) {
  return record.state == State::expected || record.state == State::buffered || !record.delivered;
}

bool is_expired(const WaitRecord& record, Time now) {
  return record.state == State::buffered && record.deadline <= now;
}

Time kept_until(const WaitRecord& record, Duration response_ttl) {
  if (record.state == State::buffered) return time_after(time_after(record.since, response_ttl), kLetterLife);
  return is_listed(record) ? Time::max() : time_after(record.since, kRemember);
}

Row expect(const Row& row, const Waiter& waiter, Time now) {
  WaitRecord next;
  if (row) {
    const bool is_own = is_of(*row, waiter);
    const bool is_open = row->state == State::expected && saturating_sub(now, row->deadline) <= kForgotten;
    if (is_open && (!is_own || row->fence > waiter.fence)) return std::nullopt;
    next = *row;
    if (row->state == State::answered && row->wait != waiter.wait) remember(next.answered, row->wait);
  }
  next.wait = waiter.wait;
  next.kind = waiter.kind;
  next.key = waiter.key;
  next.id = waiter.id;
  next.fence = waiter.fence;
  next.since = now;
  next.deadline = waiter.deadline;
  if (row && row->state == State::buffered) {
    next.state = State::answered;
    next.delivered = false;
    return next;
  }
  // Without an id a message is known again by its body, and two waits for a key may have equal answers.
  std::erase_if(next.taken, [](const std::string& fingerprint) { return fingerprint.starts_with('b'); });
  next.state = State::expected;
  next.message_id.clear();
  next.body.clear();
  return next;
}

Row sooner(const Row& row, const Waiter& waiter) {
  const bool is_open = row && row->wait == waiter.wait && row->state == State::expected;
  if (!is_open || waiter.deadline >= row->deadline) return std::nullopt;
  auto next = *row;
  next.deadline = waiter.deadline;
  return next;
}

Verdict respond(const Row& row, const Message& message, Duration response_ttl, Time now) {
  auto fingerprint = fingerprint_of(message);
  if (row && std::ranges::find(row->taken, fingerprint) != row->taken.end())
    return {Responded::duplicate, std::nullopt};
  if (row && row->state != State::expected) return {Responded::late, std::nullopt};
  if (!row && response_ttl <= Duration{0}) return {Responded::unknown, std::nullopt};
  WaitRecord next = row.value_or(WaitRecord{});
  next.state = row ? State::answered : State::buffered;
  next.delivered = !row;
  if (!row) next.deadline = time_after(now, response_ttl);
  next.since = now;
  next.message_id = message.id;
  next.body = message.body;
  remember(next.taken, std::move(fingerprint));
  return {row ? Responded::accepted : Responded::buffered, std::move(next)};
}

Verdict respond_to(const Row& row, std::string_view wait, const Message& message, Time now) {
  if (row && row->wait == wait) return respond(row, message, Duration{0}, now);
  // Another wait has the key by now; what names a message outlasts the wait that it was for.
  const bool is_known = row && !message.id.empty() &&
                        std::ranges::find(row->taken, fingerprint_of(message)) != row->taken.end();
  return {is_known ? Responded::duplicate : Responded::late, std::nullopt};
}

Close close(const Row& row, std::string_view wait, Time now) {
  if (!row) return {};
  if (row->wait != wait) return {std::ranges::find(row->answered, wait) != row->answered.end(), std::nullopt};
  if (row->state == State::answered) return {true, std::nullopt};
  if (row->state != State::expected) return {};
  auto next = *row;
  next.state = State::closed;
  next.since = now;
  return {false, std::move(next)};
}

WaitRecord delivered(WaitRecord record, Time now) {
  record.delivered = true;
  record.since = now;
  record.message_id.clear();
  record.body.clear();
  return record;
}

}  // namespace ordo::domain

namespace ordo {

std::string_view to_string(Responded responded) {
  switch (responded) {
    case Responded::accepted:
      return "accepted";
    case Responded::buffered:
      return "buffered";
    case Responded::duplicate:
      return "duplicate";
    case Responded::late:
      return "late";
    case Responded::unknown:
      return "unknown";
    case Responded::refused:
      return "refused";
    case Responded::full:
      return "full";
  }
  return "unknown";
}

}  // namespace ordo
