#include "domain/lent.h"

#include "domain/lent_fields.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, JobEnd>& end) {
  auto& [outcome, jitter] = end;
  a.choice(outcome.kind, Outcome::Kind::waiting, "its outcome is unknown");
  a.choice(outcome.failure, FailureKind::invalid_push, "its failure is unknown");
  a.duration(outcome.snooze);
  a.duration(outcome.penalty);
  a.maybe(outcome.delivered);
  a.number(jitter);
  a.long_text(outcome.text);
  a.short_text(outcome.wait_id);
  a.any_time(outcome.deadline);
}

template <class A>
void fields(A& a, In<A, LentEnd>& end) {
  a.head(1);
  value(a, end.name);
  a.flags(end.declined);
  a.until_end(end.ends);
}

std::string encode(const LentEnd& end) { return to_bytes(end); }

Decoded<LentEnd> decode_lent_end(std::string_view bytes) {
  return decode<LentEnd>(bytes, "end of a lent run");
}

}  // namespace ordo::domain
