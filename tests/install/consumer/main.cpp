// A program of a user: pushes to a file, runs the job, and looks at what became of it.

#include <filesystem>
#include <iostream>

#include <ordo/ordo.hpp>
#include <ordo/testing.hpp>

namespace {

std::string run_once(const ordo::Config& config) {
  std::string ran;
  ordo::Server server(config);
  server.add("orders", ordo::make_worker<ordo::Json>([&](const ordo::TypedJob<ordo::Json>& job) {
               ran = job.id + ":" + std::to_string(job.payload()["total"].as_int());
             }));
  server.start();
  if (!server.drain()) throw std::runtime_error("the server stopped by itself");
  server.stop();
  return ran;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = ordo::run_as_guard(argc, argv)) return *code;
  const auto file =
      std::filesystem::temp_directory_path() / ("ordo-consumer-" + std::string(ordo::kVersion) + ".db");
  const auto remove_files = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
      if (entry.path().string().starts_with(file.string())) std::filesystem::remove(entry.path());
    }
  };
  remove_files();
  try {
    const ordo::Config config{.store = "sqlite:" + file.string(), .queues = {{.name = "orders"}}};
    {
      ordo::Client client(config);
      const std::string id = client.push("orders", {.id = "42", .payload = R"({"total":7})"});
      std::cout << "pushed 1: " << id << "\n";
    }
    const std::string ran = run_once(config);
    const auto stats = ordo::Admin(config).stats();
    std::cout << "ran " << ran << ", processed " << stats.total.processed << "\n";

    ordo::testing::Bench bench;
    bench.add("orders", ordo::make_worker([](ordo::Batch&) {}));
    bench.push("orders", {});
    const bool good =
        ran == "42:7" && stats.total.processed == 1 && stats.total.length == 0 && bench.drain() == 1;
    remove_files();
    return good ? 0 : 1;
  } catch (const ordo::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
