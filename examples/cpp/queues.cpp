// Queues that come and go while the node runs: `example_queues`.
#include <iostream>
#include <mutex>
#include <string>

#include <ordo/ordo.hpp>

int main() {
  ordo::Config config;
  config.store = "memory:";
  config.queues = {{.name = "orders"}};
  std::mutex mutex;
  const auto say = [&mutex](const std::string& line) {
    const std::lock_guard lock(mutex);
    std::cout << line << "\n";
  };
  const auto worker = [say] {
    return ordo::make_worker([say](ordo::Batch& batch) {
      for (const auto& job : batch.jobs()) say(batch.queue() + " " + job.id);
    });
  };
  ordo::Server server(config);
  server.add("orders", worker());
  server.start();
  ordo::Client client = server.client();

  server.add_queue({.name = "mail", .threads = 2}, worker());
  client.push("mail", {.id = "1"});
  server.drain();

  // Other rules for a queue that is served, with the workers that it has.
  ordo::QueueChange change;
  change.serve.push_back({.options = {.name = "orders", .batch_size = 10, .max_retries = 3}, .workers = {}});
  server.change_queues(std::move(change));
  client.push("orders", {.id = "2"});
  server.drain();

  say(server.remove_queue("mail") ? "mail is gone" : "there was none");  // its running jobs have ended
  server.stop();
}
