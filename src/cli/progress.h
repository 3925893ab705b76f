#pragma once

#include <cstdint>
#include <string_view>

#include <ordo/time.hpp>

namespace ordo::cli {

/// A bar on the standard error while something long goes on; nothing unless that is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();  ///< wipes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `part` of `whole` is done; no bar if `whole` is not known (0). `count` of `things` tell how fast.
  void show(std::uint64_t part, std::uint64_t whole, std::uint64_t count, std::string_view things);

 private:
  bool on_;
  bool shown_ = false;
  Duration started_;
  Duration next_;
};

}  // namespace ordo::cli
