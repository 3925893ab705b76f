#include "domain/validate_sources.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <ordo/sidekiq.hpp>

#include "base/json_pointer.h"
#include "base/name.h"
#include "base/shorten.h"
#include "domain/invalid_option.h"
#include "domain/option_bounds.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostSources = 100;
constexpr std::size_t kMostMaps = 10'000;

/// One source of a config.
class SourceCheck {
 public:
  SourceCheck(const Config& config, const SourceOptions& source) : config_(config), source_(source) {}

  void run() const {
    if (!is_name(source_.name)) refuse({}, "name takes 1 to 64 of a-z, 0-9, '_' and '-'");
    if (source_.url.empty()) refuse({"url"}, "url is missing: the address of the Redis server");
    if (source_.queues.empty()) refuse({"queues"}, "queues is missing: the lists to take jobs from");
    if (source_.allow_stop && !source_.heartbeat) refuse({"allow_stop"}, "allow_stop needs heartbeat");
    if (source_.heartbeat && source_.dialect == sidekiq::Dialect::resque)
      refuse({"heartbeat"}, "heartbeat is for the pages of Sidekiq; Resque has others");
    if (source_.mirror_dead && source_.dialect == sidekiq::Dialect::resque)
      refuse({"mirror_dead"}, "mirror_dead is for the pages of Sidekiq; Resque has no set of dead jobs");
    if (source_.stats && source_.dialect == sidekiq::Dialect::resque)
      refuse({"stats"}, "stats are counted as Sidekiq does; Resque counts otherwise");
    check_lists();
    check_queue({"queue"}, "queue", source_.queue);
    check_conflict({"queue"}, options_of(*config_.find(source_.queue), source_.queue));
    check_retries();
    if (source_.map.size() > kMostMaps) refuse({"map"}, "map has more than 10,000 classes");
    for (std::size_t i = 0; i < source_.map.size(); ++i) check_map(i);
  }

 private:
  using Path = InvalidOption::Path;

  [[noreturn]] void refuse(const Path& keys, const std::string& why) const {
    Path path{"source", source_.name};
    path.insert(path.end(), keys.begin(), keys.end());
    throw InvalidOption(std::move(path), "source " + in_quotes(source_.name), why);
  }

  void check_lists() const {
    std::set<std::string_view> lists;
    for (const auto& list : source_.queues) {
      if (list.empty()) refuse({"queues"}, "queues has an empty name");
      for (const std::string_view prefix : {"queue:", "resque:queue:"}) {
        if (list.starts_with(prefix))
          refuse({"queues"}, "queues names the list " + in_quotes(list) + " with its prefix; leave out " +
                                 in_quotes(prefix));
      }
      if (!lists.insert(list).second) refuse({"queues"}, "queues names " + in_quotes(list) + " twice");
      check_alone(list);
    }
  }

  // Each job of the list would go to one of the two, by chance.
  void check_alone(const std::string& list) const {
    const auto is_resque = [](const SourceOptions& source) {
      return source.dialect == sidekiq::Dialect::resque;
    };
    for (const auto& other : config_.sources) {
      if (&other == &source_) return;
      if (other.url != source_.url || is_resque(other) != is_resque(source_)) continue;
      if (std::ranges::find(other.queues, list) != other.queues.end())
        refuse({"queues"}, "queues names " + in_quotes(list) + ", which source " + in_quotes(other.name) +
                               " takes from at the same server; take it out of one of them");
    }
  }

  void check_queue(const Path& keys, const std::string& what, const std::string& queue) const {
    if (queue.empty()) refuse(keys, what + " is missing: the queue that gets the jobs");
    if (config_.find(queue) == nullptr)
      refuse(keys, what + " names " + in_quotes(queue) + ", which is no [queue." + queue + "]");
  }

