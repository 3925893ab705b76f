#include "runtime/code_table.h"

#include <algorithm>

#include "execute/command_worker.h"

namespace ordo::runtime {

void CodeTable::add(ServedQueue& queue, const std::string& kind, Worker* worker, std::size_t threads) {
  auto& code = codes_[{queue.options.name, kind}];
  code = std::make_unique<Code>(Code{.queue = &queue, .kind = kind, .worker = worker, .threads = threads});
  ++changes_;
  auto why = execute::why_no_program(worker);
  if (!why) return;
  code->why = *std::move(why);
  code->limit.failed(scope_.steady(), 0);
  limit_changed(*code);
}

std::vector<CannotStart> CodeTable::unable() const {
  std::vector<CannotStart> all;
  for (const auto& [name, code] : codes_) {
    if (code->is_unable) all.push_back({name.first, name.second, code->why});
  }
  return all;
}

void CodeTable::leave(const ServedQueue& queue) {
  const auto first = codes_.lower_bound({queue.options.name, std::string{}});
  auto last = first;
  for (; last != codes_.end() && last->first.first == queue.options.name; ++last) {
    last->second->has_left = true;
    left_.push_back(std::move(last->second));
  }
  codes_.erase(first, last);
  ++changes_;
}

void CodeTable::forget(const ServedQueue& queue) {
  std::erase_if(left_, [&](const auto& code) { return code->queue == &queue; });
}

Code* CodeTable::find(const std::string& queue, const std::string& kind) {
  const auto code = codes_.find({queue, kind});
  return code == codes_.end() ? nullptr : code->second.get();
}

void CodeTable::started(Code& code) {
  ++code.runs;
  if (!code.limit.is_limited()) return;
  code.limit.started(scope_.steady(), code.runs);
  limit_changed(code);
}

void CodeTable::ended(Code& code) {
  --code.runs;
  if (code.limit.is_limited() && !code.has_left) limit_changed(code);
}

void CodeTable::could_not_start(Code& code, const std::vector<Outcome>& outcomes) {
  if (code.has_left) return;
  const std::string& why = std::ranges::find_if(outcomes, &Outcome::is_not_started)->text;
  code.why = why.substr(0, why.find('\n'));
  const bool is_news = code.limit.failed(scope_.steady(), code.runs);
  limit_changed(code);
  if (!is_news) return;
  LogLine line{.level = LogLevel::error, .queue = code.queue->options.name, .kind = code.kind};
  line.error = code.why;
  line.message = "runs of kind '" + code.kind + "' of queue '" + line.queue +
                 "' cannot be started on this node: " + line.error +
                 "; their jobs are put back and run on nodes that can, and it is tried again, at least "
                 "every 30 s";
  scope_.say(line);
}

void CodeTable::look() {
  const auto steady = scope_.steady();
  if (steady < next_look_) return;
  next_look_ = Duration::max();
  for (auto& [name, code] : codes_) {
    const bool is_well = code->limit.look(steady, code->threads);
    if (is_well) {
      scope_.say(LogLevel::info,
                 "runs of kind '" + name.second + "' of queue '" + name.first + "' start again");
    }
    limit_changed(*code);
  }
}

void CodeTable::limit_changed(Code& code) {
  next_look_ = std::min(next_look_, code.limit.next());
  if (code.limit.admits(code.runs)) {
    changes_ += code.queue->full.erase(code.kind);
  } else {
    changes_ += code.queue->full.insert(code.kind).second;
  }
  // Where one is tried, it may fail as well: only once two may run has the first of them started.
  if (code.limit.is_absent()) {
    code.is_unable = true;
  } else if (!code.limit.is_limited() || code.limit.admits(1)) {
    code.is_unable = false;
  }
}

}  // namespace ordo::runtime
