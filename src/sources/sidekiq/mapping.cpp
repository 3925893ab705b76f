// From Sidekiq's JSON to a job: which queue and kind, and what its arguments say of id, key, score and locks.
#include "sources/sidekiq/mapping.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <ordo/sidekiq.hpp>

#include "base/json_pointer.h"
#include "base/name.h"
#include "base/number_text.h"
#include "base/shorten.h"
#include "sources/sidekiq/failed_job.h"
#include "sources/sidekiq/job_reader.h"

namespace ordo::sources {
namespace {

/// Where pointers begin: the arguments of the program's own class.
Json root_of(const sidekiq::Job& job) {
  if (job.wrapped.empty() || job.args.size() == 0) return job.args;
  const auto active_job = job.args[0];
  if (!active_job.contains("arguments") || !active_job["arguments"].is_array()) return job.args;
  return active_job["arguments"];
}

const SourceMap* map_of(const SourceOptions& source, const sidekiq::Job& job) {
  const auto map = std::ranges::find_if(source.map, [&](const SourceMap& each) {
    return each.class_name == job.class_name || (!job.wrapped.empty() && each.class_name == job.wrapped);
  });
  return map == source.map.end() ? nullptr : &*map;
}

/// What the arguments of one job say.
class Arguments {
 public:
  explicit Arguments(const sidekiq::Job& job) : json_(root_of(job).dump()) {}

  /// A name that the job cannot do without; empty without a pointer.
  std::string name(const char* what, const std::string& pointer) {
    if (pointer.empty()) return {};
    auto found = name_at(json_, pointer);
    if (!found || found->empty()) {
      refuse("no_value", "its arguments have no " + std::string(what) + " at " + pointer);
      return {};
    }
    return bounded(what, *std::move(found));
  }

  /// One that it may lack.
  std::optional<std::string> maybe_name(const char* what, const std::string& pointer) {
    if (pointer.empty()) return std::nullopt;
    auto found = name_at(json_, pointer);
    if (!found || found->empty()) return std::nullopt;
    return bounded(what, *std::move(found));
  }

  std::optional<double> number(const char* what, const std::string& pointer) {
    if (pointer.empty()) return std::nullopt;
    const auto found = name_at(json_, pointer);
    const auto number = found ? read_number<double>(*found) : std::nullopt;
    if (!number || !std::isfinite(*number))
      refuse("no_value", "its arguments have no number for " + std::string(what) + " at " + pointer);
    return number;
  }

  const std::optional<Refusal>& refused() const { return refused_; }

 private:
  std::string bounded(const char* what, std::string name) {
    if (name.size() <= kLongestJobName) return name;
    refuse("too_large",
           "its " + std::string(what) + " has " + std::to_string(name.size()) + " bytes, at most 255 fit");
    return {};
  }

  void refuse(std::string why, std::string text) {
    if (!refused_) refused_ = {std::move(why), std::move(text)};
  }

  const std::string json_;
  std::optional<Refusal> refused_;
};

/// The retries that are left: a job of the retry set has used up some. `otherwise`: of a job that says none;
/// nothing: what its queue has then.
std::optional<std::int32_t> retries_left(const sidekiq::Job& job, std::optional<std::int32_t> otherwise) {
  const auto retries = job.retries ? job.retries : otherwise;
  if (!retries) return std::nullopt;
  return static_cast<std::int32_t>(std::max<std::int64_t>(*retries - failures_before(job, 0), 0));
}

/// Ordo forgets how often a job has failed that goes to Sidekiq's set, so its queue's number is no longer
/// right when it comes again.
std::optional<std::int32_t> retries_of_queue(const SourceOptions& source, const Config& config,
                                             const MappedJob& mapped) {
  const auto* queue = config.find(mapped.queue);
  if (source.retries != SourceRetries::sidekiq || queue == nullptr) return std::nullopt;
  const auto& kind = mapped.job.kind.empty() ? mapped.queue : mapped.job.kind;
  return static_cast<std::int32_t>(options_of(*queue, kind).max_retries);
}

}  // namespace

std::optional<Refusal> refusal_of_size(std::size_t bytes, std::uint64_t most) {
  if (bytes <= most) return std::nullopt;
  return Refusal{"too_large", fmt::format("it has {} bytes, and its queue takes {}", bytes, most)};
}

MappedJob map_job(const SourceOptions& source, const Config& config, std::string bytes,
                  std::string_view place) {
  MappedJob mapped;
  mapped.queue = source.queue;
  mapped.job.id = source.name + "-" + std::string(place);
  std::string why;
  const auto job = read_job(bytes, {}, why);
  if (!job) {
    mapped.refused = {"malformed", "it is no job of Sidekiq: " + why};
  } else {
    const auto* map = map_of(source, *job);
    const SourceMap rules = map != nullptr ? *map : SourceMap{};
    Arguments arguments(*job);
    if (!rules.queue.empty()) mapped.queue = rules.queue;
    mapped.job.kind = rules.kind;
    if (!job->jid.empty() && job->jid.size() <= kLongestJobName) mapped.job.id = job->jid;
    if (auto id = arguments.name("id", rules.id); !id.empty()) mapped.job.id = std::move(id);
    mapped.job.key = arguments.name("key", rules.key);
    mapped.job.score = arguments.number("score", rules.score);
    mapped.job.lock = arguments.maybe_name("lock", rules.lock);
    mapped.job.unique = arguments.maybe_name("unique", rules.unique);
    mapped.job.max_retries = retries_left(*job, retries_of_queue(source, config, mapped));
    mapped.keeps_dead = job->keeps_dead;
    mapped.refused = arguments.refused();
  }
  const auto* queue = config.find(mapped.queue);
  const auto most = queue != nullptr ? queue->max_payload : kLongestPayload;
  if (!mapped.refused) mapped.refused = refusal_of_size(bytes.size(), most);
  mapped.job.payload = std::move(bytes);
  return mapped;
}

}  // namespace ordo::sources
