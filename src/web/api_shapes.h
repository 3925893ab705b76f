#pragma once

#include <span>
#include <string_view>

namespace ordo::web {

/// What requests carry and what is answered, as JSON Schema (2020-12): once for all routes that have it.
struct Shape {
  std::string_view name;
  std::string_view schema;
};
std::span<const Shape> shapes();

/// One parameter of queries. Several routes may have one of the same `name` with other values.
struct Parameter {
  std::string_view token;  ///< as Operation::parameters names it
  std::string_view name;
  std::string_view schema;
  std::string_view example;  ///< JSON; empty: there is none that always has a meaning
  std::string_view in = "query";
};
std::span<const Parameter> parameters();

/// What a route takes and answers.
struct Operation {
  std::string_view method;
  std::string_view path;
  std::string_view parameters;  ///< tokens with spaces between them
  std::string_view body;        ///< the name of a shape; empty: there is none
  std::string_view example;     ///< of the body
  std::string_view answer;      ///< the name of a shape; empty: it is no JSON
  unsigned status = 200;
  std::string_view type = "application/json";
  std::string_view values =
      {};  ///< examples of what stands in the path, in its order, where they are special
};
std::span<const Operation> operations();

}  // namespace ordo::web
