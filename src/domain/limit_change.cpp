#include "domain/limit_change.h"

#include <utility>

#include "domain/archive.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, RateLimit>& rate) {
  a.number(rate.limit);
  a.duration(rate.per);
  a.number(rate.burst);
  a.check(rate.limit != 0 && rate.per > Duration{}, "its rate is none");
}

template <class A>
void fields(A& a, In<A, LimitChange>& change) {
  std::string dropped;
  auto millionths = change.limit ? std::optional(change.limit->millionths()) : std::nullopt;
  a.head(1, dropped, [&](auto& f) {
    f.maybe(2, millionths);
    f.maybe(3, change.rate);
  });
  a.check(!millionths || *millionths >= Decimal::kOne, "its limit is below 1");
  if constexpr (A::kReads) {
    if (millionths) change.limit = Decimal::of_millionths(*millionths);
  }
}

std::string encode(const LimitChange& change) { return to_bytes(change); }

Decoded<LimitChange> decode_limit_change(std::string name, std::string_view bytes) {
  return read_record<LimitChange>([&] {
    return from_bytes(bytes, "limit that was set", LimitChange{std::move(name), {}, {}});
  });
}

}  // namespace ordo::domain
