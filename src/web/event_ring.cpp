#include "web/event_ring.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "faces/object_text.h"

namespace ordo::web {
namespace {

constexpr std::size_t kMostRead = 64U << 10;  // bytes at a time
constexpr std::string_view kMissed = "event: missed\ndata: {\"events\":\"some\"}\n\n";

bool is_passing(EventType type) { return type == EventType::job_started || type == EventType::job_finished; }

// Errors may have 16 KiB each.
std::string json_of(const Event& event) {
  ObjectText object;
  object.text_or_null("queue", event.queue);
  if (!event.kind.empty()) object.name("kind", event.kind).name("key", event.key);
  object.name("id", event.id).number("shard", event.shard).time("at", event.at);
  if (!event.kind.empty()) object.real("took", seconds_of(event.took)).number("attempt", event.attempt);
  if (event.waited) object.real("waited", seconds_of(*event.waited));
  if (!event.error.empty()) object.text("error", shortened(event.error));
  if (event.retry_at) object.time("retry_at", *event.retry_at);
  return object.end();
}

}  // namespace

void EventRing::add(const Event& event) {
  const bool is_passed = is_passing(event.type);
  if (is_passed && watchers_ == 0) return;
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

void EventRing::place(Reader& reader, std::string_view last_id) {
  const std::lock_guard lock(mutex_);
  reader.after = last_;
  if (last_id.empty()) return;
  reader.after = 0;
  const auto dash = last_id.find('-');
  if (last_id.substr(0, dash) != epoch_ || dash == std::string_view::npos) return;
  const auto number = last_id.substr(dash + 1);
  std::from_chars(number.data(), number.data() + number.size(), reader.after);
  reader.after = std::min(reader.after, last_);
}

bool EventRing::has_gap(const Ring& ring, const Reader& reader) const { return reader.after < ring.gone; }

bool EventRing::read(Reader& reader, std::string& text) {
  const std::lock_guard lock(mutex_);
  const bool is_new = std::exchange(reader.is_new, false);
  if (has_gap(lasting_, reader) && !is_new) return false;
  const bool wants_passing = reader.wants("job_started") || reader.wants("job_finished");
  if (has_gap(lasting_, reader) || (has_gap(passing_, reader) && wants_passing)) text += kMissed;
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
  return true;
}

}  // namespace ordo::web
