#include "server/worker_table.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/shorten.h"
#include "domain/new_job.h"

namespace ordo {

void WorkerTable::add(Config& config, std::string_view queue, std::unique_ptr<Worker> worker,
                      std::string_view kind) {
  check_queue_name(queue);
  if (!worker)
    throw Error(ErrorKind::invalid_argument,
                "Server::add(\"" + name_in_message(queue) + "\") needs a worker");
  const std::string name(queue), own_kind(kind.empty() ? queue : kind);
  if (own_kind.size() > 255) throw Error(ErrorKind::invalid_argument, "a kind has at most 255 bytes");
  if (named_.empty()) {
    for (const auto& known : config.queues) named_.insert(known.name);
  }
  if (named_.insert(name).second) config.queues.push_back(QueueOptions{.name = name});
  if (!workers_.emplace(std::pair(name, own_kind), std::move(worker)).second) {
    throw Error(ErrorKind::invalid_argument, "queue " + in_quotes(name) + " has a worker of kind " +
                                                 in_quotes(own_kind) +
                                                 " already; give the second another kind");
  }
}

void WorkerTable::inherit(const QueueOptions& queue) {
  const auto own = workers_.find({queue.name, queue.name});
  if (own == workers_.end()) return;
  for (const auto& kind : queue.kinds) {
    if (!options_of(queue, kind.kind).execution.library.empty() && kind.execution.library.empty())
      workers_.emplace(std::pair(queue.name, kind.kind), own->second);
  }
}

bool WorkerTable::serves(std::string_view queue) const {
  const auto first = workers_.lower_bound({std::string(queue), ""});
  return first != workers_.end() && first->first.first == queue;
}

std::map<std::string, std::shared_ptr<Worker>> WorkerTable::of(std::string_view queue) const {
  std::map<std::string, std::shared_ptr<Worker>> workers;
  for (auto at = workers_.lower_bound({std::string(queue), ""}); at != workers_.end(); ++at) {
    if (at->first.first != queue) break;
    workers[at->first.second] = at->second;
  }
  return workers;
}

std::vector<std::shared_ptr<Worker>> WorkerTable::replace(
    const std::string& queue, const std::map<std::string, std::shared_ptr<Worker>>& workers) {
  std::vector<std::shared_ptr<Worker>> before;
  for (const auto& [kind, worker] : of(queue)) {
    before.push_back(worker);
    workers_.erase({queue, kind});
  }
  for (const auto& [kind, worker] : workers) workers_[{queue, kind}] = worker;
  if (!named_.empty()) named_.insert(queue);
  return before;
}

}  // namespace ordo
