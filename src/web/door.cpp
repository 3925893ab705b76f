// Who may come in: by where a request comes from, by token or session, by role, and by queue.
#include "web/door.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/shorten.h"
#include "web/problem.h"
#include "web/secret.h"
#include "web/session.h"

namespace ordo::web {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"127.0.0.1", "localhost", "[::1]"};
constexpr std::string_view kBearer = "bearer ";

bool is_of_proxy(std::string_view name) {
  return name == "forwarded" || name == "via" || name.starts_with("x-forwarded-");
}

std::size_t count_of(const Headers& headers, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count(headers, name, &Headers::value_type::first));
}

bool is_change(const Request& request, const Route& route) {
  return request.method != "GET" && request.method != "HEAD" && route.needs != Needs::session;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Empty: there is none.
std::string session_of(const Request& request) {
  for (const auto& [name, value] : request.headers) {
    if (name != "cookie") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const auto pair = trimmed(rest.substr(0, rest.find(';')));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
      if (pair.starts_with(kSessionCookie) && pair.substr(kSessionCookie.size()).starts_with('='))
        return std::string(pair.substr(kSessionCookie.size() + 1));
    }
  }
  return {};
}

/// "https://jobs.example.com/ordo" is of "https://jobs.example.com".
std::string_view origin_of(std::string_view url) {
  const auto host = url.find("://");
  return host == std::string_view::npos ? url : url.substr(0, url.find('/', host + 3));
}

}  // namespace

Door::Door(const ListenAddress& address, std::shared_ptr<const LiveConfig> config, Clock& clock)
    : ip_(address.ip),
      config_(std::move(config)),
      behind_proxy_(config_->now()->web.behind_proxy),
      has_tls_(config_->now()->web.has_tls()),
      is_local_(address.is_loopback() && !behind_proxy_),
      clock_(clock),
      failures_(clock),
      guesses_(clock) {}

void Door::refuse_other_hosts(const Request& request, std::string_view host) const {
  const auto is_ours = [&](std::string_view name) {
    const auto usual = has_tls_ ? 443 : 80;
    return host == fmt::format("{}:{}", name, port_.load()) || (port_ == usual && host == name);
  };
  if (!std::ranges::any_of(kNames, is_ours) && !is_ours(ip_)) {
    throw Problem(403, fmt::format("the Host is {}; this server answers to 127.0.0.1:{} and localhost:{}",
                                   in_quotes(std::string(host)), port_.load(), port_.load()));
  }
  for (const auto& [name, value] : request.headers) {
    if (is_of_proxy(name))
      throw Problem(403,
                    fmt::format("there is a {} header: what a proxy brings in needs [web] behind_proxy and "
                                "tokens",
                                name));
  }
}

bool Door::is_own_origin(std::string_view origin, std::string_view host) const {
  const auto config = config_->now();
  const auto& url = config->web.public_url;
  if (!is_local_ && !url.empty() && origin == lower(origin_of(url))) return true;
  const auto with = [&](std::string_view scheme) { return origin == fmt::format("{}://{}", scheme, host); };
  if (behind_proxy_) return with("https") || with("http");
  return with(has_tls_ ? "https" : "http");
}

void Door::refuse_strangers(const Request& request) const {
  const auto host = lower(request.header("host"));
  if (count_of(request.headers, "host") != 1) throw Problem(403, "there is not exactly one Host");
  if (is_local_) refuse_other_hosts(request, host);
  const auto origin = lower(request.header("origin"));
  if (request.has("origin") && (count_of(request.headers, "origin") != 1 || !is_own_origin(origin, host))) {
    throw Problem(
        403, fmt::format("the Origin is {}: pages of other sites may not ask this server{}",
                         in_quotes(origin), behind_proxy_ ? "; if it is yours, set [web] public_url" : ""));
  }
  const auto site = request.header("sec-fetch-site");
  if (!request.has("sec-fetch-site") || site == "same-origin" || site == "none") return;
  // Who follows a link to this server comes without a session, as its cookie is SameSite=Strict.
  const bool is_link = request.method == "GET" && request.header("sec-fetch-mode") == "navigate";
  if (is_local_ || !is_link)
    throw Problem(403, "Sec-Fetch-Site says that a page of another site asks: they may not");
}

