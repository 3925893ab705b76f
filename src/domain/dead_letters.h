#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/dead_letter.hpp>
#include <ordo/time.hpp>

#include "domain/decoded.h"

// Responses that nobody will handle, and that are kept for people to look at (docs/responses.md). Each has a
// row beside the unique keys of its queue, and one row lists them: so their number stays in bounds, and the
// same message is kept once. A response that is kept for a job that may come (store/response_buffer.h)
// becomes one by itself when its time is over. A row by that time says where it is.
namespace ordo::domain {

/// So long a dead letter is kept.
inline constexpr Duration kLetterLife = std::chrono::hours{24 * 7};

struct LetterBounds {
  std::uint64_t most = 1'000;
  std::uint64_t most_bytes = 64U << 20;  ///< of bodies
};

std::string encode(const DeadLetter& letter);
Decoded<DeadLetter> decode_dead_letter(std::string_view bytes);

struct LetterList {
  struct Item {
    Time at{};
    std::uint32_t bytes = 0;
    std::string name;  ///< of letter_name()

    bool operator==(const Item&) const = default;
  };
  std::vector<Item> items;  ///< in the order in which they came

  bool operator==(const LetterList&) const = default;
};

std::string encode(const LetterList& list);
Decoded<LetterList> decode_letter_list(std::string_view bytes);

/// The same for the same message to the same key: 16 bytes.
std::string letter_name(const DeadLetter& letter);
/// Those that are kept still.
LetterList kept_letters(LetterList list, Time now);
/// With one more, and the names of those that had to go for it. Nothing: it is in the list, and kept still.
/// Only their number lets others go: those whose time is over are the first of them, and a clock that is
/// ahead for a moment is to take none away.
std::optional<std::pair<LetterList, std::vector<std::string>>> with(LetterList list, const DeadLetter& letter,
                                                                    const LetterBounds& bounds, Time now);

// Keys of the rows beside the unique keys of the queue, whose own have another length.

inline constexpr std::string_view kLetterListRow = "l";
std::string letter_row_key(std::string_view name);
/// Of a response that becomes a dead letter then, if it is still there: they are listed in the order of their
/// times. Their bytes are the key that it is for.
std::string expiry_row_key(Time then, std::string_view key, std::uint64_t body_bytes);
bool is_expiry_row_key(std::string_view key);
/// `body_bytes` of such a key.
std::uint64_t expiry_bytes(std::string_view row_key);
/// Where the list of them begins and ends, and where those end whose time is over.
std::string first_expiry();
std::string end_of_expiries();
std::string end_of_expired(Time now);

}  // namespace ordo::domain
