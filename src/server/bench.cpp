// What Ordo costs beside the plain store: whole job lives, single pushes, merging, a backlog, take-over,
// latency.
#include <ordo/bench.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <ordo/error.hpp>
#include <ordo/server.hpp>

#include "base/assert.h"
#include "base/check_function.h"
#include "base/shorten.h"
#include "domain/records.h"
#include "execute/process.h"
#include "server/bench_ground.h"
#include "store/open.h"
#include "store/raw_bench.h"

namespace ordo {
namespace {

using namespace bench;

constexpr std::size_t kRows = 1000;  // of a commit of the plain store
constexpr std::size_t kNodes = 3;
constexpr std::size_t kMany = 1000;  // queues, or shards of one

constexpr std::array kNames = {"takeover",     "memory",       "raw",     "blank",   "blank_nodes",
                               "blank_queues", "blank_shards", "limited", "locked",  "blocked_behind",
                               "waits",        "merged",       "push_1",  "push_16", "push_64",
                               "latency",      "blank_behind"};

/// Names the store to child processes by their environment: it may hold a password, and everybody can read
/// the arguments of a process.
class StoreOfChildren {
 public:
  explicit StoreOfChildren(const std::string& url) {
    if (const char* before = std::getenv(kName)) before_ = before;
    ::setenv(kName, url.c_str(), 1);
  }
  ~StoreOfChildren() {
    if (before_) {
      ::setenv(kName, before_->c_str(), 1);
    } else {
      ::unsetenv(kName);
    }
  }
  StoreOfChildren(const StoreOfChildren&) = delete;
  StoreOfChildren& operator=(const StoreOfChildren&) = delete;

 private:
  static constexpr const char* kName = "ORDO_STORE";

  std::optional<std::string> before_;
};

class Measurement {
 public:
  Measurement(const BenchOptions& options, const std::function<void(const BenchFigure&)>& done)
      : options_(options), done_(done) {}

  void all() {
    if (options_.backlog > 0) takeover();  // first: it looks at the memory of this process
    const double raw =
        measure("raw", "the plain store: rows appended and deleted in equal commits", "rows/s", [&] {
          const Ground ground(options_);
          return store::raw_append_delete_rate(ground.url(), options_.jobs, kPayload, kRows);
        });
    const double blank = measure(
        "blank", "blank jobs pushed in bulk and run to the end", "jobs/s", [&] { return job_lives(0); },
        "raw", raw);
    measure(
        "blank_nodes", "the same on " + std::to_string(kNodes) + " nodes", "jobs/s",
        [&] { return job_lives(0, kNodes); }, "blank", blank);
    measure(
        "blank_queues", "the same in " + std::to_string(kMany) + " queues", "jobs/s",
        [&] { return job_lives(0, 1, {.queues = kMany}); }, "blank", blank);
    measure(
        "blank_shards", "the same in one queue of " + std::to_string(kMany) + " shards", "jobs/s",
        [&] { return job_lives(0, 1, {.shards = kMany}); }, "blank", blank);
    gated(blank);
    measure("waits", "waits for responses, opened and answered by 16 threads", "waits/s",
            [&] { return waiting(); });
    measure("merged", "pushes that merge, 10 an id", "pushes/s", [&] { return merging(); });
    for (const unsigned threads : {1U, 16U, 64U}) {
      measure("push_" + std::to_string(threads), "pushes one at a time, threads: " + std::to_string(threads),
              "pushes/s", [&] { return single_pushes(threads); });
    }
    latency();
    if (options_.backlog == 0) return;
    measure(
        "blank_behind", "blank jobs with " + std::to_string(options_.backlog) + " waiting", "jobs/s",
        [&] { return job_lives(options_.backlog); }, "blank", blank);
  }

 private:
  bool wanted(const std::string& name) const {
    ORDO_ASSERT(std::ranges::count(kNames, name) == 1);
    return options_.only.empty() ||
           std::find(options_.only.begin(), options_.only.end(), name) != options_.only.end();
  }

