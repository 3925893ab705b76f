// The public Json: a view into a shared parsed document. What is built is written, and parsed like any other.

#include <ordo/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/json_tree.h"
#include "base/utf8.h"

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

namespace {

void append_text(std::string& out, std::string_view text) {
  if (!is_utf8(text))
    throw Error(ErrorKind::invalid_argument, "JSON text must be UTF-8: " + json_string(text) + " is not");
  append_json_string(out, text);
}

std::string quoted(std::string_view text) {
  std::string out;
  append_text(out, text);
  return out;
}

std::string number(double value) {
  if (!std::isfinite(value)) throw Error(ErrorKind::invalid_argument, "JSON has finite numbers only");
  return json_number(value);
}

}  // namespace

Json::Json(double value) : Json(parse(number(value))) {}
Json::Json(std::string_view text) : Json(parse(quoted(text))) {}
Json Json::of_bool(bool value) { return parse(value ? "true" : "false"); }
Json Json::of_int(std::int64_t value) { return parse(std::to_string(value)); }
Json Json::of_unsigned(std::uint64_t value) { return parse(std::to_string(value)); }

Json Json::array(const std::vector<Json>& elements) {
  std::string out = "[";
  for (const auto& element : elements) {
    if (out.size() > 1) out += ',';
    out += element.node_->value.text();
  }
  return parse(out + ']');
}

Json Json::object(const std::vector<Member>& members) {
  std::string out = "{";
  std::set<std::string_view> keys;
  for (const auto& [key, value] : members) {
    if (!keys.insert(key).second)
      throw Error(ErrorKind::invalid_argument, "JSON object: the key " + json_string(key) + " stands twice");
    if (out.size() > 1) out += ',';
    append_text(out, key);
    out += ':';
    out += value.node_->value.text();
  }
  return parse(out + '}');
}

Json Json::with(std::string_view key, const Json& value) const {
  std::vector<Member> members;
  std::map<std::string, std::size_t, std::less<>> places;  // of a key that stands twice the last value counts
  const auto put = [&](std::string_view name, const Json& member) {
    const auto [place, is_new] = places.try_emplace(std::string(name), members.size());
    if (is_new) {
      members.emplace_back(name, member);
    } else {
      members[place->second].second = member;
    }
  };
  const auto names = is_null() ? std::vector<std::string>{} : keys();
  for (std::size_t i = 0; i < names.size(); ++i)
    put(names[i], Json(std::make_shared<const Node>(Node{node_->document, node_->value.at(i)})));
  put(key, value);
  return object(members);
}

bool Json::operator==(const Json& other) const { return node_->value.text() == other.node_->value.text(); }

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
