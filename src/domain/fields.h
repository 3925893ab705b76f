#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <ordo/time.hpp>

#include "base/bytes.h"
#include "domain/decoded.h"

// Every stored record has room for optional fields: tag, size, bytes, one after the other. Who does not know
// a field leaves it alone, and writes it again where it writes the record again. The field `needs` says that
// a reader below that level would misunderstand the record; then nothing else of it has to be as expected.
namespace ordo::domain {

/// The level of the formats that this build writes and reads; nodes tell it each other.
std::uint16_t format_level();

using FieldTag = std::uint8_t;
inline constexpr FieldTag kNeeds = 1;  // std::uint16_t

/// One optional field, as it is stored.
std::string field(FieldTag tag, std::string_view bytes);
template <class Number>
std::string number_field(FieldTag tag, Number number) {
  return field(tag, {reinterpret_cast<const char*>(&number), sizeof number});
}

/// Thrown by the readers of records, caught by read_record().
struct NeedsNewer {
  std::uint16_t level = 0;
};

/// Looks through optional fields: `take` gets each and says whether it knows it. Returns those that it does
/// not know; a level that this build has is known. Throws NeedsNewer, and as `in` does.
std::string take_fields(std::string_view fields,
                        const std::function<bool(FieldTag, std::string_view)>& take = {});
/// The same, without a copy, where no field is known.
void check_fields(std::string_view fields);

/// The version byte of a record that has optional fields has this bit, and they follow it.
inline constexpr std::uint8_t kHasFields = 0x80;

/// `text`: what the record speaks of.
void put_version(ByteWriter& out, std::uint8_t version, std::string_view fields, std::string_view text = {});
/// The version, and what `take` does not know of the fields goes to `rest`.
std::uint8_t get_version(ByteReader& in, std::string& rest,
                         const std::function<bool(FieldTag, std::string_view)>& take = {});

template <class Number>
Number number_of(std::string_view bytes) {
  return ByteReader(bytes, "field").get<Number>();
}

/// A time, as every record has it.
inline void put_time(ByteWriter& out, Time time) { out.put(time.time_since_epoch().count()); }
inline Time get_time(ByteReader& in) { return Time{Duration{in.get<std::int64_t>()}}; }

Unreadable newer(std::uint16_t level);

/// Does `read`, which throws where the bytes are not as they should be.
template <class Record, class Read>
Decoded<Record> read_record(Read read) {
  try {
    return Decoded<Record>(read());
  } catch (const NeedsNewer& record) {
    return newer(record.level);
  } catch (const Error& error) {
    return Unreadable{error.what(), 0};
  }
}

#ifdef ORDO_NEWER_FORMAT
/// The next version of Ordo, for tests: it writes a field of its own into every record, and says of those
/// that speak of something "new!" that an older version must not guess what they mean.
std::string newer_fields(std::string_view fields, std::string_view text);
#endif

}  // namespace ordo::domain
