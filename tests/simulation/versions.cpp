#include "simulation/versions.h"

#include "domain/fields.h"

namespace ordo::simulation {
namespace {

// Where a record says that it has optional fields, which follow there.
struct Flag {
  std::size_t at;
  char bit;
};

Flag flag_of(RecordType type) {
  return type == RecordType::entry ? Flag{1, 32} : Flag{0, static_cast<char>(domain::kHasFields)};
}

std::string mark() {
  std::string bytes;
  ByteWriter(bytes).put_long(
      domain::number_field(domain::kNeeds, static_cast<std::uint16_t>(domain::format_level() + 1)));
  return bytes;
}

}  // namespace

std::string made_newer(RecordType type, std::string bytes) {
  const auto [at, bit] = flag_of(type);
  if ((bytes.at(at) & bit) != 0) return bytes;
  bytes[at] = static_cast<char>(bytes[at] | bit);
  return bytes.insert(at + 1, mark());
}

std::string read_by_newer(RecordType type, std::string_view bytes) {
  const auto [at, bit] = flag_of(type);
  std::string read(bytes);
  if (read.size() <= at || (read[at] & bit) == 0 || !bytes.substr(at + 1).starts_with(mark())) return read;
  read[at] = static_cast<char>(read[at] & ~bit);
  return read.erase(at + 1, mark().size());
}

store::LogChunk read_by_newer(const store::LogChunk& chunk) {
  auto read = chunk;
  read.bytes.clear();
  read.rows.clear();
  for (const auto& row : chunk.rows) read.add(row, read_by_newer(RecordType::entry, chunk.body(row)));
  return read;
}

}  // namespace ordo::simulation
