// Finds passwords by where they stand: before the '@' of a URL, and behind a name that says so.

#include "base/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>

namespace ordo {
namespace {

constexpr std::string_view kHidden = "***";
constexpr std::string_view kSpaces = " \t\r\n\f\v";

/// A setting whose name ends with one of them is a secret: sslpassword, PGPASSWORD, sentinel_password.
constexpr std::array<std::string_view, 4> kSecrets = {"password", "passwd", "pwd", "secret"};

/// What a Redis that knows no AUTH answers; the password stands behind it.
constexpr std::string_view kArguments = "with args beginning with:";

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool ends_with(std::string_view text, std::string_view end) {
  if (text.size() < end.size()) return false;
  return std::ranges::equal(text.substr(text.size() - end.size()), end,
                            [](char a, char b) { return lower(a) == lower(b); });
}

bool is_secret(std::string_view name) {
  return std::ranges::any_of(kSecrets, [&](std::string_view end) { return ends_with(name, end); });
}

/// %-escapes replaced, as libpq does with the names of a URL's settings, too.
std::string decoded(std::string_view text) {
  const auto digit = [](char c) -> std::optional<unsigned> {
    if (c >= '0' && c <= '9') return c - '0';
    if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
    return std::nullopt;
  };
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto high = at + 2 < text.size() && text[at] == '%' ? digit(text[at + 1]) : std::nullopt;
    const auto low = high ? digit(text[at + 2]) : std::nullopt;
    plain += low ? static_cast<char>(*high << 4 | *low) : text[at];
    if (low) at += 2;
  }
  return plain;
}

bool is_scheme(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

bool is_user(std::string_view text) {
  return std::ranges::all_of(
      text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

bool is_store(std::string_view scheme) {
  return scheme.starts_with("redis") || scheme.starts_with("postgres");
}

bool is_figure(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Of a URL without '@': hosts, each with a port that is a number. Else it is a sign-on whose end is missing.
bool are_hosts(std::string_view authority) {
  while (!authority.empty()) {
    auto host = authority.substr(0, std::min(authority.find(','), authority.size()));
    authority.remove_prefix(std::min(host.size() + 1, authority.size()));
    if (const auto v6 = host.rfind(']'); v6 != std::string_view::npos) host.remove_prefix(v6);
    const auto port = host.substr(std::min(host.find(':'), host.size()));
    if (port.size() > 1 && !is_figure(port[1]) && std::isalnum(static_cast<unsigned char>(port[1])) != 0)
      return false;
    const auto behind =
        std::ranges::find_if_not(port.substr(std::min<std::size_t>(1, port.size())), is_figure);
    if (behind != port.end() && std::isalnum(static_cast<unsigned char>(*behind)) != 0) return false;
  }
  return true;
}

std::string_view authority_of(std::string_view rest) {
  return rest.substr(0, std::min(rest.find_first_of("/?#"), rest.size()));
}

/// Where the URL ends whose part behind "://" begins `text`: at a space, unless that stands in its password.
std::size_t end_of_url(std::string_view scheme, std::string_view text) {
  const auto end = std::min(text.find_first_of(kSpaces), text.size());
  const auto url = text.substr(0, end);
  if (!is_store(scheme) || url.find('@') != std::string_view::npos || are_hosts(authority_of(url)))
    return end;
  const auto line = text.substr(0, std::min(text.find('\n'), text.size()));
  const auto at = line.rfind('@');
  return at == std::string_view::npos ? end : std::min(text.find_first_of(kSpaces, at), text.size());
}

/// Settings of a URL or of one setting's value: `a=b&password=c`.
void append_settings(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto setting = text.substr(0, std::min(text.find('&'), text.size()));
    const auto equals = setting.find('=');
    const bool hidden = equals != std::string_view::npos && equals + 1 < setting.size() &&
                        is_secret(decoded(setting.substr(0, equals)));
    out += hidden ? setting.substr(0, equals + 1) : setting;
    if (hidden) out += kHidden;
    text.remove_prefix(setting.size());
    if (text.empty()) break;
    out += '&';
    text.remove_prefix(1);
  }
}

/// `rest`: of a URL, behind "://", to its end.
void append_url(std::string& out, std::string_view scheme, std::string_view rest) {
  // Of other URLs an '@' may stand in the path: only the authority is looked at.
  const auto place = is_store(scheme) ? rest : authority_of(rest);
  if (const auto at = place.rfind('@'); at != std::string_view::npos) {
    const auto sign_on = rest.substr(0, at);
    const auto colon = sign_on.find(':');
    const auto user = sign_on.substr(0, std::min(colon, sign_on.size()));
    const bool has_password = colon != std::string_view::npos || !scheme.starts_with("postgres");
    if (is_user(user) && (colon != std::string_view::npos || !has_password)) out += user;
    if (is_user(user) && colon != std::string_view::npos) out += ':';
    if (!is_user(user) || has_password) out += kHidden;
    // An '@' in a setting's value: what is behind it belongs to that value.
    if (sign_on.find('=') != std::string_view::npos) return;
    out += '@';
    rest.remove_prefix(at + 1);
  } else if (is_store(scheme) && !are_hosts(authority_of(rest))) {
    out += kHidden;
    return;
  }
  const auto query = std::min(rest.find('?'), rest.size());
  out += rest.substr(0, query);
  if (query == rest.size()) return;
  out += '?';
  append_settings(out, rest.substr(query + 1));
}

/// Where the value that begins at `at` ends. In quotes, or up to a space; a backslash takes what follows.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  const char quote = text[at] == '\'' || text[at] == '"' ? text[at] : '\0';
  for (std::size_t i = quote != '\0' ? at + 1 : at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quote != '\0' ? text[i] == quote : kSpaces.find(text[i]) != std::string_view::npos) {
      return quote != '\0' ? i + 1 : i;
    }
  }
  return text.size();
}

}  // namespace

std::string redact(std::string_view text) {
  std::string out;
  std::size_t shown = 0;  // up to here it is in `out`
  const auto show = [&](std::size_t end) {
    out += text.substr(shown, end - shown);
    shown = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("://")) {
      std::size_t begin = at;
      while (begin > shown && is_scheme(text[begin - 1])) --begin;
      const auto scheme = text.substr(begin, at - begin);
      const auto end = at + 3 + end_of_url(scheme, text.substr(at + 3));
      show(at + 3);
      append_url(out, scheme, text.substr(at + 3, end - at - 3));
      shown = at = end;
    } else if (text[at] == '=') {
      std::size_t name = at;
      while (name > shown && kSpaces.find(text[name - 1]) != std::string_view::npos) --name;
      const auto value = text.find_first_not_of(kSpaces, at + 1);
      ++at;
      if (value == std::string_view::npos || !is_secret(text.substr(shown, name - shown))) continue;
      show(value);
      out += kHidden;
      shown = at = end_of_value(text, value);
    } else if (text.substr(at).starts_with(kArguments)) {
      show(at + kArguments.size());
      out += ' ';
      out += kHidden;
      return out;
    } else {
      ++at;
    }
  }
  show(text.size());
  return out;
}

}  // namespace ordo
