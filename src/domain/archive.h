#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ordo/time.hpp>

#include "base/bytes.h"
#include "base/time_text.h"
#include "domain/decoded.h"
#include "domain/fields.h"

// The bytes of a record are described once: fields(archive, record) visits its members in their stored order,
// with a Writer to encode it and with a Reader to decode it.
//
//   template <class Archive>
//   void fields(Archive& a, In<Archive, Room>& room) {
//     a.number(room.threads);
//     a.list(room.queues);
//   }
//
// formats_test.cpp freezes the bytes. A later version adds optional fields, which this one passes on. A
// record that an older version would misunderstand says so in the field `needs` (fields.h).
namespace ordo::domain {

template <class Archive, class Record>
using In = std::conditional_t<Archive::kReads, Record, const Record>;

/// Stores a value as its type says.
template <class Archive, class Value>
void value(Archive& a, Value& of) {
  using Type = std::remove_const_t<Value>;
  if constexpr (std::is_same_v<Type, bool>) {
    a.flags(of);
  } else if constexpr (std::is_arithmetic_v<Type>) {
    a.number(of);
  } else if constexpr (std::is_same_v<Type, Time>) {
    a.time(of);
  } else if constexpr (std::is_same_v<Type, Duration>) {
    a.duration(of);
  } else if constexpr (std::is_convertible_v<Type, std::string_view>) {
    a.short_text(of);
  } else {
    fields(a, of);
  }
}

class Writer {
 public:
  static constexpr bool kReads = false;

  explicit Writer(std::string& bytes) : out_(bytes) {}

  template <class Number>
  void number(Number of) {
    out_.put(of);
  }
  /// Of an enumeration whose last value is `last`.
  template <class Enum>
  void choice(Enum of, Enum /*last*/, const char* /*why*/) {
    static_assert(sizeof(Enum) == 1);
    out_.put(of);
  }
  template <class... Flags>
  void flags(const Flags&... flags) {
    unsigned bits = 0, bit = 1;
    ((bits |= flags ? bit : 0, bit <<= 1), ...);
    out_.put(static_cast<std::uint8_t>(bits));
  }
  void time(Time of) { out_.put(of.time_since_epoch().count()); }
  /// May be Time::min() or Time::max(); time() is read within the bounds of written_time().
  void any_time(Time of) { time(of); }
  void duration(Duration of) { out_.put(of.count()); }
  void seconds(std::chrono::seconds of) { out_.put(static_cast<std::int32_t>(of.count())); }
  void short_text(std::string_view of) { out_.put_short(of); }
  void long_text(std::string_view of) { out_.put_long(of); }
  void rest(std::string_view of) { out_.put_rest(of); }

  template <class List, class Each>
  void list(const List& list, Each each) {
    out_.put(static_cast<std::uint32_t>(list.size()));
    for (const auto& item : list) each(*this, item);
  }
  template <class List>
  void list(const List& all) {
    list(all, [](auto& a, auto& item) { value(a, item); });
  }
  /// The list ends with the record.
  template <class List>
  void until_end(const List& list) {
    for (const auto& item : list) value(*this, item);
  }
  template <class Value>
  void maybe(const std::optional<Value>& of) {
    out_.put(static_cast<std::uint8_t>(of.has_value()));
    if (of) value(*this, *of);
  }

  /// Only of one that has a value; something else in the record says so.
  template <class Value>
  void present(const std::optional<Value>& of) {
    value(*this, *of);
  }

  /// The version byte and the optional fields: `visit` names the known ones, `unknown` holds the others as
  /// they were read. `text`: what the record speaks of, for newer_fields().
  template <class Visit>
  void head(std::uint8_t version, const std::string& unknown, Visit visit, std::string_view text = {});
  /// Likewise without known fields; those of a later version are dropped.
  void head(std::uint8_t version) { put_version(out_, version, {}); }
  /// The version byte of a record that has no optional fields.
  void version(std::uint8_t version) { out_.put(version); }

  void check(bool /*is_right*/, const char* /*why*/) const {}

 private:
  ByteWriter out_;
};

class Reader {
 public:
  static constexpr bool kReads = true;

  Reader(std::string_view bytes, const char* what) : in_(bytes, what), what_(what) {}

  template <class Number>
  void number(Number& of) {
    of = in_.get<Number>();
  }
  template <class Enum>
  void choice(Enum& of, Enum last, const char* why) {
    of = in_.get<Enum>();
    check(of <= last, why);
  }
  template <class... Flags>
  void flags(Flags&... flags) {
    const unsigned bits = in_.get<std::uint8_t>();
    unsigned bit = 1;
    ((flags = (bits & bit) != 0, bit <<= 1), ...);
  }
  void time(Time& of) { of = written_time(Time{Duration{in_.get<std::int64_t>()}}); }
  void any_time(Time& of) { of = Time{Duration{in_.get<std::int64_t>()}}; }
  void duration(Duration& of) { of = Duration{in_.get<std::int64_t>()}; }
  void seconds(std::chrono::seconds& of) { of = std::chrono::seconds{in_.get<std::int32_t>()}; }
  template <class Text>
  void short_text(Text& of) {
    of = in_.get_short();
  }
  template <class Text>
  void long_text(Text& of) {
    of = in_.get_long();
  }
  template <class Text>
  void rest(Text& of) {
    of = in_.rest();
  }

  template <class List, class Each>
  void list(List& list, Each each) {
    for (auto left = in_.get<std::uint32_t>(); left > 0; --left) each(*this, list.emplace_back());
  }
  template <class List>
  void list(List& all) {
    list(all, [](auto& a, auto& item) { value(a, item); });
  }
  template <class List>
  void until_end(List& list) {
    while (!in_.at_end()) value(*this, list.emplace_back());
  }
  template <class Value>
  void maybe(std::optional<Value>& of) {
    of.reset();
    if (in_.get<std::uint8_t>() != 0) present(of);
  }
  template <class Value>
  void present(std::optional<Value>& of) {
    value(*this, of.emplace());
  }