  double measure(const std::string& name, const std::string& what, const std::string& unit,
                 const std::function<double()>& once, const std::string& against = {}, double base = 0) {
    if (!wanted(name)) return 0;
    std::vector<double> values;
    for (std::uint32_t i = 0; i < options_.rounds; ++i) values.push_back(once());
    return tell(name, what, unit, std::move(values), against, base);
  }

  double tell(const std::string& name, const std::string& what, const std::string& unit,
              std::vector<double> values, const std::string& against = {}, double base = 0) {
    std::sort(values.begin(), values.end());
    BenchFigure figure{name, what, unit, values[values.size() / 2], values.front(), values.back(), {}, 0};
    if (base > 0) {
      figure.against = against;
      figure.ratio = figure.value / base;
    }
    done_(figure);
    return figure.value;
  }

  /// Jobs per second, from before the first push to the durable end of the last.
  double job_lives(std::uint64_t backlog, std::size_t nodes = 1, const Layout& layout = {}) {
    const Ground ground(options_, layout);
    std::vector<std::string> queues;
    for (std::size_t i = 0; i < layout.queues; ++i) queues.push_back(layout.queue(i));
    Counter ran;
    std::vector<std::unique_ptr<Server>> servers;
    for (std::size_t i = 0; i < nodes; ++i) {
      auto& server = *servers.emplace_back(std::make_unique<Server>(ground.config(options_)));
      for (const auto& queue : queues)
        server.add(queue, make_worker([&](Batch& batch) { ran.add(batch.jobs().size()); }));
      server.add(kBacklog, make_worker([](Batch&) {}));
    }
    auto client = servers.front()->client();
    if (backlog > 0) push_bulk(client, {{kBacklog}, backlog, backlog, std::chrono::hours{1}});
    for (auto& server : servers) server->start();
    if (backlog > 0) wait_until_read(ground);
    wait_until_owned(ground, nodes);
    sync();  // what the system still writes of earlier work is not measured
    const Stopwatch watch;
    push_bulk(client, {queues, options_.jobs, options_.jobs});
    ran.wait_for(options_.jobs);
    wait_until_processed(ground, options_.jobs);
    const auto seconds = watch.seconds();
    for (auto& server : servers) server->stop(Server::Stop::now);
    return static_cast<double>(options_.jobs) / seconds;
  }

  /// What limits and locks cost, and what a million blocked jobs cost the others.
  void gated(double blank) {
    const auto limit = [](QueueOptions& queue) {
      queue.limit = 5;
      queue.partition = "/none";
    };
    const auto lock = [&](QueueOptions& queue) {
      limit(queue);
      queue.lock = "id";
    };
    const double limited = measure(
        "limited", "blank jobs under a limit of 5, in 100 partitions", "jobs/s",
        [&] { return gated_lives(0, limit); }, "blank", blank);
    measure(
        "locked", "the same with a lock each", "jobs/s", [&] { return gated_lives(0, lock); }, "blank",
        blank);
    if (options_.backlog == 0) return;
    measure(
        "blocked_behind", "the first with " + std::to_string(options_.backlog) + " due in a closed partition",
        "jobs/s", [&] { return gated_lives(options_.backlog, limit); }, "limited", limited);
  }

  double gated_lives(std::uint64_t blocked, const std::function<void(QueueOptions&)>& rules) {
    const Ground ground(options_, {.rules = rules});
    Server server(ground.config(options_));
    Counter ran;
    server.add(kQueue, make_worker([&](Batch& batch) {
                 if (batch.jobs().front().id == "closes") batch.limit_penalty(std::chrono::hours{1});
                 ran.add(batch.jobs().size());
               }));
    server.add(kBacklog, make_worker([](Batch&) {}));
    auto client = server.client();
    server.start();
    wait_until_owned(ground, 1);
    std::uint64_t before = 0;
    if (blocked > 0) {
      client.push(kQueue, {.id = "closes", .partition = "closed"});
      wait_until_processed(ground, ++before);
      push_bulk(client, {{kQueue}, blocked, blocked, {}, [](NewJob& job, std::uint64_t no) {
                           job.id = "blocked-" + std::to_string(no);
                           job.partition = "closed";
                         }});
      wait_for(ground, &domain::Counts::blocked_by_rate, blocked);
    }
    sync();
    const Stopwatch watch;
    push_bulk(client, {{kQueue}, options_.jobs, options_.jobs, {}, [](NewJob& job, std::uint64_t no) {
                         job.partition = std::to_string(no % 100);
                       }});
    ran.wait_for(before + options_.jobs);
    wait_until_processed(ground, before + options_.jobs);
    const auto seconds = watch.seconds();
    server.stop(Server::Stop::now);
    return static_cast<double>(options_.jobs) / seconds;
  }

