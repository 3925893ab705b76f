#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

namespace ordo::web {

inline constexpr std::string_view kSessionCookie = "ordo_session";
inline constexpr std::chrono::hours kSessionTime{12};

// A session is a cookie: it has the secret of its token, sealed with a key that its hash makes. So all
// processes with the same tokens know it, it ends with its token, and who only reads hashes makes none.

std::string make_session(const AccessToken& token, std::string_view secret, Time now);
/// The token of a session; null: it is over, or none of ours.
const AccessToken* token_of_session(const std::vector<AccessToken>& tokens, std::string_view session,
                                    Time now);
/// What only pages of ours can say with a session.
std::string csrf_of_session(const AccessToken& token, std::string_view session);

/// The token of a secret; null: there is none. Takes as long whichever it is.
const AccessToken* token_of_secret(const std::vector<AccessToken>& tokens, std::string_view secret);

}  // namespace ordo::web
