#include "web/problem.h"

#include <fmt/format.h>

#include <ordo/admin.hpp>

#include "base/json.h"
#include "base/redact.h"

namespace ordo::web {

Response Problem::response() const {
  auto body = fmt::format(R"({{"type":"about:blank","title":{},"status":{},"detail":{})",
                          json_string(reason_of(status_)), status_, json_string(what()));
  for (const auto& [name, json] : members_) body += fmt::format(",{}:{}", json_string(name), json);
  return {.status = status_, .body = body + "}\n", .type = "application/problem+json", .headers = headers_};
}

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

// A store's URL may have a password in it.
Problem problem_of(const Error& error) {
  const auto detail = redact(error.what());
  if (dynamic_cast<const OldCursor*>(&error) != nullptr) return {410, detail};
  if (dynamic_cast<const ChangedSince*>(&error) != nullptr) return {412, detail};
  switch (error.kind()) {
    case ErrorKind::invalid_argument:
      return {400, detail};
    case ErrorKind::conflict:
      return {409, detail};
    case ErrorKind::unavailable:
      return {503, detail};
    case ErrorKind::unsupported:
      return {501, detail};
    case ErrorKind::corrupt:
      break;
  }
  return {500, detail};
}

}  // namespace ordo::web
