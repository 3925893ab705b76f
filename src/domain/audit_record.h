#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ordo/admin.hpp>

#include "domain/decoded.h"

// How the log of changes is stored: rows under one name, which are listed from the newest to the oldest.
namespace ordo::domain {

inline constexpr std::uint64_t kMostAuditRows = 100'000;
inline constexpr Duration kAuditLife = std::chrono::days{90};

/// Of the change with this number; they count from 1 on.
std::string audit_row_key(std::uint64_t number);
/// 0: it is no such key.
std::uint64_t number_of_audit_row(std::string_view key);

std::string encode(const AuditEntry& entry);
Decoded<AuditEntry> decode_audit_entry(std::string_view bytes);

}  // namespace ordo::domain
