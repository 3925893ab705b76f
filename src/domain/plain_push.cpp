#include "domain/plain_push.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/bytes.h"
#include "base/name.h"
#include "base/number_text.h"
#include "base/push_option.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "domain/archive.h"
#include "domain/fields.h"
#include "domain/new_job.h"
#include "domain/unique_fields.h"

namespace ordo::domain {
namespace {

// In front of a push that is kept as it came: no type of an entry.
constexpr std::string_view kAsPushed("\0P", 2);
// The name in front of a push that is kept in part; its value is how many bytes it had.
constexpr std::string_view kCut;
// What a job has of the row of its unique key, for programs that write the row themselves (docs/redis.md).
constexpr std::string_view kHold = "hold";
constexpr std::size_t kLengths = 8;  // of a name and its value, where they are kept

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

[[noreturn]] void refuse_field(std::string_view why) {
  throw Error(ErrorKind::invalid_argument, std::string(why));
}

/// What the fields say, and what it has of the row of its unique key.
struct PlainJob {
  NewJob job;
  std::vector<UniqueHold> holds;
};

UniqueHold read_hold(std::string_view value) {
  Reader in(value, "hold");
  UniqueHold hold;
  fields(in, hold);
  return hold;
}

/// False: no field is called so. Throws Error{invalid_argument} for what does not fit. A payload stays where
/// it is.
bool take_field(PlainJob& plain, std::string_view name, std::string_view value) {
  if (name == kHold) {
    if (!plain.holds.empty()) refuse_field("it is given twice");
    plain.holds.push_back(read_hold(value));
    return true;
  }
  auto& job = plain.job;
  const auto* const option = std::ranges::find(kPushOptions, name, field_of);
  if (option == std::end(kPushOptions) || name.empty()) return false;
  if (option->merged == Merged::names && value.empty()) return true;  // as if it were left out
  if (is_of<PayloadPlace>(*option)) {
    if (value.size() > kLongestPayload)
      refuse_field("it has " + std::to_string(value.size()) + " bytes, at most " +
                   std::to_string(kLongestPayload) + " fit");
    return true;
  }
  const auto* const span = std::get_if<std::optional<Duration> NewJob::*>(&option->place);
  const auto given_seconds = span != nullptr ? read_number<double>(value) : std::nullopt;
  if (given_seconds) {
    job.*(*span) = timeout_of_seconds(*given_seconds).value_or(Duration{0});
    check_option(job, *option, "it");
  } else {
    set_option(job, *option, value, "it");
  }
  if (job.delay) refuse_field("it needs a time: nobody knows when a span began");
  return true;
}

/// Its views are of the fields, of `id` and of `kind`.
Entry entry_of_fields(PlainJob plain, PlainFields fields, std::string_view id, std::string_view kind) {
  const auto view_of = [&](std::string_view name, std::string_view otherwise) {
    for (const auto& [its_name, value] : fields) {
      if (its_name == name && !value.empty()) otherwise = value;
    }
    return otherwise;
  };
  auto entry = entry_of({}, plain.job);
  entry.id = view_of("id", id);
  entry.key = view_of("key", entry.id);
  entry.kind = view_of("kind", kind);
  entry.payload = view_of("payload", {});
  auto& options = entry.options;
  options.unique = std::move(plain.holds);
  if (options.timeout) options.timeout = written_timeout(*options.timeout);
  // Without a time of its own its owner knows when it came.
  if (options.expires_after)
    options.expires = entry.run_at ? time_after(*entry.run_at, *options.expires_after) : Time::max();
  return entry;
}

Decoded<Entry> understand(PlainFields fields, std::string_view id, std::string_view kind) {
  PlainJob plain;
  std::string cut;
  const auto refused = [&](const std::string& why) {
    return Unreadable{why + (cut.empty() ? "" : "; " + cut), 0};
  };
  for (const auto& [name, value] : fields) {
    if (name == kRefused) return refused(std::string(value));
    const auto taken = read_record<bool>([&] { return take_field(plain, name, value); });
    if (!taken) return refused("the field " + in_quotes(name) + " does not fit: " + taken.why());
    if (*taken) continue;
    const auto size = name == kCut && cut.empty() ? read_number<std::uint64_t>(value) : std::nullopt;
    if (!size) return refused("the field " + in_quotes(name) + " is unknown");
    cut = "of the " + std::to_string(*size) + " bytes that were pushed only the first are kept";
  }
  if (!cut.empty()) return Unreadable{cut, 0};
  return entry_of_fields(std::move(plain), fields, id, kind);
}

/// As much of it as is kept; nothing is cut off from what is shorter.
Pairs kept_of(PlainFields fields, std::string& size_text) {
  std::size_t size = 0;
  for (const auto& [name, value] : fields) size += kLengths + name.size() + value.size();
  if (size <= kMostKeptOfPush) return {fields.begin(), fields.end()};
  size_text = std::to_string(size);
  Pairs kept{{kCut, size_text}};
  auto left = kMostKeptOfPush;
  for (auto [name, value] : fields) {
    if (left <= kLengths) break;
    left -= kLengths;
    name = name.substr(0, left);
    value = value.substr(0, left - name.size());
    left -= name.size() + value.size();
    kept.emplace_back(name, value);
  }
  return kept;
}

struct KeptPush {
  std::string_view id, kind;
  Pairs fields;
};

// With lengths as int4send() of PostgreSQL writes them: ordo_push makes such bytes (schema/push.sql).
void put_text(std::string& out, std::string_view text) {
  ByteWriter(out).put(__builtin_bswap32(static_cast<std::uint32_t>(text.size())));
  out += text;
}

/// Off the front of `bytes`; nothing: they end too early.
std::optional<std::string_view> take_text(std::string_view& bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return std::nullopt;
  const auto size = __builtin_bswap32(ByteReader(bytes, "push").get<std::uint32_t>());
  bytes.remove_prefix(sizeof size);
  if (size > bytes.size()) return std::nullopt;
  const auto text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}

Decoded<KeptPush> read_kept(std::string_view bytes) {
  bytes.remove_prefix(kAsPushed.size());
  const auto id = take_text(bytes), kind = take_text(bytes);
  const auto is_name = [](const auto& name) {
    return name && !name->empty() && name->size() <= kLongestJobName;
  };
  if (!is_name(id) || !is_name(kind)) return Unreadable{"cannot read a stored push: it names no job", 0};
  KeptPush push{*id, *kind, {}};
  while (!bytes.empty()) {
    const auto name = take_text(bytes), value = take_text(bytes);
    if (!name || !value) return Unreadable{"cannot read a stored push: it ends too early", 0};
    push.fields.emplace_back(*name, *value);
  }
  return push;
}

}  // namespace

std::string encode_plain_push(PlainFields fields, std::string_view id, std::string_view kind) {
  if (const auto entry = understand(fields, id, kind)) return encode(*entry);
  std::string bytes(kAsPushed), size_text;
  put_text(bytes, id);
  put_text(bytes, kind);
  for (const auto& [name, value] : kept_of(fields, size_text)) {
    put_text(bytes, name);
    put_text(bytes, value);
  }
  return bytes;
}

bool is_plain_push(std::string_view bytes) { return bytes.starts_with(kAsPushed); }

Decoded<Entry> decode_plain_push(std::string_view bytes) {
  const auto push = read_kept(bytes);
  return push ? understand(push->fields, push->id, push->kind) : Unreadable{push.why(), 0};
}

PushedNames names_of_plain_push(std::string_view bytes) {
  PushedNames names;
  const auto push = read_kept(bytes);
  if (!push) return names;
  names.id = push->id;
  names.kind = push->kind;
  for (const auto& [name, value] : push->fields) {
    if (name == kHold) {
      if (auto hold = read_record<UniqueHold>([&, value = value] { return read_hold(value); }))
        names.holds.push_back(*std::move(hold));
    }
    if (value.empty() || value.size() > kLongestJobName) continue;
    if (name == "id") names.id = value;
    if (name == "key") names.key = value;
    if (name == "kind") names.kind = value;
  }
  return names;
}

std::string_view field_of_plain_push(std::string_view bytes, std::string_view field) {
  const auto push = read_kept(bytes);
  if (!push) return {};
  const auto found = std::ranges::find(push->fields, field, &Pairs::value_type::first);
  return found == push->fields.end() ? std::string_view() : found->second;
}

}  // namespace ordo::domain
