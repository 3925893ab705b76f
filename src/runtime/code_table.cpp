#include "runtime/code_table.h"

#include <algorithm>

namespace ordo::runtime {

void CodeTable::add(ServedQueue& queue, const std::string& kind, Worker* worker, std::size_t threads) {
  codes_[{queue.options.name, kind}] = {&queue, kind, worker, threads};
}

Code* CodeTable::find(const std::string& queue, const std::string& kind) {
  const auto code = codes_.find({queue, kind});
  return code == codes_.end() ? nullptr : &code->second;
}

void CodeTable::started(Code& code) {
  ++code.runs;
  if (!code.limit.is_limited()) return;
  code.limit.started(scope_.steady(), code.runs);
  limit_changed(code);
}

void CodeTable::ended(Code& code) {
  --code.runs;
  if (code.limit.is_limited()) limit_changed(code);
}

void CodeTable::could_not_start(Code& code, const std::vector<Outcome>& outcomes) {
  const bool is_news = code.limit.failed(scope_.steady(), code.runs);
  limit_changed(code);
  if (!is_news) return;
  const std::string& why = std::ranges::find_if(outcomes, &Outcome::is_not_started)->text;
  scope_.say(LogLevel::error,
             "runs of kind '" + code.kind + "' of queue '" + code.queue->options.name +
                 "' cannot be started on this node: " + why.substr(0, why.find('\n')) +
                 "; their jobs are put back and run on nodes that can, and it is tried again, at least "
                 "every 30 s");
}

void CodeTable::look() {
  const auto steady = scope_.steady();
  if (steady < next_look_) return;
  next_look_ = Duration::max();
  for (auto& [name, code] : codes_) {
    const bool is_well = code.limit.look(steady, code.threads);
    if (is_well) {
      scope_.say(LogLevel::info,
                 "runs of kind '" + name.second + "' of queue '" + name.first + "' start again");
    }
    limit_changed(code);
  }
}

void CodeTable::limit_changed(Code& code) {
  next_look_ = std::min(next_look_, code.limit.next());
  const auto& queue = code.queue->options.name;
  if (code.limit.admits(code.runs)) {
    changes_ += code.queue->full.erase(code.kind);
  } else {
    changes_ += code.queue->full.insert(code.kind).second;
  }
  if (code.limit.is_absent()) {
    unable_.emplace(queue, code.kind);
  } else {
    unable_.erase({queue, code.kind});
  }
}

bool CodeTable::set_elsewhere(std::set<std::pair<std::string, std::string>> kinds) {
  if (kinds == elsewhere_) return false;
  elsewhere_ = std::move(kinds);
  return true;
}

// Of a node whose facts cannot be read it is not known what it runs.
bool CodeTable::is_elsewhere(const std::string& queue, const std::string& kind) const {
  if (codes_.contains({queue, kind})) return false;
  return elsewhere_.contains({queue, kind}) || elsewhere_.contains({queue, std::string{}});
}

}  // namespace ordo::runtime
