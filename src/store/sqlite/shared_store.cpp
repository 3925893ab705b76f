#include "store/sqlite/shared_store.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "store/sqlite/location.h"

namespace ordo::store::sqlite {
namespace {

/// A file. One opens it at a time, while others open others.
struct Place {
  std::mutex opening;
  std::weak_ptr<SqliteStore> store;
};

/// The files that one process has open.
struct Book {
  explicit Book(std::uint64_t process) : forks(process) {}

  std::shared_ptr<Place> place_of(const std::string& path, Clock& clock) {
    const std::lock_guard lock(mutex);
    std::erase_if(places, [](const auto& entry) {
      const std::unique_lock idle(entry.second->opening, std::try_to_lock);
      return idle && entry.second.use_count() == 1 && entry.second->store.expired();
    });
    auto& place = places[{path, &clock}];
    if (!place) place = std::make_shared<Place>();
    return place;
  }

  const std::uint64_t forks;
  std::mutex mutex;
  std::map<std::pair<std::string, Clock*>, std::shared_ptr<Place>> places;
};

// Somebody may have held the locks of the parent's book during the fork, so a child has one of its own. None
// is ever freed: stores may go while the process ends.
Book& book() {
  static std::atomic<Book*> current{nullptr};
  Book* known = current.load();
  while (known == nullptr || known->forks != forks()) {
    auto own = std::make_unique<Book>(forks());
    if (current.compare_exchange_strong(known, own.get())) known = own.release();
  }
  return *known;
}

}  // namespace

std::shared_ptr<SqliteStore> shared_store(const std::string& location, Clock& clock) {
  const auto place = book().place_of(locate(parse_location(location).path), clock);
  const std::lock_guard lock(place->opening);
  auto store = place->store.lock();
  if (store && store->has_its_files()) return store;
  store = std::make_shared<SqliteStore>(location, clock);
  place->store = store;
  return store;
}

}  // namespace ordo::store::sqlite
