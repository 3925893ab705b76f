#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/client.hpp>

namespace ordo {

/// How a file of jobs ended.
struct NdjsonResult {
  std::uint64_t pushed = 0;  ///< jobs of the first lines, all durable
  std::uint64_t line = 0;    ///< that stopped it; 0: none
  bool interrupted = false;  ///< before that line, which nothing is wrong with
  std::string error;
  ErrorKind error_kind = ErrorKind::invalid_argument;
  std::uint64_t rejected = 0;       ///< whose unique keys other jobs have; they stop nothing
  std::uint64_t rejected_line = 0;  ///< of the first of them
  std::string existing;             ///< the job that has its key
  std::uint64_t bad = 0;            ///< lines that were set aside
  std::uint64_t bad_line = 0;       ///< the first of them
  std::string bad_reason;
};

/// What becomes of a line that is no job, or that no store would take.
struct BadLine {
  std::uint64_t line = 0;
  std::string_view text;
  std::string_view reason;
};

/// Pushes jobs that come as JSON objects, one a line, in commits of 1,000 lines, one after the other; of more
/// while the store is slower than the input.
///
/// Stops at the first line that is no job or cannot be pushed, unless such lines are to be set aside; the
/// lines before it are pushed, and of each key none is stored behind one that is not.
class NdjsonPush {
 public:
  NdjsonPush(Client& client, std::string queue);

  /// Called now and then with the number of jobs that are durable.
  void tell(std::function<void(std::uint64_t)> progress) { progress_ = std::move(progress); }

  /// Bad lines stop nothing, and go there. Not those that a store has refused: what is wrong with it may be
  /// wrong with all lines.
  void set_aside(std::function<void(const BadLine&)> aside) { aside_ = std::move(aside); }

  /// The queue has a rule for unique keys: what becomes of each job is to be known.
  void asks_of_each() { asks_of_each_ = true; }

  /// Lines before that one are skipped.
  void begin_at(std::uint64_t from_line) { from_line_ = from_line; }

  /// The next line; false: nothing more is wanted. Waits for the store when that is behind.
  bool add(std::string_view line);
  /// Stores what was added, as the next line is not there yet. False as add().
  bool flush();

  /// Three ways to end, each once. They wait for what is under way.
  NdjsonResult end();                        ///< there are no more lines
  NdjsonResult end_failed(std::string why);  ///< the next line cannot be had; those before it are pushed
  NdjsonResult interrupt();                  ///< nothing more is sent

 private:
  bool is_under_way() const;
  bool settle();
  bool send_batch();
  void submit();
  void submit_parts(std::size_t begin, std::size_t end);
  bool stop_behind(std::uint64_t line, std::string error);
  void stop(std::uint64_t line, std::string error, ErrorKind kind = ErrorKind::invalid_argument);
  bool refuse(std::string_view line, const std::string& why);
  void put_aside(const BadLine& bad);
  void leave_out(std::size_t place, const std::string& why);

  Client& client_;
  std::string queue_;
  std::function<void(std::uint64_t)> progress_ = [](std::uint64_t) {};
  std::function<void(const BadLine&)> aside_;
  bool asks_of_each_ = false;
  NdjsonResult result_;
  std::future<std::exception_ptr> under_way_;
  std::uint64_t under_way_line_ = 0;  ///< its first
  std::size_t under_way_jobs_ = 0;
  std::uint64_t from_line_ = 1;
  std::uint64_t line_ = 0;  ///< added last
  std::vector<std::uint64_t> batch_lines_;
  std::vector<NewJob> batch_;
  std::vector<std::string> batch_texts_;  ///< of its lines, if bad ones are set aside
  std::size_t batch_bytes_ = 0;
};

}  // namespace ordo
