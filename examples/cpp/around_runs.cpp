// What a program can put around pushes and runs: middlewares, events, hooks, the log.

#include <iostream>
#include <mutex>

#include <ordo/ordo.hpp>

int main() {
  std::mutex mutex;
  const auto say = [&mutex](const std::string& line) {
    const std::lock_guard lock(mutex);
    std::cout << line << "\n";
  };

  ordo::Config config;
  config.store = "memory:";
  config.queues = {{.name = "orders", .max_retries = 0}};
  ordo::Server server(config);

  // The first added is the outermost. One that does not call next() fails the run.
  server.use([say](ordo::Batch& batch, const std::function<void()>& next) {
    say("before " + batch.jobs()[0].id);
    next();
    say("after " + batch.jobs()[0].id);
  });
  server.subscribe({.types = {ordo::EventType::job_dead}, .queues = {}}, [say](const ordo::Event& event) {
    say(event.queue + " " + event.id + " died: " + event.error);
  });
  server.set_hooks({.on_start = [say] { say("started"); }, .on_stop = [say] { say("stopped"); }});
  server.set_log([say](ordo::LogLevel level, std::string_view message) {
    if (level >= ordo::LogLevel::warning) say("log: " + std::string(message));
  });
  server.add("orders", ordo::make_worker<ordo::Json>([](const ordo::TypedJob<ordo::Json>& job) {
               return job.payload()["total"].as_int() < 0 ? ordo::Outcome::fail("a negative total")
                                                          : ordo::Outcome::done();
             }));

  ordo::Client client = server.client();
  client.use(
      [](const std::string& queue, std::vector<ordo::NewJob>& jobs, const std::function<void()>& next) {
        if (queue == "orders") {
          for (auto& job : jobs) job.priority = job.id == "vip" ? 1 : 100;
        }
        next();  // not calling it refuses the push
      });
  client.push("orders", {.id = "vip", .payload = R"({"total":7})"});

  server.start();
  server.drain();
  client.push("orders", {.id = "bad", .payload = R"({"total":-1})"});
  server.drain();
  server.stop();
}
