#include "client/copy_mark.h"

#include "base/bytes.h"

namespace ordo {
namespace {

constexpr std::uint8_t kMarkVersion = 1;
constexpr std::uint8_t kOpen = 1, kFirst = 2, kPaused = 4, kHoldsPause = 8;

}  // namespace

std::string encode(const CopyMark& mark) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kMarkVersion);
  out.put(static_cast<std::uint8_t>((mark.is_open ? kOpen : 0) | (mark.is_first ? kFirst : 0) |
                                    (mark.paused ? kPaused : 0) | (mark.holds_pause ? kHoldsPause : 0)));
  for (const auto value : {mark.from_batch, mark.to_batch, mark.from_after, mark.to_after, mark.entries,
                           mark.checksum, mark.dead_no}) {
    out.put(value);
  }
  return bytes;
}

CopyMark decode_copy_mark(std::string_view bytes) {
  ByteReader in(bytes, "mark of a copy");
  in.check_version(kMarkVersion);
  const auto flags = in.get<std::uint8_t>();
  CopyMark mark;
  mark.is_open = (flags & kOpen) != 0;
  mark.is_first = (flags & kFirst) != 0;
  mark.paused = (flags & kPaused) != 0;
  mark.holds_pause = (flags & kHoldsPause) != 0;
  for (auto* value : {&mark.from_batch, &mark.to_batch, &mark.from_after, &mark.to_after, &mark.entries,
                      &mark.checksum, &mark.dead_no}) {
    *value = in.get<std::uint64_t>();
  }
  return mark;
}

}  // namespace ordo
