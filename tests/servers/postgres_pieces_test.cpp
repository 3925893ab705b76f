// A transaction may push 256 MiB: it is read in pieces, of which none is skipped, read twice or out of order,
// however the pieces end.

#include <algorithm>

#include "contract/postgres_fixture.h"
#include "store/limits.h"

namespace ordo::store {
namespace postgres_pieces_test {

using namespace std::chrono_literals;

class PostgresPieces : public PostgresFixture {
 protected:
  static constexpr std::size_t kMebibyte = 1 << 20;

  /// Entries of a mebibyte, which begin with the name and count from 100, in the session's transaction.
  void put_many(Session& session, const std::string& name, int count, const std::string& shards = "0") const {
    session.run("SELECT ordo_put('orders', " + shards + ", convert_to(rpad('" + name + "' || i, " +
                std::to_string(kMebibyte) + ", '.'), 'UTF8')) FROM generate_series(100, " +
                std::to_string(99 + count) + ") AS i");
  }
  /// Small ones, as fast as they can be made, as the next transaction of the session.
  void put_small(Session& session, int count) const {
    session.run("INSERT INTO ordo_entry(shard, seq, at, body) SELECT " + std::to_string(queue_) +
                "::bigint << 16, ordo_transaction_seq() + i, ordo_now(NULL), convert_to(i::text, 'UTF8')"
                " FROM generate_series(0, " +
                std::to_string(count - 1) + ") AS i");
  }

