#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "process.h"

namespace replica {

/// What happened to one file: a message of the stream. Its place in the stream is its position.
struct Change {
  std::string path;
  std::string mode;  ///< 100644, 100755 or 120000 (a symbolic link); empty: the file was deleted
  std::string blob;  ///< names the content in the repository

  bool is_delete() const { return mode.empty(); }
};

/// A commit of a repository and the way to it.
struct History {
  std::string repository;
  std::string commit;
  std::vector<Change> changes;
  std::size_t commits = 0;
  std::size_t files = 0;     ///< that ever were
  std::size_t left_out = 0;  ///< changes of paths longer than an id may be
};

/// Why the history of `repository` is no good for a demonstration; empty: it is.
std::string why_unfit(const std::string& repository);

/// The commit that HEAD names.
std::string head_of(const std::string& repository);

/// Every change of a file along first parents, oldest first. Throws std::runtime_error.
History read_history(const std::string& repository, const std::string& commit);

/// The files of a commit, as changes.
std::vector<Change> files_of(const std::string& repository, const std::string& commit);

/// Reads contents by name, several threads at a time.
class Blobs {
 public:
  explicit Blobs(std::string repository) : repository_(std::move(repository)) {}
  std::string read(const std::string& blob);

 private:
  std::string repository_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Process>> idle_;
};

}  // namespace replica
