#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ordo::server {

/// Where settings were written: a file, or one variable of the environment or flag.
struct Origin {
  std::string name;      ///< as messages name it: "conf/ordo.toml", "ORDO_STORE", "-o node.threads=0"
  bool is_file = false;  ///< its messages carry lines
  std::filesystem::path directory;  ///< what its relative paths are relative to; empty: the working directory
};

/// Throws Error{invalid_argument}: "ordo.toml:12: `what`". Line 0: none.
[[noreturn]] void fail_at(const Origin& origin, std::size_t line, const std::string& what);

struct Value;
struct Member;
using List = std::vector<Value>;
using Table = std::vector<Member>;  ///< in the order of the source

/// A TOML value and the line it stands on. std::monostate: a date or time, which no setting takes.
struct Value {
  std::variant<std::monostate, std::string, std::int64_t, double, bool, List, Table> data;
  std::size_t line = 0;
};

struct Member {
  std::string name;
  std::size_t line = 0;  ///< of the name
  Value value;
};

/// Throws Error{invalid_argument} with the line.
Table parse_toml(std::string_view text, const Origin& origin);

/// One setting given on a command line: "queue.orders.shards=8". A value that is no TOML is taken as a
/// string, so that quotes may be left out: "node.log=json".
Table parse_assignment(std::string_view text, const Origin& origin);

/// The value of a variable of the environment, read like that of an assignment.
Value parse_loose_value(std::string_view text);

}  // namespace ordo::server
