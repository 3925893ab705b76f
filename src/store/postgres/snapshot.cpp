#include "store/postgres/snapshot.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <ordo/error.hpp>

namespace ordo::store::postgres {
namespace {

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) {
    throw Error(ErrorKind::corrupt, "cannot read the log: PostgreSQL's snapshot has a number '" +
                                        std::string(text) + "'; this version of it is unknown");
  }
  return number;
}

std::string_view cut(std::string_view& text, char at) {
  const auto end = std::min(text.find(at), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

Snapshot::Snapshot(std::string_view text) {
  cut(text, ':');  // the oldest in progress, which is the first of the list
  const auto end = number_of(cut(text, ':'));
  auto list = cut(text, ':');
  const auto base = number_of(text);
  end_ = end + base;
  while (!list.empty()) in_progress_.push_back(number_of(cut(list, ',')) + base);
}

bool Snapshot::has_ended(std::int64_t xid) const {
  return xid < end_ && !std::binary_search(in_progress_.begin(), in_progress_.end(), xid);
}

}  // namespace ordo::store::postgres
