#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "web/caller.h"
#include "web/message.h"
#include "web/target.h"

namespace ordo::web {

/// A request whose body is there.
struct Call {
  const Request& request;
  const Target& target;
  std::vector<std::string> values;  ///< of the {names} of its route, in their order
  std::optional<Caller> caller;     ///< nothing: it is not known, at a route that lets in everybody
  std::string body{};

  const std::string& value(std::size_t index) const { return values.at(index); }
  bool sees(std::string_view queue) const { return caller && caller->sees(queue); }
  bool sees_all() const { return caller && caller->sees_all(); }
};

/// What takes a body piece by piece, and answers. Called on threads that may block.
class Upload {
 public:
  virtual ~Upload() = default;
  /// False: nothing more is wanted.
  virtual bool add(std::string_view bytes) = 0;
  /// False: it waits for nothing, and is called at once.
  virtual bool blocks() const { return true; }
  virtual Response end() = 0;
};

/// What one address answers.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "/api/v1/queues/{queue}/jobs"
  Needs needs;            ///< the least role that it is for
  std::string_view what;  ///< one line
  std::function<Response(const Call&)> answer;
  std::size_t most_body = 0;  ///< bytes; 0: it takes none
  /// For bodies of any length, of lines of JSON (application/x-ndjson).
  std::function<std::unique_ptr<Upload>(const Call&)> upload{};
  bool blocks = true;  ///< it waits for the store
};

struct Match {
  const Route& route;
  std::vector<std::string> values;
};

/// The route of a request; HEAD is answered as GET. Throws Problem: 404, or 405 that names what is allowed.
Match find_route(std::span<const Route> routes, std::string_view method, const Target& target);

}  // namespace ordo::web
