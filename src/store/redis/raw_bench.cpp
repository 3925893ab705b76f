#include "store/redis/raw_bench.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/redis/connection.h"
#include "store/redis/slot_map.h"

namespace ordo::store::redis {
namespace {

constexpr std::string_view kStream = "ordo:{ordo}:bench";
constexpr Duration kBenchPatience = std::chrono::seconds{10};

class RawStream {
 public:
  explicit RawStream(std::string_view url) : connection_(server_of(parse_location(url)), kBenchPatience) {
    remove();
  }

  /// Appends `rows` and deletes those of the call before, sent in one piece.
  void commit(std::size_t rows, const std::string& body) {
    CommandText commands;
    for (std::size_t i = 0; i < rows; ++i) commands.add("XADD", kStream, "*", "e", body);
    if (!ids_.empty()) {
      commands.begin(2 + ids_.size());
      commands.word(std::string_view("XDEL"));
      commands.word(kStream);
      for (const auto& id : ids_) commands.word(std::string_view(id));
    }
    const auto replies = connection_.ask("measure", commands);
    ids_.clear();
    for (std::size_t i = 0; i < rows; ++i) ids_.push_back(replies[i].text);
  }

  void remove() {
    CommandText command;
    command.add("DEL", kStream);
    connection_.ask("clean up", command);
  }

 private:
  static Location server_of(const Location& location) {
    const SlotMap slots(location, kBenchPatience);
    return location.at(slots.server_of(slots.slot_of(kStream)));
  }

  Connection connection_;
  std::vector<std::string> ids_;
};

}  // namespace

double raw_append_delete_rate(std::string_view url, std::uint64_t rows, std::size_t row_bytes,
                              std::size_t rows_per_commit) {
  RawStream stream(url);
  const std::string body(row_bytes, 'x');
  const auto step = std::max<std::size_t>(rows_per_commit, 1);
  const auto end = rows / step * step;
  const auto start = system_clock().steady();
  for (std::uint64_t done = 0; done < end; done += step) stream.commit(step, body);
  stream.remove();
  const std::chrono::duration<double> seconds = system_clock().steady() - start;
  return static_cast<double>(end) / seconds.count();
}

double raw_commit_latency(std::string_view url, std::uint64_t commits) {
  RawStream stream(url);
  const std::string body(100, 'x');
  std::vector<Duration> times(std::max<std::uint64_t>(commits, 1));
  for (auto& time : times) {
    const auto start = system_clock().steady();
    stream.commit(1, body);
    time = system_clock().steady() - start;
  }
  stream.remove();
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(middle->count());
}

}  // namespace ordo::store::redis
