#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ordo/time.hpp>

#include <ordo/abi.hpp>

namespace ordo {

/// One thing that `ordo doctor` looked at, or one of Admin::problems().
struct Finding {
  enum class Level : std::uint8_t {
    good,
    warning,  ///< it works, with less than its user may believe
    bad,      ///< jobs can be lost or stand still
  };
  Level level = Level::good;
  std::string what{};    ///< what is so, with its figures
  std::string advice{};  ///< what to do; empty when it is good

  /// What it is about, so that a page can lead there.
  enum class About : std::uint8_t {
    store,
    node,
    queue,
    reshard,
    code,
    dead,
    retries,
    limit,
    jobs,
    responses,
    source
  };
  About about = About::store;
  std::string queue{};          ///< empty: it is about no single one
  std::string name{};           ///< of the node, the limit, the job or the source
  std::optional<Time> since{};  ///< nothing: it is not known
  std::string effect{};         ///< "12 jobs wait"; empty: it is not known
  std::uint64_t jobs = 0;       ///< of that effect
  bool needs_person = false;    ///< it does not end by itself
};

}  // namespace ordo
