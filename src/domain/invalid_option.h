#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

namespace ordo::domain {

/// What validate() throws. Whoever has read the config from somewhere can say where the mistake is.
class InvalidOption : public Error {
 public:
  using Path = std::vector<std::string>;

  /// `path`: of the key in a config file, the places in lists as numbers. `why` is of the key alone, and
  /// `section` says of which part of the config.
  InvalidOption(Path path, const std::string& section, std::string why)
      : Error(ErrorKind::invalid_argument, section + ": " + why + "; nothing was opened"),
        path_(std::move(path)),
        why_(std::move(why)) {}

  const Path& path() const { return path_; }
  const std::string& why() const { return why_; }

 private:
  Path path_;
  std::string why_;
};

}  // namespace ordo::domain
