#include "domain/wait_note.h"

#include "base/bytes.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kNoteVersion = 1;

WaitNote read_note(std::string_view bytes) {
  ByteReader in(bytes, "note of a wait");
  WaitNote note;
  std::string unknown;
  if (get_version(in, unknown) != kNoteVersion) in.fail("its version is unknown");
  note.wait = in.get_short();
  note.key = in.get_short();
  note.message_id = in.get_short();
  note.body = in.rest();
  return note;
}

}  // namespace

std::string encode(const WaitNote& note) {
  std::string bytes;
  bytes.reserve(note.wait.size() + note.key.size() + note.message_id.size() + note.body.size() + 4);
  ByteWriter out(bytes);
  out.put(kNoteVersion);
  out.put_short(note.wait);
  out.put_short(note.key);
  out.put_short(note.message_id);
  out.put_rest(note.body);
  return bytes;
}

Decoded<WaitNote> decode_wait_note(std::string_view bytes) {
  return read_record<WaitNote>([&] { return read_note(bytes); });
}

}  // namespace ordo::domain