  double waiting() {
    const Ground ground(options_);
    Server server(ground.config(options_));
    server.add(kQueue, make_worker(
                           [](Batch& batch) {
                             for (std::size_t i = 0; i < batch.jobs().size(); ++i)
                               batch.report(i, Outcome::wait(batch.jobs()[i].id));
                           },
                           [](Batch&, const Response&) {}));
    server.add(kBacklog, make_worker([](Batch&) {}));
    auto client = server.client();
    server.start();
    wait_until_owned(ground, 1);
    const auto jobs = options_.jobs;
    const Stopwatch watch;
    push_bulk(client, {{kQueue}, jobs, jobs});
    wait_for(ground, &domain::Counts::awaiting, jobs);
    {
      constexpr std::uint64_t kThreads = 16;
      std::vector<std::jthread> responders;
      for (std::uint64_t t = 0; t < kThreads; ++t) {
        responders.emplace_back([&, t] {
          for (auto i = t; i < jobs; i += kThreads) client.respond(kQueue, std::to_string(i), "1");
        });
      }
    }
    wait_until_processed(ground, jobs);
    const auto seconds = watch.seconds();
    server.stop(Server::Stop::now);
    return static_cast<double>(jobs) / seconds;
  }

  double merging() {
    const Ground ground(options_);
    Server server(ground.config(options_));
    server.add(kQueue, make_worker([](Batch&) {}));
    auto client = server.client();
    server.start();
    const auto pushes = options_.jobs;
    const Stopwatch watch;
    push_bulk(client, {{kQueue}, pushes, std::max<std::uint64_t>(pushes / 10, 1)});
    server.drain();
    const auto seconds = watch.seconds();
    server.stop(Server::Stop::now);
    return static_cast<double>(pushes) / seconds;
  }

  double single_pushes(unsigned threads) {
    const Ground ground(options_);
    Client client(ground.config(options_));
    client.push(kQueue, {.id = "first"});
    const std::uint64_t each = std::max<std::uint64_t>(threads == 1 ? 2000 : options_.jobs / threads, 1);
    const Stopwatch watch;
    {
      std::vector<std::jthread> producers;
      for (unsigned t = 0; t < threads; ++t) {
        producers.emplace_back([&client, each, t] {
          for (std::uint64_t i = 0; i < each; ++i) {
            client.push(kQueue, {.id = std::to_string(t * each + i), .payload = payload_of(i)});
          }
        });
      }
    }
    return static_cast<double>(each * threads) / watch.seconds();
  }

