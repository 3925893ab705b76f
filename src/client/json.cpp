// The public Json: a view into a shared parsed document.

#include <ordo/json.hpp>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/json_tree.h"

namespace ordo {

struct Json::Node {
  std::shared_ptr<const JsonDocument> document;
  JsonDocument::Value value;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::invalid_argument, "JSON value " + path() + ": " + what);
  }

  [[noreturn]] void fail_type(const char* wanted) const {
    static constexpr const char* kNames[] = {"null",     "a boolean", "a number",
                                             "a string", "an array",  "an object"};
    fail(std::string("wanted ") + wanted + ", it is " + kNames[static_cast<std::size_t>(value.type())]);
  }

  /// Where the value is in its document: $["a"][2]. Found from the top, as only errors ask for it.
  std::string path() const {
    std::string path = "$";
    const char* wanted = value.text().data();
    auto at = document->root();
    while (at.text().data() != wanted) {
      std::size_t i = 0;
      while (wanted >= at.at(i).text().data() + at.at(i).text().size()) ++i;
      path += '[' + (at.is_object() ? json_string(at.key_at(i)) : std::to_string(i)) + ']';
      at = at.at(i);
    }
    return path;
  }
};

Json::Json() {
  static const auto null = [] {
    auto document = std::make_shared<const JsonDocument>(*JsonDocument::parse("null"));
    const auto root = document->root();
    return std::make_shared<const Node>(Node{std::move(document), root});
  }();
  node_ = null;
}

Json::Json(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
Json::~Json() = default;
Json::Json(const Json&) = default;
Json& Json::operator=(const Json&) = default;

Json Json::parse(std::string_view text) {
  auto parsed = JsonDocument::parse(text);
  if (!parsed) {
    std::string out;
    std::size_t at = 0;
    append_minified(out, text, &at);
    throw Error(ErrorKind::invalid_argument,
                "no JSON: error at byte " + std::to_string(at + 1) + " of " + std::to_string(text.size()));
  }
  auto document = std::make_shared<const JsonDocument>(*std::move(parsed));
  const auto root = document->root();
  return Json(std::make_shared<const Node>(Node{std::move(document), root}));
}

bool Json::is_null() const { return node_->value.is_null(); }
bool Json::is_object() const { return node_->value.is_object(); }
bool Json::is_array() const { return node_->value.is_array(); }
bool Json::is_string() const { return node_->value.is_string(); }
bool Json::is_number() const { return node_->value.is_number(); }
bool Json::is_bool() const { return node_->value.is_bool(); }

bool Json::contains(std::string_view key) const { return node_->value.find(key).has_value(); }

Json Json::operator[](std::string_view key) const {
  if (!is_object()) node_->fail_type("an object");
  const auto member = node_->value.find(key);
  if (!member) node_->fail("it has no member " + json_string(key));
  return Json(std::make_shared<const Node>(Node{node_->document, *member}));
}

Json Json::operator[](std::size_t index) const {
  if (!is_array()) node_->fail_type("an array");
  if (index >= size()) {
    node_->fail("it has no element " + std::to_string(index) + ", only " + std::to_string(size()));
  }
  return Json(std::make_shared<const Node>(Node{node_->document, node_->value.at(index)}));
}

std::size_t Json::size() const {
  if (!is_array() && !is_object()) node_->fail_type("an array or object");
  return node_->value.size();
}

std::vector<std::string> Json::keys() const {
  if (!is_object()) node_->fail_type("an object");
  std::vector<std::string> keys;
  keys.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) keys.push_back(node_->value.key_at(i));
  return keys;
}

std::string Json::as_string() const {
  if (!is_string()) node_->fail_type("a string");
  return node_->value.as_string();
}

std::int64_t Json::as_int() const {
  if (!is_number()) node_->fail_type("a number");
  const auto number = node_->value.as_int();
  if (!number) node_->fail(std::string(node_->value.text()) + " is no integer of 64 bits");
  return *number;
}

double Json::as_double() const {
  if (!is_number()) node_->fail_type("a number");
  const auto number = node_->value.as_double();
  if (!number) node_->fail(std::string(node_->value.text()) + " is out of the range of a double");
  return *number;
}

bool Json::as_bool() const {
  if (!is_bool()) node_->fail_type("a boolean");
  return node_->value.as_bool();
}

std::string Json::dump() const { return std::string(node_->value.text()); }

}  // namespace ordo
