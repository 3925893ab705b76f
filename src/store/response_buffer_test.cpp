#include "store/response_buffer.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "store/dead_letters.h"
#include "store/memory/memory_store.h"

namespace ordo::store {
namespace response_buffer_test {

using namespace std::chrono_literals;

class BufferClock final : public Clock {
 public:
  Time wall() override { return now; }
  Duration steady() override { return now.time_since_epoch(); }
  Time now{24h * 20000};
};

class ResponseBufferTest : public ::testing::Test {
 protected:
  bool add(ResponseBuffer& at, const std::string& key, std::uint64_t bytes = 1) {
    return at.add(store_, "calls", key, {store_.now() + 1h, bytes}, {.most = 3, .most_bytes = 10});
  }
  std::uint64_t rows() { return store_.wait_rows(Store::unique_rows("calls"), "", 100).size(); }

  BufferClock clock_;
  memory::MemoryStore store_{clock_};
  ResponseBuffer here_, elsewhere_;
};

TEST_F(ResponseBufferTest, counts_what_other_processes_keep_once_a_second) {
  EXPECT_TRUE(add(here_, "a"));
  EXPECT_TRUE(add(elsewhere_, "b"));
  EXPECT_TRUE(add(elsewhere_, "c"));
  EXPECT_FALSE(add(elsewhere_, "d"));
  clock_.now += 999ms;
  EXPECT_TRUE(add(here_, "d")) << "it has not counted again";
  clock_.now += 1ms;
  EXPECT_FALSE(add(here_, "e"));
  EXPECT_EQ(rows(), 4U) << "what is refused leaves nothing";
}

TEST_F(ResponseBufferTest, counts_bytes_too) {
  EXPECT_TRUE(add(here_, "a", 6));
  EXPECT_FALSE(add(here_, "b", 5));
  EXPECT_FALSE(add(elsewhere_, "b", 5)) << "the rows say how long the bodies are";
  EXPECT_TRUE(add(elsewhere_, "b", 4));
}

TEST_F(ResponseBufferTest, what_is_taken_away_makes_room_at_once) {
  const Buffered first{store_.now() + 1h, 1};
  for (const auto* key : {"a", "b", "c"}) EXPECT_TRUE(add(here_, key));
  here_.remove(store_, "calls", "a", first);
  EXPECT_EQ(rows(), 2U);
  EXPECT_TRUE(add(here_, "d"));
  here_.remove(store_, "calls", "a", first);
  EXPECT_FALSE(add(here_, "e")) << "once only";
}

TEST_F(ResponseBufferTest, what_is_over_is_not_counted) {
  for (const auto* key : {"a", "b", "c"}) EXPECT_TRUE(add(here_, key));
  clock_.now += 1h - 1us;
  EXPECT_FALSE(add(here_, "d"));
  clock_.now += 1s;
  EXPECT_TRUE(add(here_, "d"));
  EXPECT_TRUE(is_said_to_have_letters(store_, "calls"));
}

TEST_F(ResponseBufferTest, a_clock_that_goes_back_makes_it_count_again) {
  EXPECT_TRUE(add(here_, "a"));
  for (const auto* key : {"b", "c"}) EXPECT_TRUE(add(elsewhere_, key));
  clock_.now -= 1us;
  EXPECT_FALSE(add(here_, "d"));
}

}  // namespace response_buffer_test
}  // namespace ordo::store
