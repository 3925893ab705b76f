#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "store/sqlite/sqlite_store.h"

namespace ordo::store::sqlite {

/// The store of this file that others of this process have got here already, or a new one: connections,
/// locks and the thread that writes are needed once, however many use them. It is closed with its last user.
/// Files that were replaced meanwhile, and a process that was forked, get a store of their own. Thread-safe.
/// Throws as SqliteStore does.
std::shared_ptr<SqliteStore> shared_store(const std::string& location, Clock& clock);

}  // namespace ordo::store::sqlite