  /// From the call of push to the start of the job, on an idle node.
  void latency() {
    if (!wanted("latency")) return;
    const Ground ground(options_);
    const StoreOfChildren store_of_children(
        ground.url());  // before there are threads that could read the environment
    const double commit = store::raw_commit_latency(ground.url(), 300);
    tell("raw_commit", "the plain store: one durable commit of one row", "µs", {commit});
    Server server(ground.config(options_));
    Counter started;
    std::atomic<std::int64_t> start{0};
    server.add(kQueue, make_worker([&](Batch&) {
                 start = system_clock().steady().count();
                 started.add(1);
               }));
    server.start();
    std::uint64_t ran = 0;
    const auto measured = [&](const std::function<void(const std::string& id)>& push) {
      std::vector<double> times;
      for (int i = 0; i < 300; ++i) {
        const auto before = system_clock().steady().count();
        push(std::to_string(++ran));
        started.wait_for(ran);
        times.push_back(static_cast<double>(start - before));
      }
      return times;
    };
    auto client = server.client();
    tell("latency", "push to start, idle node, same process", "µs",
         measured([&](const std::string& id) { client.push(kQueue, {.id = id}); }), "raw_commit", commit);
    if (!options_.ordo.empty()) {
      execute::Process other({options_.ordo, "push", kQueue, "--ndjson", "-"}, "", nullptr,
                             {[](int, auto) {}, [](int, auto) {}});
      const auto push = [&](const std::string& id) {
        const auto line = "{\"id\":\"" + id + "\"}\n";
        other.send(line);
        other.wait(Duration{0}, -1);
        if (!other.has_ended()) return;
        throw Error(ErrorKind::unavailable,
                    "the process that pushes for the benchmark " + other.how_it_ended());
      };
      measured(push);  // its start
      tell("latency_two", "the same, pushed by a second process", "µs", measured(push), "raw_commit", commit);
    }
    server.stop(Server::Stop::now);
  }

  /// From acquiring the leases to all shards running.
  void takeover() {
    if (!wanted("takeover") && !wanted("memory")) return;
    const Ground ground(options_);
    Config config = ground.config(options_);
    config.node.payload_cache = 0;  // so that what is left is the waiting jobs alone
    {
      Client client(config);
      push_bulk(client, {{kBacklog}, options_.backlog, options_.backlog, std::chrono::hours{1}});
    }
    const double before = resident_bytes();
    Server server(config);
    server.add(kBacklog, make_worker([](Batch&) {}));
    const Stopwatch watch;
    server.start();
    wait_until_read(ground);
    tell("takeover", "take-over of " + std::to_string(options_.backlog) + " waiting jobs", "s",
         {watch.seconds()});
    tell("memory", "memory of a waiting job", "bytes",
         {(resident_bytes() - before) / static_cast<double>(options_.backlog)});
    server.stop(Server::Stop::now);
  }

  static double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
  }

  /// Until the owners' counts reach `wanted`. Stats would add what it reads in the log beside them.
  static void wait_for(const Ground& ground, std::uint64_t domain::Counts::*count, std::uint64_t wanted) {
    const auto store = store::open(ground.url(), system_clock());
    const auto counted = [&] {
      std::uint64_t sum = 0;
      for (const auto& row : store->shards()) sum += domain::decode_counts(row.counts).or_empty().*count;
      return sum;
    };
    while (counted() < wanted) nap();
  }
  /// Until the shards are read and run.
  void wait_until_read(const Ground& ground) {
    wait_for(ground, &domain::Counts::scheduled, options_.backlog);
  }
  /// Until so many nodes have shards, and none is free.
  static void wait_until_owned(const Ground& ground, std::size_t nodes) {
    const auto store = store::open(ground.url(), system_clock());
    for (std::set<std::string> owners; owners.size() < nodes || owners.contains(""); nap()) {
      owners.clear();
      for (const auto& row : store->shards()) owners.insert(row.owner);
    }
  }
  /// Until the ends are durable.
  static void wait_until_processed(const Ground& ground, std::uint64_t jobs) {
    wait_for(ground, &domain::Counts::processed, jobs);
  }
  static void nap() {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable().wait_for(lock, std::chrono::milliseconds{1}, [] { return false; });
  }
  const BenchOptions& options_;
  const std::function<void(const BenchFigure&)>& done_;
};

}  // namespace

std::vector<std::string> bench_names() { return {kNames.begin(), kNames.end()}; }

void run_bench(const BenchOptions& options, const std::function<void(const BenchFigure&)>& done) {
  check_function("run_bench()", done);
  for (const auto& name : options.only) {
    if (std::ranges::count(kNames, name) > 0) continue;
    std::string known;
    for (const char* each : kNames) known += (known.empty() ? "" : ", ") + std::string(each);
    throw Error(ErrorKind::invalid_argument,
                "there is no measurement " + in_quotes(name) + "; known: " + known);
  }
  Measurement(options, done).all();
}

}  // namespace ordo
