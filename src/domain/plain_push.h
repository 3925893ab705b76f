#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name.h"
#include "domain/entry.h"

namespace ordo::domain {

/// A push that another program made without Ordo's codec, as names and values (docs/redis.md): options of a
/// job (base/push_option.h).
using PlainFields = std::span<const std::pair<std::string_view, std::string_view>>;

/// So much is kept of what is no push: one that is a little above the limit stays whole, and many of them in
/// one commit are no more than a server takes.
inline constexpr std::size_t kMostKeptOfPush = 2 * kLongestPayload;

/// The name of a field that says why a job cannot be run: it goes to the dead with that. First of all fields.
inline constexpr std::string_view kRefused = "refused";

/// The entry that they stand for, encoded. What is left out has the defaults of a push: `id` names the job,
/// `kind` its kind. What cannot be understood is kept as it was pushed, the first kMostKeptOfPush bytes
/// of it; decode_entry() says why.
std::string encode_plain_push(PlainFields fields, std::string_view id, std::string_view kind);

/// Bytes that were kept as they were pushed, or that ordo_push has stored (store/postgres/schema/push.sql).
/// Who understands them reads an entry.
bool is_plain_push(std::string_view bytes);
Decoded<Entry> decode_plain_push(std::string_view bytes);

/// As whose the job was pushed, for who looks for it, and what it has of unique rows; empty: that is not
/// said, or no job could be called so.
struct PushedNames {
  std::string id, key, kind;
  std::vector<UniqueHold> holds;
};
PushedNames names_of_plain_push(std::string_view bytes);
/// What one of its fields says, within `bytes`; empty: it has no such field.
std::string_view field_of_plain_push(std::string_view bytes, std::string_view field);

}  // namespace ordo::domain