  template <class Visit>
  void head(std::uint8_t version, std::string& unknown, Visit visit, std::string_view text = {});
  void head(std::uint8_t version) {
    std::string dropped;
    check(get_version(in_, dropped) == version, "its version is unknown");
  }
  void version(std::uint8_t version) { in_.check_version(version); }

  void check(bool is_right, const char* why) const {
    if (!is_right) in_.fail(why);
  }
  bool at_end() const { return in_.at_end(); }

 private:
  ByteReader in_;
  const char* what_;
};

/// Writes the optional fields of a record: each call one field, whose tag no other field of the record uses.
class FieldWriter {
 public:
  static constexpr bool kReads = false;

  /// Left out if it equals `absent`.
  template <class Number>
  void number(FieldTag tag, const Number& of, std::type_identity_t<Number> absent = {}) {
    if (of != absent) bytes += number_field(tag, of);
  }
  void text(FieldTag tag, std::string_view of) {
    if (!of.empty()) bytes += field(tag, of);
  }
  /// Without bytes.
  void flag(FieldTag tag, bool of) {
    if (of) bytes += field(tag, {});
  }
  template <class Value>
  void maybe(FieldTag tag, const std::optional<Value>& of) {
    if (of) record(tag, *of);
  }
  void maybe_text(FieldTag tag, const std::optional<std::string>& of) {
    if (of) bytes += field(tag, *of);
  }
  void any_time(FieldTag tag, Time of, Time absent) {
    number(tag, of.time_since_epoch().count(), absent.time_since_epoch().count());
  }
  void maybe_any_time(FieldTag tag, const std::optional<Time>& of) {
    if (of) bytes += number_field(tag, of->time_since_epoch().count());
  }
  template <class Record>
  void record(FieldTag tag, const Record& of) {
    std::string text;
    Writer writer(text);
    value(writer, of);
    bytes += field(tag, text);
  }
  template <class Record>
  void record_unless_empty(FieldTag tag, const Record& of) {
    if (of != Record{}) record(tag, of);
  }
  /// One field for each item; `most` of them are read.
  template <class List>
  void each(FieldTag tag, const List& list, std::size_t /*most*/ = 0) {
    for (const auto& item : list) record(tag, item);
  }

  std::string bytes;
};

/// Reads one optional field: the call with its tag takes it.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  FieldReader(FieldTag tag, std::string_view bytes, const char* what)
      : tag_(tag), bytes_(bytes), what_(what) {}

  template <class Number>
  void number(FieldTag tag, Number& of, std::type_identity_t<Number> /*absent*/ = {}) {
    if (is(tag)) Reader(bytes_, what_).number(of);
  }
  template <class Text>
  void text(FieldTag tag, Text& of) {
    if (is(tag)) of = bytes_;
  }
  void flag(FieldTag tag, bool& of) {
    if (is(tag)) of = true;
  }
  template <class Value>
  void maybe(FieldTag tag, std::optional<Value>& of) {
    if (tag == tag_) record(tag, of.emplace());
  }
  void maybe_text(FieldTag tag, std::optional<std::string>& of) {
    if (is(tag)) of = bytes_;
  }
  void any_time(FieldTag tag, Time& of, Time /*absent*/) {
    if (is(tag)) Reader(bytes_, what_).any_time(of);
  }
  void maybe_any_time(FieldTag tag, std::optional<Time>& of) {
    if (is(tag)) Reader(bytes_, what_).any_time(of.emplace());
  }
  template <class Record>
  void record(FieldTag tag, Record& of) {
    if (!is(tag)) return;
    Reader reader(bytes_, what_);
    value(reader, of);
  }
  template <class Record>
  void record_unless_empty(FieldTag tag, Record& of) {
    record(tag, of);
  }
  template <class List>
  void each(FieldTag tag, List& list, std::size_t most = SIZE_MAX) {
    if (tag != tag_) return;
    known = true;
    if (list.size() < most) record(tag, list.emplace_back());
  }

  bool known = false;

 private:
  bool is(FieldTag tag) {
    if (tag != tag_) return false;
    return known = true;
  }

  FieldTag tag_;
  std::string_view bytes_;
  const char* what_;
};

template <class Visit>
void Writer::head(std::uint8_t version, const std::string& unknown, Visit visit, std::string_view text) {
  FieldWriter known;
  visit(known);
  put_version(out_, version, known.bytes += unknown, text);
}

template <class Visit>
void Reader::head(std::uint8_t version, std::string& unknown, Visit visit, std::string_view /*text*/) {
  const auto found = get_version(in_, unknown, [&](FieldTag tag, std::string_view bytes) {
    FieldReader field(tag, bytes, what_);
    visit(field);
    return field.known;
  });
  check(found == version, "its version is unknown");
}

template <class Record>
std::string to_bytes(const Record& record) {
  std::string bytes;
  Writer writer(bytes);
  fields(writer, record);
  return bytes;
}

/// Throws as the readers of records do (fields.h). `what` names the record in the message.
template <class Record>
Record from_bytes(std::string_view bytes, const char* what, Record record = {}) {
  Reader reader(bytes, what);
  fields(reader, record);
  return record;
}

template <class Record>
Decoded<Record> decode(std::string_view bytes, const char* what) {
  return read_record<Record>([&] { return from_bytes<Record>(bytes, what); });
}

}  // namespace ordo::domain
