// A throttler: of each customer one call at a time, and none for who has left: `example_throttler`.
#include <iostream>
#include <mutex>
#include <string>

#include <ordo/ordo.hpp>

ordo::ThrottleAnswer throttle(const ordo::ThrottleQuestion& question) {
  const auto& customer = question.candidate.partition;
  if (customer == "gone") return ordo::ThrottleAnswer::cancel("the customer has left");
  for (const auto& job : question.running) {
    if (job.partition == customer) return ordo::ThrottleAnswer::skip();
  }
  return ordo::ThrottleAnswer::run();
}

int main() {
  ordo::Config config;
  config.store = "memory:";
  config.queues = {{.name = "calls", .partition = "/customer", .throttler = throttle}};
  std::mutex mutex;
  const auto say = [&mutex](const std::string& line) {
    const std::lock_guard lock(mutex);
    std::cout << line << "\n";
  };

  ordo::Server server(config);
  server.add("calls", ordo::make_worker([say](ordo::Batch& batch) {
               for (const auto& job : batch.jobs()) say("called for " + job.id);
             }));
  server.subscribe({.types = {ordo::EventType::job_failed, ordo::EventType::throttler_failed}, .queues = {}},
                   [say](const ordo::Event& event) { say(event.id + ": " + event.error); });
  server.start();
  server.client().push_many("calls", {{.id = "1", .payload = R"({"customer":"ann"})"},
                                      {.id = "2", .payload = R"({"customer":"ann"})"},
                                      {.id = "3", .payload = R"({"customer":"gone"})"}});
  server.drain();
  server.stop();
}
