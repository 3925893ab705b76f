// TOML text into plain values. toml++ iterates tables alphabetically; here they are put back into source
// order.

#include "server/config_value.h"

#include <algorithm>
#include <tuple>
#include <utility>

// The parser without exceptions is not in the distribution's shared library: compile it here.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
// Some of its assertions are wrong: a header "[|" is an error that it reports well. NDEBUG would make them
// assumptions.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <ordo/error.hpp>

namespace ordo::server {
namespace {

struct Position {
  std::size_t line = 0;
  std::size_t column = 0;

  auto operator<=>(const Position&) const = default;
};

/// TOML allows no other control characters; toml++ lets some of them pass.
std::size_t find_control(std::string_view text) {
  const auto control = std::ranges::find_if(
      text, [](unsigned char c) { return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F; });
  return control == text.end() ? std::string_view::npos : static_cast<std::size_t>(control - text.begin());
}

Position position_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

/// Where a member first stands in the source: a table may be continued, or implied by a longer header, above
/// its own.
Position first_position(const toml::key& key, const toml::node& node) {
  Position first = position_of(key.source());
  if (const auto* table = node.as_table()) {
    for (const auto& [name, member] : *table) first = std::min(first, first_position(name, member));
  }
  return first;
}

Value value_of(const toml::node& node);

Table table_of(const toml::table& table) {
  std::vector<std::pair<Position, Member>> members;
  for (const auto& [key, node] : table) {
    members.push_back(
        {first_position(key, node), {std::string(key.str()), key.source().begin.line, value_of(node)}});
  }
  std::ranges::stable_sort(members, {}, [](const auto& member) { return member.first; });
  Table sorted;
  for (auto& [position, member] : members) sorted.push_back(std::move(member));
  return sorted;
}

Value value_of(const toml::node& node) {
  Value value{{}, node.source().begin.line};
  if (const auto* text = node.as_string()) value.data = text->get();
  if (const auto* number = node.as_integer()) value.data = number->get();
  if (const auto* real = node.as_floating_point()) value.data = real->get();
  if (const auto* flag = node.as_boolean()) value.data = flag->get();
  if (const auto* table = node.as_table()) value.data = table_of(*table);
  if (const auto* array = node.as_array()) {
    List list;
    for (const auto& item : *array) list.push_back(value_of(item));
    value.data = std::move(list);
  }
  return value;
}

/// Calls `change` with the innermost of the tables that are each other's only member.
template <class Change>
void at_leaf(Table& table, const Change& change) {
  Value& value = table.front().value;
  auto* inner = std::get_if<Table>(&value.data);
  if (inner != nullptr && inner->size() == 1) {
    at_leaf(*inner, change);
  } else {
    change(value);
  }
}

}  // namespace

void fail_at(const Origin& origin, std::size_t line, const std::string& what) {
  const std::string place =
      origin.is_file && line > 0 ? origin.name + ":" + std::to_string(line) : origin.name;
  throw Error(ErrorKind::invalid_argument, place + ": " + what);
}

Table parse_toml(std::string_view text, const Origin& origin) {
  if (const std::size_t control = find_control(text); control != std::string_view::npos) {
    const auto line = 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, control), '\n'));
    fail_at(origin, line, "this is no TOML: it holds a control character; is it a text file?");
  }
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return table_of(parsed.table());
  const toml::parse_error& error = parsed.error();
  fail_at(origin, error.source().begin.line, "this is no TOML: " + std::string(error.description()));
}

Table parse_assignment(std::string_view text, const Origin& origin) {
  const auto malformed = [&] { fail_at(origin, 0, "write it as key=value, like queue.orders.shards=8"); };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.find_first_of("\r\n") < equals) malformed();
  if (find_control(text) != std::string_view::npos) malformed();
  const toml::parse_result key = toml::parse(std::string(text.substr(0, equals)) + " = 0");
  if (!key || key.table().size() != 1) malformed();
  Table table = table_of(key.table());
  at_leaf(table, [&](Value& value) { value = parse_loose_value(text.substr(equals + 1)); });
  return table;
}

Value parse_loose_value(std::string_view text) {
  if (text.find_first_of("\r\n") == std::string_view::npos && find_control(text) == std::string_view::npos) {
    const toml::parse_result parsed = toml::parse("v = " + std::string(text));
    if (parsed && parsed.table().size() == 1) return value_of(*parsed.table().get("v"));
  }
  return {std::string(text), 0};
}

}  // namespace ordo::server
