#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/codec.hpp>

namespace ordo {

/// An immutable JSON value, for payloads. Copies are cheap (shared). Thread-safe to read.
///
///   const Json json = Json::parse(R"({"total":7})");
///   json["total"].as_int();   // 7
///
/// Access of the wrong type, a missing key or index throws Error{invalid_argument} naming the path.
class Json {
 public:
  Json();  ///< null
  ~Json();
  Json(const Json&);
  Json& operator=(const Json&);

  /// Throws Error{invalid_argument} with the position.
  static Json parse(std::string_view text);

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_bool() const;

  bool contains(std::string_view key) const;  ///< false unless an object with that key
  Json operator[](std::string_view key) const;
  Json operator[](std::size_t index) const;
  std::size_t size() const;  ///< of an array or object
  std::vector<std::string> keys() const;

  std::string as_string() const;
  std::int64_t as_int() const;
  double as_double() const;
  bool as_bool() const;

  /// Without white space; object keys in the order they were parsed.
  std::string dump() const;

 private:
  struct Node;
  explicit Json(std::shared_ptr<const Node> node);
  std::shared_ptr<const Node> node_;
};

template <>
struct Codec<Json> {
  static std::string encode(const Json& json) { return json.dump(); }
  static Json decode(std::string_view bytes) { return bytes.empty() ? Json() : Json::parse(bytes); }
};

}  // namespace ordo
