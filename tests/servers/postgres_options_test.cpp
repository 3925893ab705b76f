// What ordo_push takes beside names and times: options of a job, and unique keys in a caller's transaction.

#include <algorithm>
#include <optional>
#include <thread>

#include <ordo/error.hpp>
#include <ordo/postgres.hpp>

#include "base/json_key.h"
#include "base/push_option.h"
#include "contract/postgres_fixture.h"
#include "domain/entry.h"
#include "domain/unique.h"

namespace ordo::store {
namespace postgres_options_test {

class PostgresOptions : public PostgresFixture {
 protected:
  static constexpr const char* kRows = "orders!";

  /// All that is in the log, oldest first, as a client would have written it.
  std::vector<std::string> pushed() {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < 4; ++i) {
      for (const auto& bytes : log_of(*store_, shard(i)))
        all.push_back(domain::encode(*domain::decode_entry(bytes)));
    }
    return all;
  }
  std::vector<std::string> ids() {
    std::vector<std::string> all;
    for (const auto& bytes : pushed()) all.emplace_back(domain::decode_entry(bytes)->id);
    std::ranges::sort(all);
    return all;
  }
  std::optional<domain::UniqueRow> row(const std::string& key, const std::string& kind = "orders") {
    const auto bytes = store_->wait_row(kRows, domain::unique_row_key(kind, key));
    if (!bytes) return std::nullopt;
    return *domain::decode_unique_row(*bytes);
  }

  static std::string push_of(const std::string& id, const std::string& options) {
    return "SELECT ordo_push('orders', '', id => '" + id + "', options => '" + options + "')";
  }
  static std::string error_of(Session& session, const std::string& sql) {
    try {
      return "no error, but " + session.run(sql);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  void expect_refused(Session& session, const std::string& sql, const std::string& why) {
    const auto said = error_of(session, sql);
    EXPECT_NE(said.find(why), std::string::npos) << sql << ": " << said;
  }

  /// Until as many sessions of this database stand behind others.
  void wait_until_blocked(int count) {
    auto psql = session();
    const std::string want = std::to_string(count);
    while (psql.run("SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0") !=
           want)
      std::this_thread::yield();
  }
};

struct Example {
  const char* options;
  domain::JobOptions written;
};

TEST_F(PostgresOptions, are_written_as_a_client_would) {
  const Time at{Duration{1'893'553'445'678'901}};
  const Window night{std::chrono::hours{22}, std::chrono::seconds{7230}, 0x75, "America/Port-au-Prince"};
  const std::vector<Example> examples = {
      {R"({"expires": 1893553445.678901})", {.expires = at}},
      {R"({"expires": "2030-01-02T03:04:05.678901Z"})", {.expires = at}},
      {R"({"expires": "infinity"})", {.expires = Time::max()}},
      {R"({"windows": [{"start": "05:00", "end": "24:00"}]})",
       {.windows = {{std::chrono::hours{5}, std::chrono::hours{24}, 0x7F, "UTC"}}}},
      {R"({"windows": [{"start": "22:00", "end": "02:00:30", "days": ["fri-mon,wed"], "tz": "America/Port-au-Prince"},
                       {"start": "22:00", "end": "02:00:30", "days": ["wed", "fri-mon"], "tz": "America/Port-au-Prince"}]})",
       {.windows = {night, night}}},
      {R"({"weight": 0.25})", {.weight = Decimal(0.25)}},
      {R"({"weight": "1000000000"})", {.weight = Decimal::of_millionths(Decimal::kMost)}},
      {R"({"partition": "восток"})", {.partition = "восток"}},
      {R"({"partition": ""})", {.partition = ""}},
      {R"({"critical": false})", {.critical = false}},
      {R"({"lock": {"$base64": "AP8="}})", {.lock = std::string("\0\xff", 2)}},
      {R"({"lock": "l", "critical": true, "partition": "p", "weight": 3, "expires": 1893553445.678901,
           "windows": [{"start": "22:00", "end": "02:00:30", "days": ["mon", "wed", "fri-sun"],
                        "tz": "America/Port-au-Prince"}]})",
       {.expires = at,
        .windows = {night},
        .weight = Decimal(3),
        .partition = "p",
        .critical = true,
        .lock = "l"}},
      {R"({"max_retries": 0})", {.max_retries = 0}},
      {R"({"max_retries": 2147483647, "replace_time": true})",
       {.max_retries = 2147483647, .replaces_time = true}},
      {R"({"replace_time": true, "lock": "l"})", {.lock = "l", .replaces_time = true}},
      {R"({"replace_time": false})", {}},
      {"{}", {}}};
  auto psql = session();
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto& [options, written] = examples[i];
    psql.run("SELECT ordo_push('orders', 'x', id => 'sql', key => 'k', priority => 3, options => '" +
             std::string(options) + "')");
    NewJob job{.id = "sql", .payload = "x", .key = "k", .expires = written.expires};
    copy_options(written, job);
    job.priority = 3;
    job.replace_time = written.replaces_time;
    ordo::postgres::push(psql.handle(), "orders", job);
    domain::Entry entry{.kind = "orders", .key = "k", .id = "sql", .options = written, .payload = "x"};
    entry.options.priority = 3;
    const auto all = pushed();
    ASSERT_EQ(all.size(), 2 * i + 2);
    EXPECT_EQ(all[2 * i], domain::encode(entry)) << options;
    EXPECT_EQ(all[2 * i + 1], domain::encode(entry)) << options;
  }
}

