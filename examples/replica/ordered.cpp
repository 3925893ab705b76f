// The half that shows Ordo: everything it uses of it is in this file.
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include <ordo/ordo.hpp>

#include "halves.h"

/// What a job says is to be done. The id of the job is the path of the file.
struct Instruction {
  std::uint64_t position = 0;
  replica::Change change;
};

template <>
struct ordo::Codec<Instruction> {
  static std::string encode(const Instruction& instruction) {
    const auto& change = instruction.change;
    const std::string start = R"({"position":)" + std::to_string(instruction.position);
    if (change.is_delete()) return start + R"(,"delete":true})";
    return start + R"(,"blob":")" + change.blob + R"(","mode":")" + change.mode + R"("})";
  }

  static Instruction decode(std::string_view bytes) {
    const Json json = Json::parse(bytes);
    Instruction instruction{static_cast<std::uint64_t>(json["position"].as_int()), {}};
    if (!json.contains("delete")) {
      instruction.change.mode = json["mode"].as_string();
      instruction.change.blob = json["blob"].as_string();
    }
    return instruction;
  }
};

namespace replica {
namespace {

using Clock = std::chrono::steady_clock;

ordo::Config config_of(const Stage& stage) {
  ordo::Config config;
  config.store = stage.store.empty() ? "sqlite:" + stage.folder + "/replica.db" : stage.store;
  config.node.threads = kThreads;
  // The score of a payload is its position: perform receives the payloads of a file in the order of the
  // stream.
  config.queues = {
      {.name = "replica",
       .shards = 16,
       .max_retries = 5,
       .retry = {.strategy = ordo::RetryPolicy::Strategy::fixed, .delay = std::chrono::seconds{1}}}};
  return config;
}

/// No two runs of one path overlap, so looking and writing need no lock. A push that came late (or again,
/// after a crash) finds a newer position and has nothing to do.
void apply(Folder& folder, Blobs& blobs, const std::string& path, const Instruction& newest,
           Progress& progress) {
  const auto there = folder.position(path);
  if (there && *there >= newest.position) {
    ++progress.skipped;
    return;
  }
  folder.write(path, newest.position, newest.change,
               newest.change.is_delete() ? std::string() : blobs.read(newest.change.blob));
}

/// How many changes are known to be pushed, across starts.
class Acknowledged {
 public:
  explicit Acknowledged(const std::string& folder) : file_(folder + "/acknowledged") {
    std::ifstream(file_) >> count_;
  }

  std::size_t count() const { return count_; }

  void set(std::size_t count) {
    std::ofstream(file_ + ".part") << count << "\n";
    std::filesystem::rename(file_ + ".part", file_);
  }

 private:
  std::string file_;
  std::size_t count_ = 0;
};

/// Does `work` on a thread of its own and shows the progress meanwhile.
void show_while(const Stage& stage, const Progress& progress, const char* what,
                const std::function<void()>& work) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr failure;
  const std::jthread worker([&] {
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    failure = error;
    done = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds{100}, [&] { return done; }))
    stage.show(progress, what);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Result run_ordered(const Stage& stage) {
  std::filesystem::create_directories(stage.folder);
  Folder folder(stage.folder);
  Acknowledged acknowledged(stage.folder);
  Progress progress;

  ordo::Server server(config_of(stage));
  server.add("replica", ordo::make_worker<Instruction>([&](const ordo::TypedJob<Instruction>& job) {
               apply(folder, stage.blobs, job.id, job.payload(), progress);
               progress.merged += job.payloads.size() - 1;
               ++progress.runs;
             }));
  server.set_log([](ordo::LogLevel level, std::string_view message) {
    if (level >= ordo::LogLevel::warning) std::cerr << message << "\n";
  });
  server.start();

  const auto started = Clock::now();
  auto client = server.client();
  show_while(stage, progress, "Ordo", [&] {
    const auto push = [&](const std::vector<std::size_t>& positions) {
      std::vector<ordo::NewJob> jobs;
      for (const auto position : positions) {
        const auto& change = stage.history.changes[position];
        jobs.push_back({.id = change.path,
                        .payload = ordo::Codec<Instruction>::encode({position, change}),
                        .score = static_cast<double>(position)});
      }
      client.push_many("replica", std::move(jobs));
      progress.pushed += positions.size();
    };
    produce(stage.history, acknowledged.count(), push, [&](std::size_t count) { acknowledged.set(count); });
    server.drain();
  });
  const std::chrono::duration<double> took = Clock::now() - started;
  const std::size_t dead = server.admin().stats({"replica"}).total.dead;
  server.stop();

  folder.build(stage.folder + "/tree");
  return {.from = acknowledged.count(),
          .pushed = progress.pushed,
          .runs = progress.runs,
          .merged = progress.merged,
          .skipped = progress.skipped,
          .dead = dead,
          .seconds = took.count(),
          .differences = compare(stage.folder + "/tree", stage.history, stage.blobs)};
}

}  // namespace replica
