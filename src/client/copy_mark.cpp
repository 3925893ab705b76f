#include "client/copy_mark.h"

#include "domain/archive.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, CopyMark>& mark) {
  a.version(1);
  a.flags(mark.is_open, mark.is_first, mark.paused, mark.holds_pause);
  a.number(mark.from_batch);
  a.number(mark.to_batch);
  a.number(mark.from_after);
  a.number(mark.to_after);
  a.number(mark.entries);
  a.number(mark.checksum);
  a.number(mark.dead_no);
}

}  // namespace ordo::domain

namespace ordo {

std::string encode(const CopyMark& mark) { return domain::to_bytes(mark); }

CopyMark decode_copy_mark(std::string_view bytes) {
  return domain::from_bytes<CopyMark>(bytes, "mark of a copy");
}

}  // namespace ordo
