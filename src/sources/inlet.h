#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/job.hpp>
#include <ordo/options.hpp>

#include "domain/source_row.h"
#include "domain/unique.h"
#include "store/store.h"

namespace ordo::sources {

/// The one way of a source into the logs: entries are appended, and its row, which says how far it is at its
/// origin, is rewritten, in one step of the store. So whatever is brought again, by this process or another,
/// is known by its position, and appended once. Belongs to one thread.
class Inlet {
 public:
  /// `config`: the queues that may have to be made. It and the store must outlive it.
  Inlet(store::Store& store, const Config& config, std::string source);

  /// As it is stored; empty before the first job. Throws Error{unavailable}, or corrupt.
  const domain::SourceRow& row();
  /// It may have been changed: it is read again.
  void forget() { row_.reset(); }

  /// How a job is stored. Throws Error{invalid_argument}: its queue is neither stored nor in the config.
  store::NewEntry entry(const std::string& queue, const NewJob& job,
                        std::vector<domain::UniqueHold> holds = {}, std::optional<bool> keeps_dead = {},
                        std::string retried_by = {});
  /// Behind the entry of a job, in the same append: puts it into the dead set before it starts.
  store::NewEntry kill_entry(const std::string& queue, const NewJob& job);
  /// How a job is stored that cannot be run: its owner puts it into the dead set, with the reason.
  store::NewEntry dead_entry(const std::string& queue, const NewJob& job, std::string_view reason);

  /// Changes nothing. Throws Error{unsupported}: this store has row and logs in different places, and
  /// append() cannot work.
  void check(const std::string& queue);

  enum class Appended {
    done,      ///< all entries are in the logs, and `next` is the row
    another,   ///< another process was faster: nothing was changed, and row() is to be looked at again
    resharded  ///< a queue of an entry is closed or removed: nothing was changed; make the entries again
  };
  /// Throws Error{unavailable}: it may have been done, as row() then says.
  Appended append(std::vector<store::NewEntry> entries, domain::SourceRow next);

  store::Store& store() { return store_; }

 private:
  const store::QueueDefinition& definition(const std::string& queue);
  store::NewEntry placed(const std::string& queue, std::string_view key, std::string bytes);

  store::Store& store_;
  const Config& config_;
  const std::string source_;
  std::optional<domain::SourceRow> row_;  // nothing: to be read
  std::optional<std::string> bytes_;      // of the row; nothing: there is none
  std::map<std::string, store::QueueDefinition, std::less<>> queues_;
};

}  // namespace ordo::sources
