// What Sidekiq's own processes write with each heartbeat, for every version from 6.4 to 8: it is read by
// Sidekiq Web, which shows an error for a process that lacks a field.
#include "sources/sidekiq/citizen.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ordo/version.hpp>

#include "base/json.h"
#include "base/random.h"
#include "base/time_text.h"
#include "sources/sidekiq/job_reader.h"
#include "sources/sidekiq/job_writer.h"
#include "sources/sidekiq/queue_names.h"

namespace ordo::sources {
namespace {

using store::redis::CommandText;

constexpr int kLifeSeconds = 60;
constexpr std::int64_t kDaySeconds = 5LL * 365 * 24 * 3600;  // how long counts of a day are kept

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string new_identity(const std::string& host) {
  std::string identity = fmt::format("{}:{}:", host, getpid());
  for (const auto byte : secret_bytes(6)) identity += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return identity;
}

std::uint64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * (static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024);
}

}  // namespace

SidekiqCitizen::SidekiqCitizen(const SourceOptions& source, std::uint32_t threads, Clock& clock,
                               std::function<void(Wish)> asked)
    : source_(source),
      threads_(threads),
      clock_(clock),
      asked_(std::move(asked)),
      queues_(queue_names(source)),
      host_(host_name()),
      identity_(new_identity(host_)),
      started_(clock.wall()),
      link_(source.url) {}

std::uint64_t SidekiqCitizen::begun(const Batch& batch) {
  if (!source_.heartbeat || !is_of_source(batch.queue())) return 0;
  std::string payload;
  if (!batch.jobs().empty() && !batch.jobs().front().payloads.empty())
    payload = batch.jobs().front().payloads.front().bytes;
  const std::lock_guard lock(mutex_);
  runs_.emplace(++last_run_, Run{batch.queue(), std::move(payload), clock_.wall()});
  return last_run_;
}

void SidekiqCitizen::ended(std::uint64_t run) {
  if (run == 0) return;
  const std::lock_guard lock(mutex_);
  runs_.erase(run);
}

// Sidekiq counts what has failed as processed, too.
void SidekiqCitizen::note(const Event& event) {
  if (!source_.stats || !is_of_source(event.queue)) return;
  const std::lock_guard lock(mutex_);
  ++counts_.processed;
  if (event.type != EventType::job_finished) ++counts_.failed;
}

void SidekiqCitizen::tick() {
  CommandText commands;
  commands.add("MULTI");
  Counts counts;
  {
    const std::lock_guard lock(mutex_);
    counts = counts_;
  }
  if (source_.stats) add_stats(commands, counts);
  if (source_.heartbeat) {
    const auto busy = add_work(commands);
    const auto beat = clock_.wall();
    commands.add("SADD", "processes", identity_);
    commands.add("HSET", identity_, "info", info(), "concurrency", threads_, "busy", busy, "beat",
                 float_seconds(beat), "rtt_us", round_trip_.count(), "quiet", is_quiet_ ? "true" : "false",
                 "rss", resident_kib());
    commands.add("EXPIRE", identity_, kLifeSeconds);
    commands.add("RPOP", identity_ + "-signals");
  }
  commands.add("EXEC");
  const auto began = clock_.steady();
  const auto replies = link_.ask("tell Sidekiq's pages of this node", commands);
  round_trip_ = clock_.steady() - began;
  {
    const std::lock_guard lock(mutex_);
    counts_.processed -= counts.processed;
    counts_.failed -= counts.failed;
  }
  const auto& done = replies.back().items;
  if (source_.heartbeat && !done.empty() && !done.back().is_nil()) hear(done.back().text);
}

void SidekiqCitizen::add_stats(CommandText& commands, const Counts& counts) const {
  const auto day = fmt::format("{:%Y-%m-%d}", std::chrono::floor<std::chrono::seconds>(clock_.wall()));
  const std::array<std::pair<const char*, std::uint64_t>, 2> all = {
      {{"stat:processed", counts.processed}, {"stat:failed", counts.failed}}};
  for (const auto& [name, count] : all) {
    if (count == 0) continue;
    const auto of_day = fmt::format("{}:{}", name, day);
    commands.add("INCRBY", name, count);
    commands.add("INCRBY", of_day, count);
    commands.add("EXPIRE", of_day, kDaySeconds);
  }
}

// Versions before 6.4.2 read `:workers`, later ones `:work`.
std::uint64_t SidekiqCitizen::add_work(CommandText& commands) {
  const std::lock_guard lock(mutex_);
  std::uint64_t busy = 0;
  for (const auto* const end : {":workers", ":work"}) {
    commands.add("UNLINK", identity_ + end);
    busy = 0;
    for (const auto& [number, run] : runs_) {
      std::string why;
      const auto job = read_job(run.payload, {}, why);
      if (!job) continue;  // its pages cannot show what is none of its jobs
      ++busy;
      const auto text = fmt::format(R"({{"queue":{},"payload":{},"run_at":{}}})",
                                    json_string(job->queue.empty() ? run.queue : job->queue),
                                    json_string(run.payload), whole_seconds(run.since));
      commands.add("HSET", identity_ + end, number, text);
    }
    commands.add("EXPIRE", identity_ + end, kLifeSeconds);
  }
  return busy;
}

std::string SidekiqCitizen::info() const {
  std::string queues, weights;
  for (const auto& queue : source_.queues) {
    queues += (queues.empty() ? "" : ",") + json_string(queue);
    weights += (weights.empty() ? "" : ",") + json_string(queue) + ":0";
  }
  return fmt::format(
      R"({{"hostname":{},"started_at":{},"pid":{},"tag":{},"concurrency":{},"queues":[{}],"weights":[{{{}}}],)"
      R"("capsules":{{"default":{{"concurrency":{},"mode":"strict","weights":{{{}}}}}}},"labels":[],)"
      R"("version":"ordo {}","embedded":false,"identity":{}}})",
      json_string(host_), float_seconds(started_), getpid(), json_string(tag_of(source_)), threads_, queues,
      weights, threads_, weights, kVersion, json_string(identity_));
}

void SidekiqCitizen::hear(const std::string& signal) {
  if (signal == "TSTP") {
    is_quiet_ = true;
    asked_(Wish::quiet);
  } else if (signal == "TERM" && source_.allow_stop) {
    asked_(Wish::stop);
  }
}

void SidekiqCitizen::leave() {
  if (!source_.heartbeat) return;
  CommandText commands;
  commands.add("SREM", "processes", identity_);
  commands.add("UNLINK", identity_, identity_ + ":workers", identity_ + ":work");
  link_.ask("tell Sidekiq's pages that this node ends", commands);
}

}  // namespace ordo::sources
