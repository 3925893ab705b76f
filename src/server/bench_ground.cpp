#include "server/bench_ground.h"

#include <stdlib.h>

#include <system_error>
#include <utility>

#include <ordo/error.hpp>

#include "store/open.h"

namespace ordo::bench {
namespace {

constexpr std::size_t kBatch = 1000;
constexpr std::uint64_t kCallsUnderWay = 16;

}  // namespace

Ground::Ground(const BenchOptions& options, Layout layout) : url_(options.store), layout_(std::move(layout)) {
  if (!url_.empty()) {
    remove_queues();
    return;
  }
  const auto base =
      options.folder.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(options.folder);
  std::string name = (base / "ordo-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorKind::unavailable, "cannot make a folder for the benchmark in " + base.string());
  }
  folder_ = name;
  url_ = "sqlite:" + name + "/bench.db";
}

Ground::~Ground() {
  std::error_code ignored;
  if (!folder_.empty()) {
    std::filesystem::remove_all(folder_, ignored);
  } else {
    remove_queues();
  }
}

Config Ground::config(const BenchOptions& options) const {
  Config config;
  config.store = url_;
  config.node.threads = options.threads;
  for (std::size_t i = 0; i < layout_.queues; ++i) {
    config.queues.push_back({.name = layout_.queue(i)});
    config.queues.back().shards = layout_.shards;
  }
  if (layout_.rules) layout_.rules(config.queues.front());
  config.queues.push_back({.name = kBacklog});
  return config;
}

void Ground::remove_queues() {
  const auto store = store::open(url_, system_clock());
  for (std::size_t i = 0; i < layout_.queues; ++i) store->remove(layout_.queue(i));
  store->remove(kBacklog);
}

std::string payload_of(std::uint64_t i) {
  auto text = std::to_string(i);
  text.resize(kPayload, '.');
  return text;
}

void push_bulk(Client& client, const Bulk& bulk) {
  const auto batch_size = std::clamp<std::uint64_t>(bulk.jobs / bulk.queues.size(), 1, kBatch);
  Counter stored;
  std::uint64_t calls = 0;
  std::exception_ptr failure;
  for (std::uint64_t i = 0; i < bulk.jobs;) {
    std::vector<NewJob> batch;
    for (; batch.size() < batch_size && i < bulk.jobs; ++i) {
      auto& job = batch.emplace_back();
      job.id = std::to_string(i % bulk.ids);
      job.payload = payload_of(i);
      job.delay = bulk.delay;
      if (bulk.change) bulk.change(job, i);
    }
    client.push_async(bulk.queues[calls % bulk.queues.size()], std::move(batch),
                      [&](std::exception_ptr error) {
                        if (error) failure = error;
                        stored.add(1);
                      });
    if (++calls > kCallsUnderWay) stored.wait_for(calls - kCallsUnderWay);
  }
  stored.wait_for(calls);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ordo::bench
