#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

/// A parsed JSON text. Values are views of it:
///
///   const auto document = JsonDocument::parse(line);
///   if (!document) ...
///   const auto ok = document->root().find("ok");
///   if (ok && ok->is_bool()) use(ok->as_bool());
///
/// Immutable, so thread-safe to read. Views live as long as the document stays where it is.
class JsonDocument {
 public:
  enum class Type : std::uint8_t { null, boolean, number, string, array, object };

 private:
  /// The children of a container stand together in nodes_; those of an object are key, value, key, value, …
  struct Node {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    Type type = Type::null;
  };

 public:
  class Value {
   public:
    Type type() const { return node().type; }
    bool is_object() const { return type() == Type::object; }
    bool is_array() const { return type() == Type::array; }
    bool is_string() const { return type() == Type::string; }
    bool is_number() const { return type() == Type::number; }
    bool is_bool() const { return type() == Type::boolean; }
    bool is_null() const { return type() == Type::null; }

    /// The value's JSON, minified.
    std::string_view text() const;

    /// Elements of an array, members of an object; 0 for others.
    std::size_t size() const { return node().count / (is_object() ? 2 : 1); }
    Value at(std::size_t index) const;            ///< element, or value of a member
    std::string key_at(std::size_t index) const;  ///< of an object
    /// The member's value, the last one when the key stands twice; nothing in other types.
    std::optional<Value> find(std::string_view key) const;

    std::string as_string() const;  ///< of a string
    bool as_bool() const { return text() == "true"; }
    std::optional<double> as_double() const;     ///< of a number; nothing when it is out of range
    std::optional<std::int64_t> as_int() const;  ///< of a number; nothing unless it is an integer of 64 bits

   private:
    friend class JsonDocument;
    Value(const JsonDocument& document, std::uint32_t index) : document_(&document), index_(index) {}
    const Node& node() const { return document_->nodes_[index_]; }

    const JsonDocument* document_;
    std::uint32_t index_;
  };

  /// Nothing when `text` is no JSON (base/json.h says what is) or has 4 GiB or more.
  static std::optional<JsonDocument> parse(std::string_view text);

  Value root() const { return {*this, static_cast<std::uint32_t>(nodes_.size() - 1)}; }

 private:
  void build();

  std::string text_;
  std::vector<Node> nodes_;
};

}  // namespace ordo
