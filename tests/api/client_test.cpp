// Pushing: one, many, later; what is refused; middlewares.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <limits>

#include "support.h"

namespace ordo::api {
namespace client_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

ErrorKind kind_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.kind();
  }
  throw std::runtime_error("it did not throw");
}

class ApiClient : public ::testing::Test {
 protected:
  std::vector<std::string> ids() {
    std::vector<std::string> found;
    for (const auto& job : server_.admin().jobs("orders")) found.push_back(job.id);
    return found;
  }

  Server server_{config_of({{.name = "orders", .shards = 1}})};
  Client client_ = server_.client();
};

TEST_F(ApiClient, pushes_one_and_says_its_id) {
  EXPECT_EQ(client_.push("orders", {.id = "42", .payload = "x", .score = 7}), "42");
  const auto jobs = server_.admin().jobs("orders");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].id, "42");
  EXPECT_EQ(jobs[0].key, "42");
  EXPECT_EQ(jobs[0].kind, "orders");
  EXPECT_THAT(jobs[0].payloads, ElementsAre(Payload{"x", 7}));
  EXPECT_EQ(jobs[0].retry_count, -1);
}

TEST_F(ApiClient, makes_ids) {
  const auto first = client_.push("orders", {}), second = client_.push("orders", {});
  EXPECT_THAT(first, SizeIs(26));
  EXPECT_LT(first, second.substr(0, 10) + "ZZZZZZZZZZZZZZZZ");
  EXPECT_NE(first, second);
}

TEST_F(ApiClient, pushes_many_in_their_order) {
  std::vector<NewJob> jobs;
  for (const auto* id : {"b", "a", "c"}) jobs.push_back({.id = id});
  EXPECT_THAT(client_.push_many("orders", std::move(jobs)), ElementsAre("b", "a", "c"));
  EXPECT_THAT(ids(), ElementsAre("b", "a", "c"));
  EXPECT_THAT(client_.push_many("orders", std::vector<NewJob>{}), SizeIs(0));
}

TEST_F(ApiClient, merges_by_id) {
  client_.push("orders", {.id = "1", .payload = "new", .score = 2});
  client_.push("orders", {.id = "1", .payload = "old", .score = 1});
  client_.push("orders", {.id = "1", .payload = "new", .score = 9});
  const auto jobs = server_.admin().jobs("orders");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].payloads, ElementsAre(Payload{"old", 1}, Payload{"new", 2}));
}

TEST_F(ApiClient, tells_the_end_of_an_asynchronous_push) {
  std::promise<std::exception_ptr> end;
  const auto told = end.get_future();
  std::vector<NewJob> jobs;
  jobs.push_back({.id = "7"});
  EXPECT_THAT(
      client_.push_async("orders", std::move(jobs), [&](std::exception_ptr error) { end.set_value(error); }),
      ElementsAre("7"));
  EXPECT_EQ(told.wait_for(kPatience), std::future_status::ready);
  EXPECT_THAT(ids(), ElementsAre("7"));
  EXPECT_EQ(kind_of([&] { client_.push_async("order", {NewJob{}}, [](auto) {}); }),
            ErrorKind::invalid_argument);
}

TEST_F(ApiClient, gives_a_future_of_an_asynchronous_push) {
  std::vector<std::future<std::vector<std::string>>> pushes;
  for (const auto* id : {"1", "2", "3"}) pushes.push_back(client_.push_async("orders", {{.id = id}}));
  std::vector<std::string> pushed;
  for (auto& push : pushes) {
    ASSERT_EQ(push.wait_for(kPatience), std::future_status::ready);
    pushed.push_back(push.get().at(0));
  }
  EXPECT_THAT(pushed, ElementsAre("1", "2", "3"));
  EXPECT_THAT(ids(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(kind_of([&] { static_cast<void>(client_.push_async("order", {NewJob{}})); }),
            ErrorKind::invalid_argument);
}

TEST_F(ApiClient, pushes_durably_to_a_file) {
  const TemporaryStore store;
  const auto config = config_of({{.name = "orders", .shards = 1}}, store.url());
  Told<bool> ends;
  {
    Client client(config);
    for (int i = 0; i < 100; ++i) {
      client.push_async("orders", {NewJob{.id = std::to_string(i)}},
                        [&](auto error) { ends.tell(error == nullptr); });
    }
    EXPECT_THAT(ends.wait(100), ::testing::Each(true));
  }
  EXPECT_THAT(Admin(config).jobs("orders"), SizeIs(100));
}

TEST_F(ApiClient, refuses_what_is_wrong_and_stores_nothing) {
  const auto refused = [&](NewJob job) {
    return kind_of([&] { client_.push("orders", std::move(job)); }) == ErrorKind::invalid_argument;
  };
  EXPECT_TRUE(refused({.id = std::string(256, 'x')}));
  EXPECT_TRUE(refused({.key = std::string(256, 'x')}));
  EXPECT_TRUE(refused({.kind = std::string(256, 'x')}));
  EXPECT_TRUE(refused({.payload = std::string((1 << 20) + 1, 'x')}));
  EXPECT_TRUE(refused({.score = std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_TRUE(refused({.run_at = Time{}, .delay = 1s}));
  EXPECT_TRUE(refused({.timeout = 0s}));
  EXPECT_EQ(kind_of([&] { client_.push_many("orders", std::vector<NewJob>(10'001)); }),
            ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of([&] {
              client_.push_many("orders", {NewJob{.id = "fine"}, NewJob{.id = std::string(256, 'x')}});
            }),
            ErrorKind::invalid_argument);
  EXPECT_THAT(ids(), SizeIs(0));
}

TEST_F(ApiClient, names_the_nearest_queue) {
  std::string message;
  EXPECT_EQ(kind_of([&] { client_.push("order", {}); }, &message), ErrorKind::invalid_argument);
  EXPECT_THAT(message, HasSubstr("orders"));
  EXPECT_EQ(kind_of([&] { client_.push("No Name", {}); }), ErrorKind::invalid_argument);
}

TEST(ApiStore, refuses_unknown_stores_and_places) {
  EXPECT_EQ(kind_of([] { Client(config_of({}, "nosuch://x")); }), ErrorKind::invalid_argument);
  EXPECT_NO_THROW(Client(config_of({})));
  EXPECT_THROW(Client(config_of({}, "sqlite:/nonexistent/folder/ordo.db")), Error);
}

TEST_F(ApiClient, wraps_pushes_in_middlewares_the_first_outermost) {
  std::string calls;
  client_.use([&](const std::string& queue, std::vector<NewJob>& jobs, const std::function<void()>& next) {
    calls += "a(" + queue;
    jobs[0].payload += "1";
    next();
    calls += ")";
  });
  client_.use([&](const std::string&, std::vector<NewJob>& jobs, const std::function<void()>& next) {
    calls += " b(";
    jobs[0].payload += "2";
    next();
    calls += ")";
  });
  client_.push("orders", {.id = "1"});
  EXPECT_EQ(calls, "a(orders b())");
  EXPECT_EQ(server_.admin().jobs("orders").at(0).payloads.at(0).bytes, "12");
}

TEST_F(ApiClient, refuses_a_push_that_a_middleware_keeps) {
  client_.use([](const std::string&, std::vector<NewJob>&, const std::function<void()>&) {});
  EXPECT_EQ(kind_of([&] { client_.push("orders", {.id = "1"}); }), ErrorKind::invalid_argument);
  EXPECT_THAT(ids(), SizeIs(0));
}

}  // namespace client_test
}  // namespace ordo::api
