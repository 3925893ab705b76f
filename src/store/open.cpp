#include "store/open.h"

#include <string>

#include <ordo/error.hpp>

#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace ordo::store {

namespace {

constexpr std::string_view kSqlite = "sqlite:";

}  // namespace

std::unique_ptr<Store> open(std::string_view url, Clock& clock) {
  if (url == "memory:") return std::make_unique<memory::MemoryStore>(clock);
  if (url.starts_with(kSqlite)) {
    return std::make_unique<sqlite::SqliteStore>(std::string(url.substr(kSqlite.size())), clock);
  }
  throw Error(ErrorKind::invalid_argument,
              "cannot open the store '" + std::string(url) + "': use sqlite:FILE or memory:");
}

}  // namespace ordo::store
