#include "store/open.h"

#include <string>

#include <ordo/error.hpp>

#include "store/memory/memory_store.h"

namespace ordo::store {

std::unique_ptr<Store> open(std::string_view url, Clock& clock) {
  if (url == "memory:") return std::make_unique<memory::MemoryStore>(clock);
  throw Error(ErrorKind::invalid_argument,
              "cannot open the store '" + std::string(url) + "': use sqlite:FILE or memory:");
}

}  // namespace ordo::store
