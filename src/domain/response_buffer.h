#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/time.hpp>

#include "domain/decoded.h"

// How many responses a queue keeps that nobody waits for yet. They are counted in one row, as parts by how
// long they are kept: so those whose time is over leave the count without a look at any of them, and so does,
// in the end, what a crash has left in it.
namespace ordo::domain {

struct BufferBounds {
  std::uint64_t most = 10'000;
  std::uint64_t most_bytes = 64U << 20;  ///< of bodies
};

/// One response that is kept, or was.
struct Buffered {
  Time until{};
  std::uint64_t bytes = 0;
};

struct BufferCount {
  /// Those that are kept until then, or for a little less.
  struct Part {
    Time until{};
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;

    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;  ///< ascending

  bool operator==(const BufferCount&) const = default;
};

std::string encode(const BufferCount& count);
Decoded<BufferCount> decode_buffer_count(std::string_view bytes);
/// Beside the unique keys of the queue, whose own have another length.
inline constexpr std::string_view kBufferRow = "b";
/// Until then the store keeps the row.
Time kept_until(const BufferCount& count);

/// With one more, kept for `ttl`; nothing: that is above the bounds.
std::optional<BufferCount> with(BufferCount count, const Buffered& response, Duration ttl,
                                const BufferBounds& bounds, Time now);
/// Without one that is not kept any more. Counts rather too many than too few.
BufferCount without(BufferCount count, const Buffered& response, Time now);

}  // namespace ordo::domain
