#pragma once

#include <string>
#include <string_view>

namespace ordo {

/// `text` with "***" for the passwords in it, to be shown or logged: those of URLs
/// (redis://user:password@host, postgres://host/db?password=…, several hosts or none), and those of settings
/// (host=h password='…', PGPASSWORD=…).
///
/// It rather hides too much: what stands before the last '@' of a store's URL counts as its sign-on, so that
/// a password whose '@', '/' or '?' is not %-escaped is hidden, too. Text without any is returned as it is.
std::string redact(std::string_view text);

}  // namespace ordo