std::string Door::address_of(const Request& request) const {
  if (!behind_proxy_) return request.peer;
  // What the proxy has seen itself is the last; the others are what the client says.
  std::string address = request.peer;
  for (const auto& [name, value] : request.headers) {
    if (name == "x-forwarded-for") address = trimmed(std::string_view(value).substr(value.rfind(',') + 1));
  }
  return address;
}

void Door::refuse_waiting(const Request& request, Failures& failures) const {
  const auto address = address_of(request);
  if (const auto wait = failures.wait_of(address)) {
    throw Problem(
        429, fmt::format("too many wrong tokens came from {}; try again in {} s", address, wait->count()))
        .header("Retry-After", fmt::to_string(wait->count()));
  }
}

void Door::refuse_guesser(const Request& request) { refuse_waiting(request, guesses_); }

AccessToken Door::token_of(const Request& request, std::string_view secret) {
  refuse_waiting(request, failures_);
  const auto config = config_->now();
  if (const auto* token = token_of_secret(config->web.tokens, secret)) return *token;
  failures_.note(address_of(request));
  throw Problem(401, "no token has this secret; `ordo token` makes one")
      .header("WWW-Authenticate", "Bearer error=\"invalid_token\"");
}

std::optional<Caller> Door::caller_of(const Request& request) {
  const auto config = config_->now();
  if (config->web.tokens.empty()) return Caller{};
  const auto caller = [](const AccessToken& token, std::string cookie) {
    return Caller{
        .name = token.name, .role = token.role, .queues = token.queues, .cookie = std::move(cookie)};
  };
  if (request.has("authorization")) {
    const auto given = request.header("authorization");
    if (!lower(given).starts_with(kBearer) || count_of(request.headers, "authorization") != 1)
      throw Problem(401, "the Authorization must be one Bearer token").header("WWW-Authenticate", "Bearer");
    return caller(token_of(request, trimmed(given.substr(kBearer.size()))), "");
  }
  auto session = session_of(request);
  const auto* token =
      session.empty() ? nullptr : token_of_session(config->web.tokens, session, clock_.wall());
  if (token == nullptr) return std::nullopt;
  return caller(*token, std::move(session));
}

std::string Door::csrf_of(const Caller& caller) const {
  const auto config = config_->now();
  const auto& tokens = config->web.tokens;
  const auto token = std::ranges::find(tokens, caller.name, &AccessToken::name);
  if (caller.cookie.empty() || token == tokens.end()) return {};
  return csrf_of_session(*token, caller.cookie);
}

void Door::admit(const Request& request, const Route& route, std::string_view queue,
                 const std::optional<Caller>& caller) const {
  const bool is_open = route.needs == Needs::nobody || route.needs == Needs::session;
  if (!is_open && !caller) {
    throw Problem(401, "this needs a token: send 'Authorization: Bearer …', or log in at /login")
        .header("WWW-Authenticate", "Bearer");
  }
  if (!is_open && !may(caller->role, route.needs))
    throw Problem(403, fmt::format("the role of {} is {}, which may not do this", caller->name,
                                   to_string(caller->role)));
  if (!is_open && !queue.empty() && !caller->sees(queue))
    throw Problem(403, fmt::format("the token {} is not for the queue {}", caller->name,
                                   in_quotes(std::string(queue))));
  if (is_change(request, route) && caller && !caller->cookie.empty() &&
      !is_same_secret(request.header("x-ordo-csrf"), csrf_of(*caller)))
    throw Problem(403, "a change by a session needs the header X-Ordo-Csrf, which GET /api/v1/me tells");
  if (read_only() && is_change(request, route))
    throw Problem(403, "nothing is changed here: [web] read_only is set");
}

std::string Door::log_in(const Request& request, std::string_view secret) {
  if (config_->now()->web.tokens.empty()) throw Problem(400, "no log-in is needed: no tokens are configured");
  const auto token = token_of(request, secret);
  return cookie(make_session(token, secret, clock_.wall()), kSessionTime);
}

std::string Door::cookie(const std::string& value, std::chrono::seconds age) const {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", kSessionCookie, value,
                     age.count(), has_tls_ || behind_proxy_ ? "; Secure" : "");
}

}  // namespace ordo::web
