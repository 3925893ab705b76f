#include "base/json_tree.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"

namespace ordo {

std::optional<JsonDocument> JsonDocument::parse(std::string_view text) {
  JsonDocument document;
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  if (!append_minified(document.text_, text)) return std::nullopt;
  document.build();
  return document;
}

// The text is valid and without white space, so only where values begin and end is of interest.
void JsonDocument::build() {
  std::vector<Node> open;     // containers not closed yet; `first` is where their children start in `pending`
  std::vector<Node> pending;  // finished values whose container is still open
  const auto size = static_cast<std::uint32_t>(text_.size());
  for (std::uint32_t at = 0; at < size;) {
    const char c = text_[at];
    Node node{.begin = at, .end = at + 1};
    switch (c) {
      case ',':
      case ':':
        ++at;
        continue;
      case '{':
      case '[':
        node.type = c == '{' ? Type::object : Type::array;
        node.first = static_cast<std::uint32_t>(pending.size());
        open.push_back(node);
        ++at;
        continue;
      case '}':
      case ']': {
        node = open.back();
        open.pop_back();
        const auto children = pending.begin() + node.first;
        node.count = static_cast<std::uint32_t>(pending.end() - children);
        node.first = static_cast<std::uint32_t>(nodes_.size());
        node.end = ++at;
        nodes_.insert(nodes_.end(), children, pending.end());
        pending.erase(children, pending.end());
        break;
      }
      case '"':
        node.type = Type::string;
        for (++at; text_[at] != '"'; ++at) {
          if (text_[at] == '\\') ++at;
        }
        node.end = ++at;
        break;
      default:
        node.type = c == 'n' ? Type::null : c == 't' || c == 'f' ? Type::boolean : Type::number;
        at = static_cast<std::uint32_t>(std::min<std::size_t>(text_.find_first_of(",:]}", at), size));
        node.end = at;
        break;
    }
    pending.push_back(node);
  }
  nodes_.push_back(pending.back());
}

std::string_view JsonDocument::Value::text() const {
  return std::string_view(document_->text_).substr(node().begin, node().end - node().begin);
}

JsonDocument::Value JsonDocument::Value::at(std::size_t index) const {
  const std::size_t child = is_object() ? index * 2 + 1 : index;
  return {*document_, node().first + static_cast<std::uint32_t>(child)};
}

std::string JsonDocument::Value::key_at(std::size_t index) const {
  return Value(*document_, node().first + static_cast<std::uint32_t>(index * 2)).as_string();
}

std::optional<JsonDocument::Value> JsonDocument::Value::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  for (std::size_t i = size(); i-- > 0;) {
    const auto name = Value(*document_, node().first + static_cast<std::uint32_t>(i * 2)).text();
    const auto bare = name.substr(1, name.size() - 2);
    const bool same = bare.find('\\') == std::string_view::npos ? bare == key : json_unquote(name) == key;
    if (same) return at(i);
  }
  return std::nullopt;
}

std::string JsonDocument::Value::as_string() const { return json_unquote(text()); }

std::optional<double> JsonDocument::Value::as_double() const {
  double value = 0;
  const auto number = text();
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::int64_t> JsonDocument::Value::as_int() const {
  std::int64_t whole = 0;
  const auto number = text();
  const auto last = number.data() + number.size();
  if (const auto [end, error] = std::from_chars(number.data(), last, whole);
      end == last && error == std::errc{}) {
    return whole;
  }
  const auto value = as_double();  // 7.0 and 1e3 are integers too
  if (!value || number.find_first_of(".eE") == std::string_view::npos) return std::nullopt;
  if (std::trunc(*value) != *value || std::fabs(*value) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace ordo
