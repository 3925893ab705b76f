#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/codec.hpp>

namespace ordo {

/// An immutable JSON value, for payloads. Copies are cheap (shared). Thread-safe to read.
///
///   const Json json = Json::parse(R"({"total":7})");
///   json["total"].as_int();   // 7
///   Json::object({{"total", 7}, {"tags", Json::array({"a", "b"})}}).dump();   //
///   {"total":7,"tags":["a","b"]}
///
/// Access of the wrong type, a missing key or index throws Error{invalid_argument} naming the path.
class Json {
 public:
  Json();  ///< null
  ~Json();
  Json(const Json&);
  Json& operator=(const Json&);

  // Values of their own; what is given where a Json is wanted becomes one. Throw Error{invalid_argument} for
  // what JSON cannot say: text that is not UTF-8, infinite numbers and those that are none.
  Json(std::nullptr_t) : Json() {}
  template <std::same_as<bool> Bool>  // and no pointer
  Json(Bool value) : Json(of_bool(value)) {}
  template <std::signed_integral Integer>
  Json(Integer value) : Json(of_int(value)) {}
  template <std::unsigned_integral Integer>
  requires(!std::same_as<Integer, bool>) Json(Integer value) : Json(of_unsigned(value)) {}
  Json(double value);  ///< as the shortest decimal that reads back as it
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}

  using Member = std::pair<std::string, Json>;
  [[nodiscard]] static Json array(const std::vector<Json>& elements = {});
  /// In the given order, so that equal calls encode equally. Throws Error{invalid_argument} for a key that
  /// stands twice.
  [[nodiscard]] static Json object(const std::vector<Member>& members = {});
  /// An object with that member, in the place of the one it had or as its last. Null counts as an empty one.
  [[nodiscard]] Json with(std::string_view key, const Json& value) const;

  /// Throws Error{invalid_argument} with the position.
  [[nodiscard]] static Json parse(std::string_view text);

  /// Whether both dump alike.
  bool operator==(const Json& other) const;

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_bool() const;

  [[nodiscard]] bool contains(std::string_view key) const;  ///< false unless an object with that key
  [[nodiscard]] Json operator[](std::string_view key) const;
  [[nodiscard]] Json operator[](std::size_t index) const;
  [[nodiscard]] std::size_t size() const;  ///< of an array or object
  [[nodiscard]] std::vector<std::string> keys() const;

  [[nodiscard]] std::string as_string() const;
  [[nodiscard]] std::int64_t as_int() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] bool as_bool() const;

  /// Without white space; object keys in the order they were parsed.
  [[nodiscard]] std::string dump() const;

 private:
  struct Node;
  explicit Json(std::shared_ptr<const Node> node);
  static Json of_bool(bool value);
  static Json of_int(std::int64_t value);
  static Json of_unsigned(std::uint64_t value);
  std::shared_ptr<const Node> node_;
};

template <>
struct Codec<Json> {
  static std::string encode(const Json& json) { return json.dump(); }
  static Json decode(std::string_view bytes) { return bytes.empty() ? Json() : Json::parse(bytes); }
};

}  // namespace ordo
