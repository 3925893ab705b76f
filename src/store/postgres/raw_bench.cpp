#include "store/postgres/raw_bench.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "store/postgres/connection.h"

namespace ordo::store::postgres {
namespace {

// A table of its own, with the store's durability and plans.
class RawLog {
 public:
  explicit RawLog(const std::string& url) : connection_(url) {
    connection_.run_script(
        "measure",
        "SET client_min_messages = error; SET synchronous_commit = on; SET enable_seqscan = off;"
        " SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;"
        " DROP TABLE IF EXISTS ordo_raw_bench;"
        " CREATE TABLE ordo_raw_bench(shard bigint, seq bigint, at bigint, body bytea,"
        " PRIMARY KEY (shard, seq))");
  }
  ~RawLog() { PQclear(PQexec(connection_.handle(), "DROP TABLE ordo_raw_bench")); }
  RawLog(const RawLog&) = delete;
  RawLog& operator=(const RawLog&) = delete;

  /// Inserts rows with these numbers and deletes others, in one transaction and one round trip.
  void commit(const std::vector<std::int64_t>& insert, const std::vector<std::int64_t>& erase,
              const std::string& body) {
    const std::vector<std::string_view> bodies(insert.size(), body);
    connection_.begin_pipeline();
    connection_.send("measure",
                     "INSERT INTO ordo_raw_bench SELECT n & 15, n, 0, b"
                     " FROM unnest($1::bigint[], $2::bytea[]) AS e(n, b)",
                     Parameters().numbers(insert).byte_strings(std::span<const std::string_view>(bodies)));
    connection_.send("measure",
                     "DELETE FROM ordo_raw_bench r USING unnest($1::bigint[]) AS e(n)"
                     " WHERE r.shard = n & 15 AND r.seq = n",
                     Parameters().numbers(erase));
    connection_.finish_pipeline();
  }

 private:
  Connection connection_;
};

}  // namespace

double raw_append_delete_rate(const std::string& url, std::uint64_t rows, std::size_t row_bytes,
                              std::size_t rows_per_commit) {
  RawLog log(url);
  const std::string body(row_bytes, 'x');
  const auto step = std::max<std::uint64_t>(rows_per_commit, 1);
  const auto end = rows / step * step;
  std::vector<std::int64_t> last;
  const auto start = system_clock().steady();
  for (std::uint64_t seq = 0; seq <= end; seq += step) {
    std::vector<std::int64_t> next;
    for (auto i = seq; i < seq + step && seq < end; ++i) next.push_back(static_cast<std::int64_t>(i));
    log.commit(next, last, body);
    last = std::move(next);
  }
  const std::chrono::duration<double> seconds = system_clock().steady() - start;
  return static_cast<double>(end) / seconds.count();
}

double raw_commit_latency(const std::string& url, std::uint64_t commits) {
  RawLog log(url);
  const std::string body(100, 'x');
  std::vector<Duration> times(std::max<std::uint64_t>(commits, 1));
  std::int64_t seq = 0;
  for (auto& time : times) {
    const auto start = system_clock().steady();
    log.commit({++seq}, {}, body);
    time = system_clock().steady() - start;
  }
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(middle->count());
}

}  // namespace ordo::store::postgres
