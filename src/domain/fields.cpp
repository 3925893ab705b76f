#include "domain/fields.h"

namespace ordo::domain {

#ifdef ORDO_NEWER_FORMAT
std::uint16_t format_level() { return 2; }
#else
std::uint16_t format_level() { return 1; }
#endif

std::string field(FieldTag tag, std::string_view bytes) {
  std::string text;
  ByteWriter out(text);
  out.put(tag);
  out.put_long(bytes);
  return text;
}

namespace {

template <class Visit>
void each_field(std::string_view fields, Visit visit) {
  ByteReader in(fields, "optional field");
  while (!in.at_end()) {
    const auto tag = in.get<FieldTag>();
    const auto bytes = in.get_long();
    if (tag == kNeeds && number_of<std::uint16_t>(bytes) > format_level())
      throw NeedsNewer{number_of<std::uint16_t>(bytes)};
    visit(tag, bytes);
  }
}

}  // namespace

std::string take_fields(std::string_view fields,
                        const std::function<bool(FieldTag, std::string_view)>& take) {
  std::string rest;
  each_field(fields, [&](FieldTag tag, std::string_view bytes) {
    if (tag != kNeeds && (!take || !take(tag, bytes))) rest += field(tag, bytes);
  });
  return rest;
}

void check_fields(std::string_view fields) {
  each_field(fields, [](FieldTag, std::string_view) {});
}

void put_version(ByteWriter& out, std::uint8_t version, std::string_view fields,
                 [[maybe_unused]] std::string_view text) {
#ifdef ORDO_NEWER_FORMAT
  const auto newer = newer_fields(fields, text);
  fields = newer;
#endif
  out.put(static_cast<std::uint8_t>(version | (fields.empty() ? 0 : kHasFields)));
  if (!fields.empty()) out.put_long(fields);
}

std::uint8_t get_version(ByteReader& in, std::string& rest,
                         const std::function<bool(FieldTag, std::string_view)>& take) {
  const auto version = in.get<std::uint8_t>();
  if ((version & kHasFields) != 0) rest = take_fields(in.get_long(), take);
  return version & static_cast<std::uint8_t>(~kHasFields);
}

Unreadable newer(std::uint16_t level) {
  return {"it was written by a newer version of Ordo (format " + std::to_string(level) + "; this one has " +
              std::to_string(format_level()) + ")",
          level};
}

#ifdef ORDO_NEWER_FORMAT
std::string newer_fields(std::string_view fields, std::string_view text) {
  constexpr FieldTag kOfTheNext = 200;
  auto all =
      take_fields(fields, [](FieldTag tag, std::string_view) { return tag == kOfTheNext || tag == kNeeds; });
  all += field(kOfTheNext, "as the next version writes it");
  if (text.find("new!") != std::string_view::npos) all = number_field(kNeeds, format_level()) + all;
  return all;
}
#endif

}  // namespace ordo::domain
