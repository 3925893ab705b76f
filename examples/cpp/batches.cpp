// A class as worker: many jobs at a time, and a result for each of them.

#include <chrono>
#include <iostream>

#include <ordo/ordo.hpp>

using namespace std::chrono_literals;

class Mailer final : public ordo::Worker {
 public:
  // One object serves all threads of the pool.
  void perform(ordo::Batch& batch) override {
    for (std::size_t i = 0; i < batch.jobs().size(); ++i) {
      if (batch.stop().stop_requested()) {
        batch.report(i, ordo::Outcome::put_back());  // the node stops or the time is up
        continue;
      }
      const auto& job = batch.jobs()[i];
      const std::string& address = job.payloads.back().bytes;
      if (address.empty()) {
        batch.discard(i, "no address");
      } else if (address == "full@example.com" && job.retry_count < 0) {
        batch.fail(i, "the mailbox is full");
      } else if (address == "later@example.com") {
        batch.snooze(i, 24h);
      } else {
        std::cout << "sent " << job.id << " to " << address << "\n";
      }
    }
    // Jobs without a result are done now. Had perform thrown, they would have failed.
  }

  void retries_exhausted(const std::vector<ordo::JobView>& dead) override {
    for (const auto& job : dead) std::cerr << "gave up on " << job.id << ": " << job.error << "\n";
  }
};

int main() {
  ordo::Config config;
  config.store = "memory:";
  config.queues = {
      {.name = "mail",
       .shards = 1,
       .batch_size = 100,
       .retry = {.strategy = ordo::RetryPolicy::Strategy::exponential, .delay = 10ms, .cap = 1h}}};
  ordo::Server server(config);
  server.add("mail", std::make_unique<Mailer>());

  std::vector<ordo::NewJob> jobs;
  for (const char* address : {"ann@example.com", "", "full@example.com", "later@example.com"}) {
    jobs.push_back({.id = "letter-" + std::to_string(jobs.size()), .payload = address});
  }
  server.client().push_many("mail", std::move(jobs));  // all or none; in a Redis Cluster, of each shard

  server.start();
  server.drain();
  const auto stats = server.admin().stats();
  std::cout << stats.total.processed << " processed, " << stats.total.failed << " failed, "
            << stats.total.scheduled << " scheduled\n";
}
