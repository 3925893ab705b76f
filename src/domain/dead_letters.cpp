#include "domain/dead_letters.h"

#include <algorithm>

#include "base/assert.h"
#include "base/fnv.h"
#include "base/time_text.h"
#include "domain/archive.h"

namespace ordo::domain {
namespace {

constexpr char kExpiry = 'e';
constexpr std::size_t kNumberBytes = 8, kNameBytes = 16;

// Rows are listed by the bytes of their keys.
std::string sortable(std::uint64_t number) {
  std::string bytes(kNumberBytes, '\0');
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte, number >>= 8)
    *byte = static_cast<char>(number);
  return bytes;
}

std::string sortable(Time time) {
  return sortable(static_cast<std::uint64_t>(std::max<std::int64_t>(time.time_since_epoch().count(), 0)));
}

bool has_room(const LetterList& list, const LetterBounds& bounds) {
  std::uint64_t bytes = 0;
  for (const auto& item : list.items) bytes += item.bytes;
  return list.items.size() <= bounds.most && bytes <= bounds.most_bytes;
}

}  // namespace

template <class A>
void fields(A& a, In<A, DeadLetter>& letter) {
  a.head(1);
  a.choice(letter.why, DeadLetter::Why::unused, "its reason is unknown");
  a.time(letter.at);
  a.short_text(letter.key);
  a.short_text(letter.job_kind);
  a.short_text(letter.job_key);
  a.short_text(letter.job_id);
  a.short_text(letter.message_id);
  a.rest(letter.body);
}

template <class A>
void fields(A& a, In<A, LetterList::Item>& item) {
  a.time(item.at);
  a.number(item.bytes);
  a.short_text(item.name);
}

template <class A>
void fields(A& a, In<A, LetterList>& list) {
  a.head(1);
  a.until_end(list.items);
}

std::string encode(const DeadLetter& letter) { return to_bytes(letter); }
Decoded<DeadLetter> decode_dead_letter(std::string_view bytes) {
  return decode<DeadLetter>(bytes, "dead letter");
}

std::string encode(const LetterList& list) { return to_bytes(list); }
Decoded<LetterList> decode_letter_list(std::string_view bytes) {
  return decode<LetterList>(bytes, "list of dead letters");
}

std::string letter_name(const DeadLetter& letter) {
  const bool has_id = !letter.message_id.empty();
  std::string names = std::to_string(letter.key.size()) + (has_id ? 'm' : 'b');
  return fnv1a_128(names.append(letter.key).append(has_id ? letter.message_id : letter.body));
}

LetterList kept_letters(LetterList list, Time now) {
  std::erase_if(list.items, [&](const auto& item) { return time_after(item.at, kLetterLife) <= now; });
  return list;
}

std::optional<std::pair<LetterList, std::vector<std::string>>> with(LetterList list, const DeadLetter& letter,
                                                                    const LetterBounds& bounds, Time now) {
  auto name = letter_name(letter);
  const auto known = std::ranges::find(list.items, name, &LetterList::Item::name);
  if (known != list.items.end()) {
    if (now < time_after(known->at, kLetterLife)) return std::nullopt;
    list.items.erase(known);
  }
  list.items.push_back({letter.at, static_cast<std::uint32_t>(letter.body.size()), std::move(name)});
  std::vector<std::string> gone;
  while (list.items.size() > 1 && !has_room(list, bounds)) {
    gone.push_back(std::move(list.items.front().name));
    list.items.erase(list.items.begin());
  }
  return std::pair{std::move(list), std::move(gone)};
}

std::string letter_row_key(std::string_view name) { return std::string(kLetterListRow).append(name); }

std::string expiry_row_key(Time then, std::string_view key, std::uint64_t body_bytes) {
  return kExpiry + sortable(then) + fnv1a_128(key) + sortable(body_bytes);
}

bool is_expiry_row_key(std::string_view key) {
  return key.size() == 1 + kNumberBytes + kNameBytes + kNumberBytes && key.front() == kExpiry;
}

std::uint64_t expiry_bytes(std::string_view row_key) {
  std::uint64_t bytes = 0;
  for (const char byte : row_key.substr(row_key.size() - kNumberBytes))
    bytes = bytes << 8 | static_cast<unsigned char>(byte);
  return bytes;
}

std::string first_expiry() { return kExpiry + std::string(kNumberBytes, '\0'); }

std::string end_of_expiries() { return kExpiry + sortable(Time::max()); }

std::string end_of_expired(Time now) { return kExpiry + sortable(time_after(now, Duration{1})); }

}  // namespace ordo::domain

namespace ordo {

std::string_view to_string(DeadLetter::Why why) {
  switch (why) {
    case DeadLetter::Why::late:
      return "late";
    case DeadLetter::Why::unknown:
      return "unknown";
    case DeadLetter::Why::unused:
      return "unused";
  }
  return "unknown";
}

}  // namespace ordo