  struct Piece {
    Texts names;
    bool more = false, at_end = false;
    std::size_t caught_up = 0;
  };
  Piece read(LogReader& log, std::size_t rows = 8192) {
    const auto chunk = log.read(rows);
    EXPECT_LE(chunk.rows.size(), rows);
    EXPECT_LE(chunk.bytes.size(), kReadBytes + kMebibyte);
    Piece piece{.at_end = chunk.at_end, .caught_up = chunk.caught_up.size()};
    for (const auto& row : chunk.rows) {
      const auto body = chunk.body(row);
      piece.names.emplace_back(body.substr(0, body.find('.')));
      seqs_.push_back(row.seq);
      piece.more = row.more;
    }
    return piece;
  }
  Texts read_all(LogReader& log, std::size_t rows = 8192) {
    Texts names;
    for (bool at_end = false; !at_end;) {
      auto piece = read(log, rows);
      at_end = piece.at_end;
      names.insert(names.end(), piece.names.begin(), piece.names.end());
    }
    return names;
  }
  static Texts numbered(const std::string& name, int count) {
    Texts names;
    for (int i = 0; i < count; ++i) names.push_back(name + std::to_string(100 + i));
    return names;
  }
  static Texts joined(Texts a, const Texts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  void expect_rising() const {
    EXPECT_EQ(std::adjacent_find(seqs_.begin(), seqs_.end(), std::greater_equal()), seqs_.end());
  }
};

TEST_F(PostgresPieces, a_big_transaction_is_read_in_pieces_that_say_so) {
  const auto log = owners_reader(own());
  auto other = session();
  other.run("BEGIN");
  put_many(other, "a", 20);
  other.run("COMMIT");
  append("b");
  auto piece = read(*log);
  EXPECT_EQ(piece.names.size(), 8u);
  EXPECT_TRUE(piece.more);
  EXPECT_FALSE(piece.at_end);
  EXPECT_EQ(piece.caught_up, 0u);
  log->wait(24h);  // there is more, and nobody would wake it
  auto names = piece.names;
  piece = read(*log);
  EXPECT_TRUE(piece.more);
  names = joined(names, piece.names);
  piece = read(*log);
  EXPECT_FALSE(piece.more);
  EXPECT_TRUE(piece.at_end);
  EXPECT_EQ(piece.caught_up, 1u);
  EXPECT_EQ(joined(names, piece.names), joined(numbered("a", 20), {"b"}));
  expect_rising();
}

TEST_F(PostgresPieces, a_page_that_is_just_full_ends_no_append_too_early) {
  const auto log = owners_reader(own());
  auto other = session();
  other.run("BEGIN");
  for (const auto* name : {"a", "b", "c", "d"}) put(other, name);
  other.run("COMMIT");
  append("e");
  EXPECT_TRUE(read(*log, 3).more);
  const auto piece = read(*log, 1);
  EXPECT_EQ(piece.names, Texts{"d"});
  EXPECT_FALSE(piece.more);
  EXPECT_FALSE(piece.at_end);
  EXPECT_TRUE(read(*log, 1).at_end);
  expect_rising();
}

TEST_F(PostgresPieces, a_shard_inside_an_append_is_read_on_though_others_have_much) {
  const auto first = own(0), second = own(1);
  const auto log = owners_reader(first);
  log->add(second.shard, 0, second.lease);
  read_all(*log);
  auto other = session();
  other.run("BEGIN");
  put_many(other, "a", 20, "1");
  other.run("COMMIT");
  EXPECT_TRUE(read(*log).more);
  other.run("BEGIN");
  put_many(other, "b", 20, "0");
  other.run("COMMIT");
  EXPECT_EQ(read(*log).names.front(), "a108");
  auto names = read_all(*log);
  EXPECT_EQ(names, joined({"a116", "a117", "a118", "a119"}, numbered("b", 20)));
}

TEST_F(PostgresPieces, a_late_one_comes_in_pieces_behind_what_was_read) {
  const auto log = owners_reader(own());
  auto slow = session(), slower = session();
  slow.run("BEGIN");
  put_many(slow, "slow", 20);
  slower.run("BEGIN");
  put_many(slower, "slower", 10);
  auto other = session();
  other.run("BEGIN");
  put_many(other, "a", 20);
  other.run("COMMIT");
  auto names = read(*log).names;
  slow.run("COMMIT");  // while a piece of a later one was read
  auto piece = read(*log);
  EXPECT_TRUE(piece.more);
  names = joined(names, piece.names);
  slower.run("COMMIT");
  names = joined(names, read_all(*log));
  EXPECT_EQ(names, joined(joined(numbered("a", 20), numbered("slow", 20)), numbered("slower", 10)));
  expect_rising();
  Texts stored;
  for (const auto& body : whole()) stored.push_back(body.substr(0, body.find('.')));
  EXPECT_EQ(stored, names);
}

TEST_F(PostgresPieces, the_next_owner_goes_on_behind_a_piece) {
  const auto first = own();
  auto log = owners_reader(first);
  auto slow = session();
  slow.run("BEGIN");
  put_many(slow, "slow", 10);
  auto other = session();
  other.run("BEGIN");
  put_many(other, "a", 20);
  other.run("COMMIT");
  const auto names = read(*log).names;
  ASSERT_EQ(commit(first, 1, {seqs_.begin(), seqs_.begin() + 2}), CommitResult::applied);
  log.reset();
  slow.run("COMMIT");
  seqs_.clear();
  log = owners_reader(own(0, "n2"));
  auto left = numbered("a", 20);
  left.erase(left.begin(), left.begin() + 2);
  EXPECT_EQ(read_all(*log), joined(left, numbered("slow", 10)));
  expect_rising();
}

TEST_F(PostgresPieces, who_only_looks_gets_late_ones_in_pieces_and_once) {
  auto log = store_->open_log();
  for (std::uint32_t index = 0; index < 3; ++index) log->add(shard(index));
  auto slow = session(), slower = session(), slowest = session();
  for (auto* each : {&slowest, &slower, &slow}) each->run("BEGIN");
  put(slowest, "slowest", 2);
  put_many(slower, "slower", 30, "i % 3");
  put_many(slow, "slow", 10, "i % 2");
  for (std::uint32_t index = 0; index < 3; ++index) append("a", index);
  EXPECT_EQ(read_all(*log).size(), 3u);
  slower.run("COMMIT");
  slow.run("COMMIT");
  append("b", 1);
  auto names = read(*log).names;
  EXPECT_EQ(names.size(), 8u);
  slowest.run("COMMIT");
  names = joined(names, read(*log).names);
  log->remove(shard(2));
  log->add(shard(2), seqs_.back() | ((1 << 20) - 1));
  names = joined(names, read_all(*log));
  EXPECT_EQ(std::ranges::count(names, "b"), 1);
  for (int i = 100; i < 130; ++i) {
    if (i % 3 == 2) continue;  // started over meanwhile
    EXPECT_EQ(std::ranges::count(names, "slower" + std::to_string(i)), 1) << i;
  }
  for (int i = 100; i < 110; ++i) EXPECT_EQ(std::ranges::count(names, "slow" + std::to_string(i)), 1) << i;
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  append("c");
  EXPECT_EQ(read_all(*log), Texts{"c"});
}

TEST_F(PostgresPieces, very_many_late_entries_are_moved_in_pieces) {
  const auto log = owners_reader(own());
  auto slow = session();
  slow.run("BEGIN");
  constexpr int kMany = 50'000;
  put_small(slow, kMany);
  append("a");
  EXPECT_EQ(read_all(*log), Texts{"a"});
  slow.run("COMMIT");
  const auto names = read_all(*log);
  ASSERT_EQ(names.size(), std::size_t{kMany});
  for (int i = 0; i < kMany; ++i) ASSERT_EQ(names[static_cast<std::size_t>(i)], std::to_string(i));
  expect_rising();
}

}  // namespace postgres_pieces_test
}  // namespace ordo::store
