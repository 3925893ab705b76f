#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/client.hpp>

#include "cli/line_reader.h"

namespace ordo::cli {

/// How a file of jobs ended.
struct NdjsonResult {
  std::uint64_t pushed = 0;  ///< jobs of the first lines, all durable
  std::uint64_t line = 0;    ///< that stopped it; 0: none
  std::string error;
};

/// Pushes a file of jobs, one JSON object a line, in commits of up to 1,000 lines, several of them under way.
///
/// Stops at the first line that is no job or cannot be pushed; the lines before it are pushed. `progress` is
/// called now and then with the number of jobs that are durable.
class NdjsonPush {
 public:
  NdjsonPush(Client& client, std::string queue, std::function<void(std::uint64_t)> progress);

  NdjsonResult run(LineReader& lines);

 private:
  struct Ledger;  ///< shared with the callbacks of the pushes under way

  void read(LineReader& lines);
  bool add(std::string_view line);
  void submit();
  void submit_one_by_one();
  void stop(std::uint64_t line, std::string error);

  Client& client_;
  std::string queue_;
  std::function<void(std::uint64_t)> progress_;
  std::shared_ptr<Ledger> ledger_;
  std::uint64_t line_ = 0;
  std::vector<std::uint64_t> batch_lines_;
  std::vector<NewJob> batch_;
  std::size_t batch_bytes_ = 0;
};

}  // namespace ordo::cli
