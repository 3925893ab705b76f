#include "domain/limit_change.h"

#include <utility>

#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr FieldTag kLimit = 2, kRate = 3;

std::string encode_rate(const RateLimit& rate) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(rate.limit);
  out.put(std::int64_t{rate.per.count()});
  out.put(rate.burst);
  return bytes;
}

RateLimit read_rate(std::string_view bytes) {
  ByteReader in(bytes, "limit that was set");
  RateLimit rate;
  rate.limit = in.get<std::uint32_t>();
  rate.per = Duration{in.get<std::int64_t>()};
  rate.burst = in.get<std::uint32_t>();
  if (rate.limit == 0 || rate.per <= Duration{}) in.fail("its rate is none");
  return rate;
}

}  // namespace

std::string encode(const LimitChange& change) {
  std::string fields, bytes;
  if (change.limit) fields += number_field(kLimit, change.limit->millionths());
  if (change.rate) fields += field(kRate, encode_rate(*change.rate));
  ByteWriter out(bytes);
  put_version(out, kVersion, fields);
  return bytes;
}

Decoded<LimitChange> decode_limit_change(std::string name, std::string_view bytes) {
  return read_record<LimitChange>([&] {
    ByteReader in(bytes, "limit that was set");
    LimitChange change{std::move(name), {}, {}};
    std::string unknown;
    const auto version = get_version(in, unknown, [&](FieldTag tag, std::string_view value) {
      if (tag == kLimit) change.limit = Decimal::of_millionths(number_of<std::int64_t>(value));
      if (tag == kRate) change.rate = read_rate(value);
      return tag == kLimit || tag == kRate;
    });
    if (version != kVersion) in.fail("its version is unknown");
    if (change.limit && change.limit->millionths() < Decimal::kOne) in.fail("its limit is below 1");
    return change;
  });
}

}  // namespace ordo::domain
