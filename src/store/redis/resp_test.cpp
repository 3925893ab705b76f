#include "store/redis/resp.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

namespace ordo::store::redis {
namespace resp_test {

TEST(Resp, commands_are_lists_of_texts_of_known_length) {
  CommandText commands;
  commands.add("SET", std::string_view("k\r\n", 3), 7);
  commands.add("PING");
  EXPECT_EQ(commands.count(), 2u);
  EXPECT_EQ(commands.bytes(), "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$1\r\n7\r\n*1\r\n$4\r\nPING\r\n");
}

const std::string kAll =
    "+OK\r\n-ERR no\r\n:-42\r\n$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
    "*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\ne\r\n$1\r\nx\r\n:1\r\n";

std::vector<Reply> replies_of(ReplyParser& parser) {
  std::vector<Reply> replies;
  while (auto reply = parser.next()) replies.push_back(std::move(*reply));
  return replies;
}

void expect_all(const std::vector<Reply>& replies) {
  ASSERT_EQ(replies.size(), 9u);
  EXPECT_EQ(replies[0].type, Reply::Type::status);
  EXPECT_EQ(replies[0].text, "OK");
  EXPECT_TRUE(replies[1].is_error("ERR"));
  EXPECT_EQ(replies[2].integer, -42);
  EXPECT_EQ(replies[3].text, "a\r\n");
  EXPECT_EQ(replies[4].type, Reply::Type::text);
  EXPECT_TRUE(replies[5].is_nil());
  EXPECT_TRUE(replies[6].is_nil());
  EXPECT_EQ(replies[7].type, Reply::Type::array);
  EXPECT_EQ(replies[8].at(0).at(1).at(1).text, "x");
  EXPECT_EQ(replies[8].at(1).number(), 1u);
  EXPECT_THROW(replies[8].at(2), Error);
}

TEST(Resp, replies_come_in_pieces_of_any_size) {
  for (std::size_t piece = 1; piece <= kAll.size(); ++piece) {
    ReplyParser parser;
    std::vector<Reply> replies;
    for (std::size_t at = 0; at < kAll.size(); at += piece) {
      parser.feed(std::string_view(kAll).substr(at, piece));
      for (auto& reply : replies_of(parser)) replies.push_back(std::move(reply));
    }
    expect_all(replies);
    EXPECT_FALSE(parser.has_rest());
  }
}

TEST(Resp, what_is_no_reply_is_refused) {
  for (const std::string bytes :
       {"x\r\n", "\r\n", ":1x\r\n", "$9999999999\r\n", "*9999999999\r\n", "$1\r\nabc\r\n", "$x\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    ReplyParser parser;
    parser.feed(bytes);
    EXPECT_THROW(replies_of(parser), Error) << bytes;
  }
  ReplyParser parser;
  parser.feed(std::string(100'000, '+'));
  EXPECT_THROW(parser.next(), Error);
}

TEST(Resp, version_3_has_maps_sets_pushes_and_more_simple_values) {
  ReplyParser parser;
  parser.feed(
      "_\r\n%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*1\r\n:2\r\n~1\r\n#t\r\n,1.5\r\n(123\r\n=5\r\ntxt:x\r\n"
      ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n%0\r\n");
  const auto replies = replies_of(parser);
  ASSERT_EQ(replies.size(), 8u);
  EXPECT_TRUE(replies[0].is_nil());
  ASSERT_EQ(replies[1].items.size(), 4u);
  EXPECT_EQ(replies[1].at(2).text, "b");
  EXPECT_EQ(replies[1].at(3).at(0).number(), 2u);
  EXPECT_EQ(replies[2].at(0).text, "t");
  EXPECT_EQ(replies[3].text, "1.5");
  EXPECT_EQ(replies[4].number(), 123u);
  EXPECT_EQ(replies[5].text, "txt:x");
  EXPECT_EQ(replies[6].type, Reply::Type::push);
  EXPECT_EQ(replies[6].at(1).at(0).text, "k");
  EXPECT_EQ(replies[7].type, Reply::Type::array);
}

}  // namespace resp_test
}  // namespace ordo::store::redis
