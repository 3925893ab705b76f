#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history.h"

namespace replica {

/// The side system: files that follow the stream. Each lies in a file of its own together with the position
/// of the change that made it, so one rename changes both or neither:
///
///   1234 100644\n<content>          as change 1234 left it
///   1240 deleted\n                  gone since change 1240
///
/// Different paths may be written at the same time.
class Folder {
 public:
  /// Goes on with what is in `folder`.
  explicit Folder(std::string folder);

  /// The position of the change that made the file; nothing if none did.
  std::optional<std::uint64_t> position(const std::string& path) const;

  /// The file is as change `position` leaves it. `content` is looked at unless it is a delete.
  void write(const std::string& path, std::uint64_t position, const Change& change,
             const std::string& content);

  /// Makes the tree of plain files, links and folders in `tree`. What cannot be made there is left out.
  void build(const std::string& tree) const;

 private:
  std::string file_of(const std::string& path) const;

  std::string folder_;
  std::atomic<std::uint64_t> written_{0};
};

/// How a built tree differs from a commit.
struct Differences {
  std::size_t files = 0;  ///< of the commit
  std::size_t missing = 0, extra = 0, content = 0, mode = 0;
  std::vector<std::string> examples;

  std::size_t count() const { return missing + extra + content + mode; }
};

/// Compares byte for byte, executable bits and the targets of links too.
Differences compare(const std::string& tree, const History& history, Blobs& blobs);

}  // namespace replica
