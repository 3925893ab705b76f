#include "domain/dead_letters.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/fnv.h"
#include "base/time_text.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kLetterVersion = 1;
constexpr std::uint8_t kListVersion = 1;
constexpr char kExpiry = 'e';
constexpr std::size_t kTimeBytes = 8, kNameBytes = 16;

DeadLetter read_letter(std::string_view bytes) {
  ByteReader in(bytes, "dead letter");
  std::string unknown;
  if (get_version(in, unknown) != kLetterVersion) in.fail("its version is unknown");
  DeadLetter letter;
  const auto why = in.get<std::uint8_t>();
  if (why > static_cast<std::uint8_t>(DeadLetter::Why::unused)) in.fail("its reason is unknown");
  letter.why = static_cast<DeadLetter::Why>(why);
  letter.at = written_time(get_time(in));
  letter.key = in.get_short();
  letter.job_kind = in.get_short();
  letter.job_key = in.get_short();
  letter.job_id = in.get_short();
  letter.message_id = in.get_short();
  letter.body = in.rest();
  return letter;
}

// Rows are listed by the bytes of their keys.
std::string sortable(Time time) {
  auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(time.time_since_epoch().count(), 0));
  std::string bytes(kTimeBytes, '\0');
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte, left >>= 8) *byte = static_cast<char>(left);
  return bytes;
}

bool has_room(const LetterList& list, const LetterBounds& bounds) {
  std::uint64_t bytes = 0;
  for (const auto& item : list.items) bytes += item.bytes;
  return list.items.size() <= bounds.most && bytes <= bounds.most_bytes;
}

}  // namespace

std::string encode(const DeadLetter& letter) {
  std::string bytes;
  ByteWriter out(bytes);
  put_version(out, kLetterVersion, {});
  out.put(static_cast<std::uint8_t>(letter.why));
  put_time(out, letter.at);
  out.put_short(letter.key);
  out.put_short(letter.job_kind);
  out.put_short(letter.job_key);
  out.put_short(letter.job_id);
  out.put_short(letter.message_id);
  out.put_rest(letter.body);
  return bytes;
}

Decoded<DeadLetter> decode_dead_letter(std::string_view bytes) {
  return read_record<DeadLetter>([&] { return read_letter(bytes); });
}

std::string encode(const LetterList& list) {
  std::string bytes;
  ByteWriter out(bytes);
  put_version(out, kListVersion, {});
  for (const auto& item : list.items) {
    put_time(out, item.at);
    out.put(item.bytes);
    out.put_short(item.name);
  }
  return bytes;
}

Decoded<LetterList> decode_letter_list(std::string_view bytes) {
  return read_record<LetterList>([&] {
    ByteReader in(bytes, "list of dead letters");
    std::string unknown;
    if (get_version(in, unknown) != kListVersion) in.fail("its version is unknown");
    LetterList list;
    while (!in.at_end()) {
      auto& item = list.items.emplace_back();
      item.at = written_time(get_time(in));
      item.bytes = in.get<std::uint32_t>();
      item.name = in.get_short();
    }
    return list;
  });
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
  list = kept_letters(std::move(list), now);
  auto name = letter_name(letter);
  if (std::ranges::find(list.items, name, &LetterList::Item::name) != list.items.end()) return std::nullopt;
  list.items.push_back({letter.at, static_cast<std::uint32_t>(letter.body.size()), std::move(name)});
  std::vector<std::string> gone;
  while (list.items.size() > 1 && !has_room(list, bounds)) {
    gone.push_back(std::move(list.items.front().name));
    list.items.erase(list.items.begin());
  }
  return std::pair{std::move(list), std::move(gone)};
}

std::string letter_row_key(std::string_view name) { return std::string(kLetterListRow).append(name); }

std::string expiry_row_key(Time then, std::string_view key) {
  return kExpiry + sortable(then) + fnv1a_128(key);
}

bool is_expiry_row_key(std::string_view key) {
  return key.size() == 1 + kTimeBytes + kNameBytes && key.front() == kExpiry;
}

std::string first_expiry() { return kExpiry + std::string(kTimeBytes, '\0'); }

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