  // In Sidekiq's set a job has no key, which a strict one keeps until its end.
  void check_retries() const {
    if (source_.retries == SourceRetries::ordo) return;
    if (source_.dialect == sidekiq::Dialect::resque)
      refuse({"retries"}, "retries = \"sidekiq\" is not for Resque, which has no set of retries");
    std::set<std::string_view> queues{source_.queue};
    for (const auto& map : source_.map) {
      if (!map.queue.empty()) queues.insert(map.queue);
    }
    for (const auto name : queues) {
      const auto* queue = config_.find(name);
      if (queue != nullptr && queue->key_order != KeyOrder::exclusive)
        refuse({"retries"}, "retries = \"sidekiq\" needs key_order = \"exclusive\" in [queue." +
                                std::string(name) +
                                "]: a job that waits in Sidekiq's set holds no key, and later ones pass it");
    }
    check_not_unique(source_.queue, source_.queue);
    for (const auto& map : source_.map) {
      const auto& queue = map.queue.empty() ? source_.queue : map.queue;
      check_not_unique(queue, map.kind.empty() ? queue : map.kind);
    }
  }

  // It would be claimed anew by the job that has it.
  void check_not_unique(const std::string& name, const std::string& kind) const {
    const auto* queue = config_.find(name);
    if (queue == nullptr || !options_of(*queue, kind).unique) return;
    refuse({"retries"}, "retries = \"sidekiq\" is not for jobs with a unique rule, as those of kind " +
                            in_quotes(kind) + " in [queue." + name +
                            "]: one that comes back from Sidekiq's set would be refused as its own double");
  }

  void check_conflict(const Path& keys, const QueueOptions& rules) const {
    if (!rules.unique) return;
    const auto conflict = rules.unique->on_conflict;
    if (conflict == OnConflict::replace || conflict == OnConflict::merge || conflict == OnConflict::debounce)
      refuse(keys, "queue " + in_quotes(rules.name) +
                       " has a unique rule whose on_conflict changes the job that is there; for jobs of a "
                       "source it takes reject, ignore or throttle");
  }

  void check_map(std::size_t i) const {
    const auto& map = source_.map[i];
    const Path place{"map", std::to_string(i)};
    if (map.class_name.empty()) refuse(place, "map: class is missing");
    const auto what = "map of class " + in_quotes(map.class_name) + ": ";
    if (!map.queue.empty()) check_queue(place, what + "queue", map.queue);
    if (map.kind.size() > kLongestKind) refuse(place, what + "kind has over 255 bytes");
    const std::array<std::pair<const char*, const std::string*>, 5> pointers = {{{"id", &map.id},
                                                                                 {"key", &map.key},
                                                                                 {"score", &map.score},
                                                                                 {"lock", &map.lock},
                                                                                 {"unique", &map.unique}}};
    for (const auto& [name, pointer] : pointers) {
      if (!is_json_pointer(*pointer))
        refuse(place, what + name + " is " + in_quotes(*pointer) +
                          "; it takes a JSON pointer into the arguments, like \"/0\"");
    }
    check_unique(map, place, what);
  }

  void check_unique(const SourceMap& map, const Path& place, const std::string& what) const {
    const auto& queue = map.queue.empty() ? source_.queue : map.queue;
    const auto rules = options_of(*config_.find(queue), map.kind.empty() ? queue : map.kind);
    if (!map.unique.empty() && !rules.unique)
      refuse(place, what + "unique needs a rule: give [queue." + queue + "] unique");
    check_conflict(place, rules);
  }

  const Config& config_;
  const SourceOptions& source_;
};

}  // namespace

void validate_sources(const Config& config) {
  std::set<std::string_view> names;
  for (const auto& source : config.sources) {
    SourceCheck(config, source).run();
    if (!names.insert(source.name).second)
      throw InvalidOption({"source", source.name}, "source " + in_quotes(source.name), "is there twice");
  }
  if (config.sources.size() > kMostSources)
    throw InvalidOption({"source"}, "config", "has more than 100 sources");
}

}  // namespace ordo::domain
