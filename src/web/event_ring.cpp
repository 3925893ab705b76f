#include "web/event_ring.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "faces/object_text.h"

namespace ordo::web {
namespace {

constexpr std::size_t kMostRead = 64U << 10;  // bytes at a time
constexpr std::string_view kMissed = "event: missed\ndata: {\"events\":\"some\"}\n\n";

bool is_passing(EventType type) { return type == EventType::job_started || type == EventType::job_finished; }

// A job may fail without one: cancelled while it waited, discarded.
bool has_run(const Event& event) {
  return event.type == EventType::job_finished ||
         (event.type == EventType::job_failed && event.took != Duration{});
}

// Errors may have 16 KiB each.
std::string json_of(const Event& event) {
  ObjectText object;
  object.text_or_null("queue", event.queue);
  if (!event.kind.empty()) object.name("kind", event.kind).name("key", event.key);
  object.name("id", event.id).number("shard", event.shard).time("at", event.at);
  if (has_run(event)) object.real("took", seconds_of(event.took));
  if (!event.kind.empty()) object.number("attempt", event.attempt);
  if (event.waited) object.real("waited", seconds_of(*event.waited));
  if (!event.error.empty()) object.text("error", shortened(event.error));
  if (event.retry_at) object.time("retry_at", *event.retry_at);
  return object.end();
}

}  // namespace

void EventRing::add(const Event& event) {
  const bool is_passed = is_passing(event.type);
  if (is_passed && watchers_ == 0) {
    has_skipped_ = true;
    return;
  }
  auto data = json_of(event);
  const std::lock_guard lock(mutex_);
  auto& ring = is_passed ? passing_ : lasting_;
  const auto number = ++last_;
  auto text = fmt::format("id: {}-{}\nevent: {}\ndata: {}\n\n", epoch_, number, to_string(event.type), data);
  ring.events.push_back({number, event.type, event.queue, std::move(text)});
  if (ring.events.size() <= kKept) return;
  ring.gone = ring.events.front().number;
  ring.events.pop_front();
}

void EventRing::forget() {
  const std::lock_guard lock(mutex_);
  for (auto* ring : {&lasting_, &passing_}) {
    ring->events.clear();
    ring->gone = last_;
  }
}

// Who comes back has missed those that were skipped: they take one number together.
void EventRing::add_watcher() {
  const std::lock_guard lock(mutex_);
  if (watchers_++ == 0 && has_skipped_.exchange(false)) passing_.gone = ++last_;
}

void EventRing::place(Reader& reader, std::string_view last_id) {
  const std::lock_guard lock(mutex_);
  reader.after = last_;
  if (last_id.empty()) return;
  reader.after = 0;
  reader.is_stranger = true;
  const auto dash = last_id.find('-');
  if (last_id.substr(0, dash) != epoch_ || dash == std::string_view::npos) return;
  const auto number = last_id.substr(dash + 1);
  const auto* const end = number.data() + number.size();
  const auto [at, error] = std::from_chars(number.data(), end, reader.after);
  reader.is_stranger = error != std::errc{} || at != end || reader.after > last_;
  if (reader.is_stranger) reader.after = 0;
}

void EventRing::read(Reader& reader, std::string& text) {
  const std::lock_guard lock(mutex_);
  const bool wants_passing = reader.wants("job_started") || reader.wants("job_finished");
  const auto gone = std::max(lasting_.gone, wants_passing ? passing_.gone : 0);
  const bool has_gap = gone > std::max(reader.after, reader.told_gone);
  if (std::exchange(reader.is_stranger, false) || has_gap) text += kMissed;
  reader.told_gone = std::max(reader.told_gone, gone);
  const auto behind = [&](const Ring& ring) {
    return std::ranges::upper_bound(ring.events, reader.after, {}, &Kept::number);
  };
  auto lasting = behind(lasting_);
  auto passing = behind(passing_);
  while (text.size() < kMostRead) {
    const bool is_passing_next = passing != passing_.events.end() &&
                                 (lasting == lasting_.events.end() || passing->number < lasting->number);
    if (!is_passing_next && lasting == lasting_.events.end()) {
      reader.after = last_;
      break;
    }
    const Kept& next = is_passing_next ? *passing++ : *lasting++;
    reader.after = next.number;
    if (!reader.queues.empty() && !reader.queues.contains(next.queue)) continue;
    if (reader.wants(to_string(next.type))) text += next.text;
  }
}

}  // namespace ordo::web
