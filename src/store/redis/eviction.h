#pragma once

#include <cstdint>
#include <optional>

#include <string>
#include <string_view>

#include "store/redis/resp.h"

namespace ordo::store::redis {

/// What INFO says behind "name:"; empty: nothing.
std::string_view server_fact(std::string_view info, std::string_view name);
/// The same of a number; 0: nothing.
std::uint64_t server_figure(std::string_view info, std::string_view name);

/// Whether a server throws keys away when its memory is short, and how many it has.
struct Eviction {
  std::string policy;
  std::uint64_t keys = 0;  ///< since the server was started

  /// Jobs have no time to live: only a policy for all keys takes them.
  bool takes_jobs() const { return policy.starts_with("allkeys"); }
  /// What was evicted may have been Ordo's, by the policy of now.
  bool may_have_taken_jobs() const { return keys > 0 && !policy.starts_with("volatile"); }

  /// Why a server with such a policy keeps no jobs, and what to do.
  std::string policy_text() const;
  /// What was evicted.
  std::string keys_text() const;
};

/// Where the policy is read. Not every user may call CONFIG GET, which is much cheaper.
enum class PolicyFrom { config, info };

/// The question that ends each pipeline.
const CommandText& policy_question(PolicyFrom source);
/// Its answer; empty: the server has not told.
std::string policy_of(const Reply& answer);

/// How many keys the server has evicted.
const CommandText& evicted_question();
/// Its answer; nothing: the server has not told.
std::optional<std::uint64_t> evicted_of(const Reply& answer);

/// What the whole of INFO says.
Eviction eviction_of(std::string_view info);

}  // namespace ordo::store::redis
