#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/options.hpp>
#include <ordo/worker.hpp>

namespace ordo {

/// The workers that a program has added, by queue and kind.
class WorkerTable {
 public:
  /// A queue that `config` does not name is added to it, with the defaults. Throws Error{invalid_argument}
  /// for a second worker of the same kind or a bad name.
  void add(Config& config, std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind);

  /// Its kinds that are to run by its library have the worker of the queue's own kind, where that has none
  /// for them.
  void inherit(const QueueOptions& queue);

  bool serves(std::string_view queue) const;
  bool has(std::string_view queue, std::string_view kind) const {
    return workers_.contains({std::string(queue), std::string(kind)});
  }
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Worker>> all() const { return workers_; }
  /// Those of one queue, by kind.
  std::map<std::string, std::shared_ptr<Worker>> of(std::string_view queue) const;
  /// From now on these are its workers, by kind. Returns those before.
  std::vector<std::shared_ptr<Worker>> replace(const std::string& queue,
                                               const std::map<std::string, std::shared_ptr<Worker>>& workers);
  std::size_t size() const { return workers_.size(); }

 private:
  std::set<std::string> named_;  // queues of the config
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Worker>> workers_;
};

}  // namespace ordo
