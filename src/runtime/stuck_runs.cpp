#include "runtime/stuck_runs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/shorten.h"
#include "base/time_text.h"

namespace ordo::runtime {
namespace {

const char* text_of(StopReason reason) {
  switch (reason) {
    case StopReason::timeout:
      return "its timeout has passed";
    case StopReason::cancelled:
      return "it was cancelled";
    case StopReason::lease_lost:
      return "the leases of this node have ended";
    case StopReason::node_stops:
    case StopReason::none:
      break;
  }
  return "this node stops";
}

std::string name_of(const StuckRun& run) {
  return "the run of job " + in_quotes(run.id) + " of kind " + in_quotes(run.kind) + " in queue " +
         in_quotes(run.queue);
}

LogLine line_of(LogLevel level, const StuckRun& run, std::string message) {
  LogLine line;
  line.level = level;
  line.message = std::move(message);
  line.queue = run.queue;
  line.kind = run.kind;
  line.key = run.key;
  line.id = run.id;
  return line;
}

}  // namespace

void StuckRuns::look(const RunControl& run, const Code& code) {
  const auto reason = run.reason.load();
  if (reason == StopReason::none) return;
  const auto [found, is_new] = asked_.try_emplace(&run);
  auto& asked = found->second;
  if (is_new) {
    asked.steady = scope_.steady();
    asked.facts = {code.queue->options.name, code.kind, run.key, run.id, scope_.now};
  }
  if (asked.is_told || scope_.steady() - asked.steady < kStuck) return;
  asked.is_told = true;
  ++told_;
  scope_.say(line_of(LogLevel::warning, asked.facts,
                     name_of(asked.facts) + " does not stop, although " + text_of(reason) +
                         ": it keeps its key and its thread until it returns"));
}

void StuckRuns::ended(const RunControl& run) {
  const auto asked = asked_.extract(&run);
  if (asked.empty() || !asked.mapped().is_told) return;
  --told_;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(scope_.steady() - asked.mapped().steady);
  scope_.say(line_of(LogLevel::info, asked.mapped().facts,
                     name_of(asked.mapped().facts) + " has returned, " + format_duration(seconds) +
                         " after it was asked to stop"));
}

std::vector<StuckRun> StuckRuns::list() const {
  std::vector<StuckRun> runs;
  if (told_ == 0) return runs;  // as it mostly is, and this is asked at each tick
  for (const auto& [control, asked] : asked_) {
    if (asked.is_told) runs.push_back(asked.facts);
  }
  std::ranges::sort(runs, {},
                    [](const StuckRun& run) { return std::tie(run.since, run.queue, run.key, run.id); });
  if (runs.size() > kTold) runs.resize(kTold);
  return runs;
}

}  // namespace ordo::runtime
