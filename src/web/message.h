#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordo::web {

/// Names in lower case, in the order in which they came.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// Letters of ASCII alone.
inline std::string lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return lower;
}

/// Empty: there is none.
inline std::string_view header_of(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : found->second;
}

/// A request without its body.
struct Request {
  std::string method;
  std::string target;  ///< as it was sent
  Headers headers;
  std::string peer{};  ///< the address that it came from

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
  bool has(std::string_view name) const {
    return std::ranges::find(headers, name, &Headers::value_type::first) != headers.end();
  }
};

/// What a connection goes on to send until one of both sides ends it. Called on the thread of connections.
class Feed {
 public:
  virtual ~Feed() = default;
  /// What is to be sent by now; empty: nothing yet.
  virtual std::string take() = 0;
};

/// Sends a piece of a body and waits until the other side has room for the next one. False: it takes no more.
using SendPiece = std::function<bool(std::string_view)>;
/// Makes a body of any length, piece by piece, on a thread that may block. What it throws cuts the body
/// short.
using Download = std::function<void(const SendPiece&)>;

struct Response {
  unsigned status = 200;
  std::string body{};
  std::string type = "application/json";
  Headers headers{};
  std::shared_ptr<Feed> feed{};  ///< instead of a body
  Download download{};           ///< likewise
};

}  // namespace ordo::web
