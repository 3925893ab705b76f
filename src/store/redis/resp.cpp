// The protocol of Redis, versions 2 and 3, but for what nothing of ours is answered with (streamed values,
// attributes). A reader of our own, because hiredis 0.14 makes eight allocations of every log entry.
#include "store/redis/resp.h"

#include <charconv>
#include <utility>

#include <ordo/error.hpp>

namespace ordo::store::redis {
namespace {

constexpr std::size_t kMaxBulk = 512u << 20;  // the server's own bound
constexpr std::size_t kMaxItems = 64u << 20;
constexpr std::size_t kMaxDepth = 8;
constexpr std::size_t kReserveItems = 4096;  // a wrong length must not take all memory
constexpr std::size_t kMaxLine = 64u << 10;
constexpr std::size_t kKeepBuffer = 1u << 20;

[[noreturn]] void corrupt(const std::string& why) {
  throw Error(ErrorKind::unavailable, "the Redis server's answer cannot be read: " + why +
                                          "; is that a Redis server, and nothing else on the way to it?");
}

std::int64_t parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) corrupt("a number is none");
  return number;
}

}  // namespace

void CommandText::begin(std::size_t words) {
  bytes_.append("*").append(std::to_string(words)).append("\r\n");
  ++count_;
}

void CommandText::word(std::string_view text) {
  bytes_.append("$").append(std::to_string(text.size())).append("\r\n").append(text).append("\r\n");
}

const Reply& Reply::at(std::size_t index) const {
  if (index >= items.size()) corrupt("item " + std::to_string(index) + " is missing");
  return items[index];
}

std::uint64_t Reply::number() const {
  const auto number = maybe_number();
  if (!number) corrupt("'" + text + "' is no number");
  return *number;
}

std::optional<std::uint64_t> Reply::maybe_number() const {
  if (is_nil()) return 0;
  if (type == Type::integer) return static_cast<std::uint64_t>(integer);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void ReplyParser::feed(std::string_view bytes) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
    if (buffer_.capacity() > kKeepBuffer) buffer_.shrink_to_fit();
  } else if (at_ > kKeepBuffer && at_ > buffer_.size() / 2) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<std::string_view> ReplyParser::line() {
  const auto end = buffer_.find("\r\n", at_);
  if (end == std::string::npos) {
    if (buffer_.size() - at_ > kMaxLine) corrupt("a line does not end");
    return std::nullopt;
  }
  return std::string_view(buffer_).substr(at_, end - at_);
}

/// One value; of an array the head alone, with the number of its items. False: it is not all there.
bool ReplyParser::take_value(Reply& reply, std::size_t& items) {
  items = 0;
  const auto head = line();
  if (!head) return false;
  if (head->empty()) corrupt("a line is empty");
  const auto rest = head->substr(1);
  const auto behind = at_ + head->size() + 2;
  switch (head->front()) {
    case '+':
    case '-':
      reply.type = head->front() == '+' ? Reply::Type::status : Reply::Type::error;
      reply.text = rest;
      break;
    case ':':
      reply.type = Reply::Type::integer;
      reply.integer = parse_integer(rest);
      break;
    case '_':
      break;
    case ',':
    case '#':
    case '(':
      reply.type = Reply::Type::text;
      reply.text = rest;
      break;
    case '$':
    case '=': {
      const auto size = parse_integer(rest);
      if (size < 0) break;
      const auto wanted = static_cast<std::size_t>(size);
      if (wanted > kMaxBulk) corrupt("a text is longer than Redis allows");
      if (buffer_.size() < behind + wanted + 2) return false;
      if (buffer_.compare(behind + wanted, 2, "\r\n") != 0) corrupt("a text does not end where it says");
      reply.type = Reply::Type::text;
      reply.text.assign(buffer_, behind, wanted);
      at_ = behind + wanted + 2;
      return true;
    }
    case '*':
    case '~':
    case '>':
    case '%': {
      const auto size = parse_integer(rest);
      if (size < 0) break;
      items = static_cast<std::size_t>(size);
      if (items > kMaxItems) corrupt("a list is too long");
      if (head->front() == '%') items *= 2;
      reply.type = head->front() == '>' ? Reply::Type::push : Reply::Type::array;
      reply.items.reserve(std::min(items, kReserveItems));
      break;
    }
    default:
      corrupt("it begins with an unknown mark");
  }
  at_ = behind;
  return true;
}

std::optional<Reply> ReplyParser::next() {
  while (true) {
    Reply reply;
    std::size_t items = 0;
    if (!take_value(reply, items)) return std::nullopt;
    if (items > 0) {
      if (open_.size() == kMaxDepth) corrupt("lists are nested too deep");
      open_.push_back({std::move(reply), items});
      continue;
    }
    while (!open_.empty()) {
      auto& parent = open_.back();
      parent.reply.items.push_back(std::move(reply));
      if (--parent.missing > 0) break;
      reply = std::move(parent.reply);
      open_.pop_back();
      if (open_.empty()) return reply;
    }
    if (open_.empty()) return reply;
  }
}

}  // namespace ordo::store::redis