TEST_F(PostgresOptions, an_expiry_behind_a_plus_counts_from_the_time_of_its_job) {
  auto psql = session();
  const Time at{Duration{1'893'553'445'678'901}};
  domain::Entry entry{.kind = "orders", .key = "sql", .id = "sql", .run_at = at, .payload = "x"};
  for (const auto& [text, after] : std::vector<std::pair<std::string, Duration>>{
           {"+1h", std::chrono::hours{1}},
           {"+1 day 00:00:00.000001", std::chrono::hours{24} + Duration{1}},
           {"+100 years", std::chrono::hours{24} * 36525}}) {
    psql.run(
        "SELECT ordo_push('orders', 'x', id => 'sql', run_at => '2030-01-02T03:04:05.678901Z', options => '" +
        std::string(R"({"expires": ")") + text + "\"}')");
    ordo::postgres::push(psql.handle(), "orders",
                         {.id = "sql", .payload = "x", .run_at = at, .expires_after = after});
    entry.options.expires = at + after;
    entry.options.expires_after = after;
    const auto all = pushed();
    EXPECT_EQ(all[all.size() - 2], domain::encode(entry)) << text;
    EXPECT_EQ(all[all.size() - 1], domain::encode(entry)) << text;
  }
  psql.run(
      R"(SELECT ordo_push('orders', 'x', id => 'sql', options => '{"expires": "+1h", "lock": "l", "max_retries": 2}'))");
  const auto all = pushed();
  const auto last = domain::decode_entry(all.back());
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->run_at);
  EXPECT_EQ(last->options.expires_after, std::chrono::hours{1});
  EXPECT_EQ(last->options.max_retries, 2);
}

TEST_F(PostgresOptions, refuse_what_is_none) {
  auto psql = session();
  const auto refused = [&](const std::string& options, const std::string& why) {
    expect_refused(psql, push_of("1", options), why);
  };
  refused("[]", "options takes a JSON object");
  refused(R"({"priority": 1})", R"(options takes no "priority")");
  refused(R"({"expires": null})", R"("expires" needs)");
  refused(R"({"expires": 1e12})", R"("expires" needs)");
  refused(R"({"expires": "+"})", "interval");
  refused(R"({"expires": "-infinity"})", R"("expires" needs)");
  refused(R"({"weight": 0})", R"("weight" needs)");
  refused(R"({"weight": -1})", R"("weight" needs)");
  refused(R"({"weight": 0.0000001})", R"("weight" needs)");
  refused(R"({"weight": 1000000000.1})", R"("weight" needs)");
  refused(R"({"lock": ""})", R"("lock" has 0 bytes)");
  refused(R"({"lock": 7})", R"("lock" needs a text)");
  refused(R"({"partition": ")" + std::string(256, 'x') + R"("})", R"("partition" has 256 bytes)");
  refused(R"({"critical": 1})", R"("critical" needs)");
  for (const auto* count : {"-1", "1.5", "2147483648", "\"3\"", "null"})
    refused(R"({"max_retries": )" + std::string(count) + '}', R"("max_retries" needs)");
  refused(R"({"replace_time": 1})", R"("replace_time" needs)");
  refused(R"({"windows": {}})", R"("windows" needs a list)");
  refused(R"({"windows": [{}, {}, {}, {}, {}, {}, {}, {}, {}]})", "at most 8");
  refused(R"({"windows": [{"start": "05:00"}]})", R"(the "end" of a window)");
  refused(R"({"windows": [{"start": "5:00", "end": "06:00"}]})", R"(the "start" of a window)");
  refused(R"({"windows": [{"start": "05:00", "end": "24:01"}]})", R"(the "end" of a window)");
  refused(R"({"windows": [{"start": "05:00", "end": "05:00:00"}]})", "starts when it ends");
  refused(R"({"windows": [{"start": "05:00", "end": "06:00", "days": []}]})", R"(the "days" of a window)");
  refused(R"({"windows": [{"start": "05:00", "end": "06:00", "days": ["monday"]}]})",
          R"(the "days" of a window)");
  std::string days = R"("mon")";
  for (int i = 0; i < 30; ++i) days += R"(,"mon")";
  refused(R"({"windows": [{"start": "05:00", "end": "06:00", "days": [)" + days + "]}]}",
          R"(the "days" of a window)");
  refused(R"({"windows": [{"start": "05:00", "end": "06:00", "tz": "../etc/passwd"}]})", "no time zone");
  refused(R"({"windows": [{"start": "05:00", "end": "06:00", "tz": "Mars/Olympus"}]})", "not recognized");
  refused(R"({"windows": [{"start": "05:00", "end": "06:00", "finish_by": true}]})",
          R"(takes no "finish_by")");
  EXPECT_TRUE(pushed().empty());
  EXPECT_THROW(ordo::postgres::push(psql.handle(), "orders", {.unique = "7"}), Error);
}

TEST_F(PostgresOptions, a_unique_key_is_taken_as_a_client_does) {
  auto psql = session();
  psql.run(
      R"(SELECT ordo_push('orders', 'x', id => '1', key => 'k', kind => 'mail', run_at => '2030-01-02 03:04:05Z',
          options => '{"weight": 2, "max_retries": 7, "replace_time": true,
                       "unique": {"key": "заказ", "scope": "queued_or_running"}}'))");
  const auto there = row("заказ", "mail");
  ASSERT_TRUE(there);
  const Time run_at{Duration{1'893'553'445'000'000}};
  EXPECT_EQ(*there,
            (domain::UniqueRow{there->token, UniqueScope::queued_or_running, run_at, "mail", "k", "1"}));
  const domain::UniqueHold hold{domain::unique_row_key("mail", "заказ"), there->token,
                                UniqueScope::queued_or_running, run_at};
  EXPECT_EQ(domain::row_of(hold, "mail", "k", "1"), store_->wait_row(kRows, hold.row));
  const domain::Entry entry{
      .kind = "mail",
      .key = "k",
      .id = "1",
      .run_at = run_at,
      .options = {.weight = Decimal(2), .unique = {hold}, .max_retries = 7, .replaces_time = true},
      .payload = "x"};
  EXPECT_EQ(pushed(), Texts{domain::encode(entry)});
}

TEST_F(PostgresOptions, a_unique_key_of_another_job_is_reported_or_ignored) {
  auto psql = session();
  psql.run(push_of("1", R"({"unique": {"key": "7"}})"));
  expect_refused(psql, push_of("2", R"({"unique": {"key": "7"}})"), R"(job "1" has the unique key already)");
  EXPECT_EQ(psql.run(push_of("2", R"({"unique": {"key": "7", "on_conflict": "ignore"}})")), "1");
  EXPECT_EQ(psql.run(push_of("3", R"({"unique": {"key": "8"}})")), "3");
  EXPECT_EQ(ids(), (Texts{"1", "3"}));
  // What a client says of the key is the same.
  const domain::UniqueHold hold{domain::unique_row_key("orders", "9"), "t", UniqueScope::queued, {}};
  const auto bytes = domain::row_of(hold, "orders", "\xff", "\xfe");
  EXPECT_EQ(store_->step_rows(kRows, {{{hold.row, bytes, true, Time::max()}, {}, {}}}).at(0).what,
            RowResult::What::done);
  expect_refused(psql, push_of("4", R"({"unique": {"key": "9"}})"), R"(job "\376" has)");
  EXPECT_EQ(store_->step_rows(kRows, {{{hold.row, {}, true, Time::min()}, bytes, {}}}).at(0).what,
            RowResult::What::done);
  EXPECT_EQ(psql.run(push_of("4", R"({"unique": {"key": "9"}})")), "4");
}

// Rules §9.13: what base/json_key.h says of numbers and texts.
TEST_F(PostgresOptions, a_unique_key_is_compared_by_its_value_as_a_client_does) {
  auto psql = session();
  for (const auto* key : {"7",
                          "7.0",
                          "70e-1",
                          "0.7E+1",
                          "-0.0",
                          "0",
                          "0.10",
                          "1e-3",
                          "-12.50",
                          "1e400",
                          "1.5e400",
                          "1E-400",
                          "9007199254740993.0",
                          "123456789012345678901234567890",
                          "1e999999999999999999",
                          "1e9999999999999999999",
                          "100",
                          "1e20",
                          "1e21",
                          "0.00000000000000000001",
                          "1e-22",
                          " 7 ",
                          "true",
                          "null",
                          "acme",
                          "07",
                          "",
                          R"("7")",
                          R"("acme")",
                          R"("true")",
                          R"("заказ")",
                          R"("a\u0062c")",
                          R"("\"x\"")",
                          "{x",
                          "заказ"}) {
    const auto said = psql.run("SELECT convert_from(ordo_key_text(convert_to($key$" + std::string(key) +
                               "$key$, 'UTF8')), 'UTF8')");
    EXPECT_EQ(said, json_key(key)) << key;
  }
  expect_refused(psql, push_of("1", R"({"unique": {"key": "{\"a\":1}"}})"), "is a JSON object");
  psql.run(push_of("1", R"({"unique": {"key": "7.0"}})"));
  expect_refused(psql, push_of("2", R"({"unique": {"key": "7"}})"), R"(job "1" has the unique key already)");
}

TEST_F(PostgresOptions, a_unique_key_of_a_period_is_free_behind_it) {
  auto psql = session();
  psql.run(push_of("1", R"({"unique": {"key": "7", "scope": "period", "period": "1h"}})"));
  EXPECT_TRUE(domain::decode_entry(pushed().at(0))->options.unique.empty()) << "no owner has to take it away";
  expect_refused(psql, push_of("2", R"({"unique": {"key": "7"}})"), R"(job "1")");
  psql.run("UPDATE ordo_wait SET until = until - 3600000000");
  EXPECT_EQ(psql.run(push_of("2", R"({"unique": {"key": "7"}})")), "2");
  EXPECT_EQ(row("7")->id, "2");
}

TEST_F(PostgresOptions, of_a_unique_key_that_sql_cannot_do_are_refused) {
  auto psql = session();
  const auto refused = [&](const std::string& unique, const std::string& why) {
    expect_refused(psql, push_of("1", R"({"unique": )" + unique + "}"), why);
  };
  refused(R"("7")", "unique takes a JSON object");
  refused("{}", R"("key of unique" needs)");
  refused(R"({"key": ""})", "has 0 bytes");
  refused(R"({"key": "7", "by": "id"})", R"(unique takes no "by")");
  refused(R"({"key": "7", "scope": "always"})", R"(the "scope" of unique)");
  refused(R"({"key": "7", "scope": "period", "period": "169h"})", "1ms to 168h");
  for (const std::string conflict : {"merge", "replace", "debounce", "throttle"})
    refused(R"({"key": "7", "on_conflict": ")" + conflict + "\"}", "is reject or ignore");
  expect_refused(psql, R"(SELECT ordo_push('nowhere', '', options => '{"unique": {"key": "7"}}'))",
                 "there is no queue");
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_wait"), "0");
}

TEST_F(PostgresOptions, a_unique_key_is_a_part_of_the_transaction) {
  const std::string unique = R"({"unique": {"key": "7"}})";
  auto psql = session();
  psql.run("BEGIN");
  psql.run(push_of("1", unique));
  EXPECT_FALSE(row("7"));
  psql.run("ROLLBACK");
  psql.run("BEGIN");
  psql.run("SAVEPOINT here");
  psql.run(push_of("2", unique));
  psql.run("ROLLBACK TO here");
  psql.run(push_of("3", unique));
  psql.run("SAVEPOINT here");
  expect_refused(psql, push_of("4", unique), R"(job "3" has)");
  psql.run("ROLLBACK TO here");
  psql.run("COMMIT");
  EXPECT_EQ(ids(), Texts{"3"});
  EXPECT_EQ(row("7")->id, "3");
}

// Whoever wants a key that an open transaction has taken waits for it, in SQL and as a client; others do not.
TEST_F(PostgresOptions, one_of_two_transactions_gets_the_key) {
  Texts stored;
  for (const std::string end : {"COMMIT", "ROLLBACK"}) {
    std::string said, at;
    int round = 0;
    do {  // again if the other did not end within the time that one waits for it
      at = end + std::to_string(++round);
      const auto unique = R"({"unique": {"key": ")" + at + "\"}}";
      auto first = session(), second = session();
      first.run("BEGIN");
      first.run(push_of("a" + at, unique));
      std::thread waits([&] { said = error_of(second, push_of("b" + at, unique)); });
      wait_until_blocked(1);
      EXPECT_EQ(session().run(push_of("c" + at, R"({"unique": {"key": "of )" + at + "\"}}")), "c" + at);
      first.run(end);
      waits.join();
      if (end == "COMMIT") stored.push_back("a" + at);
      stored.push_back("c" + at);
    } while (said.find("stays open") != std::string::npos);
    if (end == "COMMIT") {
      EXPECT_NE(said.find("job \"a" + at + "\" has the unique key"), std::string::npos) << said;
    } else {
      EXPECT_EQ(said, "no error, but b" + at);
      stored.push_back("b" + at);
    }
  }
  std::ranges::sort(stored);
  EXPECT_EQ(ids(), stored);
}

TEST_F(PostgresOptions, a_key_that_stays_open_is_not_waited_for_for_ever) {
  auto first = session(), second = session();
  first.run("BEGIN");
  first.run(push_of("1", R"({"unique": {"key": "7"}})"));
  expect_refused(second, push_of("2", R"({"unique": {"key": "7"}})"), "stays open; nothing was stored");
  first.run("COMMIT");
  EXPECT_EQ(ids(), Texts{"1"});
}

// A row that came after its queue was removed would be nobody's, and its key taken for ever.
TEST_F(PostgresOptions, a_removed_queue_leaves_no_key_behind) {
  auto psql = session();
  psql.run("BEGIN");
  psql.run(push_of("1", R"({"unique": {"key": "7"}})"));
  bool was_there = false;
  std::thread removes([&] { was_there = store_->remove("orders"); });
  wait_until_blocked(1);
  psql.run("COMMIT");
  removes.join();
  EXPECT_TRUE(was_there);
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_wait"), "0");
  psql.run("BEGIN");
  expect_refused(psql, push_of("2", R"({"unique": {"key": "7"}})"), "there is no queue");
  psql.run("ROLLBACK");
}

}  // namespace postgres_options_test
}  // namespace ordo::store
