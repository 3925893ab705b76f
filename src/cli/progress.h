#pragma once

#include <cstdint>

#include <ordo/time.hpp>

#include "cli/line_reader.h"

namespace ordo::cli {

/// A bar on the standard error while a file of jobs is pushed; nothing unless that is a terminal.
class Progress {
 public:
  explicit Progress(const Input& input);
  ~Progress();  ///< wipes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t pushed);

 private:
  const Input& input_;
  bool on_;
  bool shown_ = false;
  Duration started_;
  Duration next_;
};

}  // namespace ordo::cli
