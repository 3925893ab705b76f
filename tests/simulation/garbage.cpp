#include "simulation/garbage.h"

#include "domain/records.h"
#include "simulation/versions.h"

namespace ordo::simulation {
namespace {

bool can_be_read(const std::string& bytes) {
  if (read_by_newer(RecordType::state, bytes) != bytes) return true;
  const auto state = domain::decode_state(bytes);
  return state || state.needs() != 0;
}

}  // namespace

std::string Garbage::make(std::string_view record, Random& dice) {
  for (int tries = 0; tries < 20; ++tries) {
    std::string bytes(record);
    if (dice.below(2) == 0) {
      bytes.resize(1 + dice.below(bytes.size()));
    } else {
      for (auto flips = 1 + dice.below(4); flips > 0; --flips)
        bytes[dice.below(bytes.size())] ^= static_cast<char>(1U << dice.below(8));
    }
    if (can_be_read(bytes) || all_.contains(bytes)) continue;
    all_[bytes].record = record;
    return bytes;
  }
  return {};
}

void Garbage::loaded(std::string_view bytes, const std::string& who) {
  const auto found = all_.find(bytes);
  if (found != all_.end()) found->second.loaded_by.insert(who);
}

bool Garbage::is_loaded(std::string_view bytes) const {
  const auto found = all_.find(bytes);
  return found != all_.end() && !found->second.loaded_by.empty();
}

bool Garbage::is_loaded_by(std::string_view bytes, const std::string& who) const {
  const auto found = all_.find(bytes);
  return found != all_.end() && found->second.loaded_by.contains(who);
}

std::string_view Garbage::before(std::string_view bytes) const {
  const auto found = all_.find(bytes);
  return found == all_.end() ? bytes : found->second.record;
}

}  // namespace ordo::simulation
