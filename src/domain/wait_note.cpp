#include "domain/wait_note.h"

#include "domain/archive.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, WaitNote>& note) {
  a.head(1);
  a.short_text(note.wait);
  a.short_text(note.key);
  a.short_text(note.message_id);
  a.rest(note.body);
}

std::string encode(const WaitNote& note) { return to_bytes(note); }

Decoded<WaitNote> decode_wait_note(std::string_view bytes) {
  return decode<WaitNote>(bytes, "note of a wait");
}

}  // namespace ordo::domain
