#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ordo::store::redis {

/// Commands as they go over the wire, one behind the other.
class CommandText {
 public:
  /// The next command has this many words; word() is then called as often.
  void begin(std::size_t words);
  void word(std::string_view text);
  void word(std::integral auto number) { word(std::string_view(std::to_string(number))); }

  template <class... Words>
  void add(const Words&... words) {
    begin(sizeof...(words));
    (word(words), ...);
  }

  const std::string& bytes() const { return bytes_; }
  std::size_t count() const { return count_; }  ///< commands, each of which gets one reply

 private:
  std::string bytes_;
  std::size_t count_ = 0;
};

/// What a server answers to one command, or (a push) says unasked.
struct Reply {
  enum class Type { nil, status, error, integer, text, array, push };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;          ///< of text, status and error; other simple values as they were sent
  std::vector<Reply> items;  ///< of a map: key, value, key, …

  bool is_nil() const { return type == Type::nil; }
  bool is_error() const { return type == Type::error; }
  bool is_error(std::string_view code) const { return is_error() && text.starts_with(code); }

  /// The item; throws Error{unavailable} when there is none.
  const Reply& at(std::size_t index) const;
  /// A number, also one given as text (nil: 0). Throws Error{unavailable}.
  std::uint64_t number() const;
  /// The same of what others may have written; nothing: it is none.
  std::optional<std::uint64_t> maybe_number() const;
  /// Another kind of key stands where the command, or one of the script, wants its own.
  bool is_wrong_type() const { return is_error() && text.find("WRONGTYPE") != std::string::npos; }
};

/// Takes a server's bytes as they come, in pieces of any size, and gives whole replies (RESP2 and RESP3).
class ReplyParser {
 public:
  void feed(std::string_view bytes);

  /// The next reply, if it is all there. Throws Error{unavailable}: that is not Redis speaking.
  std::optional<Reply> next();

  /// True: bytes have come that no reply was made of.
  bool has_rest() const { return at_ < buffer_.size() || !open_.empty(); }

 private:
  struct Open {
    Reply reply;
    std::size_t missing = 0;
  };

  std::optional<std::string_view> line();
  bool take_value(Reply& reply, std::size_t& items);

  std::string buffer_;
  std::size_t at_ = 0;
  std::vector<Open> open_;  // arrays that are not complete
};

}  // namespace ordo::store::redis
