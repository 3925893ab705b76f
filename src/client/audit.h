#pragma once

#include <concepts>
#include <string>
#include <utility>

#include <ordo/admin.hpp>
#include <ordo/error.hpp>

#include "client/admin_impl.h"

namespace ordo {

/// "unix:NAME" of the user of this process.
std::string user_of_process();

// Which jobs a change is for, as JSON. Nothing of payloads.
std::string filter_json(const JobFilter& filter);
std::string filter_json(const DeadFilter& filter);
std::string filter_json(const JobName& job);
/// {"name":"value"}
std::string filter_json(std::string_view name, std::string_view value);

/// {"limit":"crm","value":50,"rate":…}
std::string limit_filter(std::string_view name, const std::optional<Decimal>& limit,
                         const std::optional<RateLimit>& rate);

/// Notes what failed, as well as it goes: what is thrown matters more.
void note_failure(Admin::Impl& impl, AuditEntry entry, const Error& error);

/// Makes a change and notes what became of it. `change` answers whether, or how many, or nothing.
template <class Change>
auto audited(Admin::Impl& impl, AuditEntry entry, const Change& change) {
  using Result = decltype(change());
  entry.result = "done";
  try {
    if constexpr (std::is_void_v<Result>) {
      change();
      impl.note(entry);
    } else {
      auto result = change();
      if constexpr (std::same_as<Result, bool>) {
        if (!result) entry.result = "unchanged";
      } else if constexpr (std::integral<Result>) {
        entry.count = result;
      }
      impl.note(entry);
      return result;
    }
  } catch (const Error& error) {
    note_failure(impl, std::move(entry), error);
    throw;
  }
}

}  // namespace ordo
