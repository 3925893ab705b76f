// The workers that docs/command-workers.md shows, and that it shows them as they are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "execute/command_worker.h"

namespace ordo::execute {
namespace examples_test {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSource = ORDO_SOURCE_DIR;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

BatchJob job_of(std::string id, std::string payload) {
  return {.id = id, .key = id, .payloads = {{std::move(payload), 1}}};
}

std::vector<std::string> texts(CommandWorker& worker, std::vector<BatchJob> jobs) {
  Batch batch("orders", "orders", std::move(jobs), std::chrono::seconds{20}, 0, {});
  worker.perform(batch);
  static constexpr const char* kKinds[] = {"done", "failed", "snoozed", "discarded", "put_back"};
  std::vector<std::string> texts;
  for (const auto& outcome : batch.take_outcomes(Outcome::put_back())) {
    texts.push_back(std::string(kKinds[static_cast<std::size_t>(outcome.kind)]) + ":" + outcome.text);
  }
  return texts;
}

TEST(ExampleWorkers, in_python) {
  CommandWorker worker(
      {.command = {"python3", kSource + "/examples/workers/worker.py"}, .queue = "orders", .kind = "orders"});
  EXPECT_THAT(texts(worker, {job_of("1", R"({"total":7})"), job_of("2", ""),
                             job_of("3", R"({"total":7,"hold":true})"), job_of("4", R"([1])")}),
              ElementsAre("done:", "discarded:not an order", "snoozed:", "discarded:not an order"));
  EXPECT_THAT(texts(worker, {job_of("no text \xff", R"({"total":7})"), job_of("\xfe", "")}),
              ElementsAre("done:", "discarded:not an order"));
}

TEST(ExampleWorkers, in_shell) {
  CommandWorker worker(
      {.command = {"sh", kSource + "/examples/workers/worker.sh"}, .queue = "orders", .kind = "orders"});
  EXPECT_THAT(texts(worker, {job_of("1", R"({"total":7})")}), ElementsAre("done:"));
  EXPECT_THAT(texts(worker, {job_of("1", "")}), ElementsAre("failed:no payload"));
}

TEST(ExampleWorkers, stand_in_the_documentation_as_they_are) {
  const auto document = read_file(kSource + "/docs/command-workers.md");
  for (const auto* file : {"/examples/workers/worker.py", "/examples/workers/worker.sh"}) {
    EXPECT_THAT(document, HasSubstr(read_file(kSource + file)));
  }
}

}  // namespace examples_test
}  // namespace ordo::execute
