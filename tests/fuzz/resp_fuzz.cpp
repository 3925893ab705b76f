// What a Redis server says: any bytes are whole replies, the beginning of one, or refused with
// Error{unavailable}; and however they are cut into pieces, the replies are the same. A redirection in one of
// them names a slot that there is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <ordo/error.hpp>

#include "store/redis/resp.h"
#include "store/redis/slot_map.h"

namespace {

using ordo::store::redis::Reply;

void write(std::string& text, const Reply& reply) {
  text +=
      std::to_string(static_cast<int>(reply.type)) + ":" + std::to_string(reply.integer) + ":" + reply.text;
  text += "(";
  for (const auto& item : reply.items) write(text, item);
  text += ")";
}

/// All replies as text, and "!" for a refusal. `piece` bytes come at a time.
std::string replies_of(std::string_view bytes, std::size_t piece) {
  ordo::store::redis::ReplyParser parser;
  std::string text;
  try {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      parser.feed(bytes.substr(0, piece));
      while (const auto reply = parser.next()) {
        write(text, *reply);
        const auto redirect = ordo::store::redis::redirect_of(*reply, {"127.0.0.1", 1});
        if (redirect && redirect->slot >= ordo::store::redis::kSlots) std::abort();
      }
    }
  } catch (const ordo::Error& error) {
    if (error.kind() != ordo::ErrorKind::unavailable) std::abort();
    text += "!";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (replies_of(bytes, 1) != replies_of(bytes, bytes.size() + 1)) std::abort();
  return 0;
}
