#include "domain/run_table.h"

#include <algorithm>

#include "base/assert.h"

namespace ordo::domain {
namespace {

constexpr RunNo kRestored = RunNo{1} << 63;  // numbers for what others lent, apart from those of open()

LentRun listed(const ActiveRun& active, const std::string& kind) {
  const auto& lent = *active.lent;
  LentRun run;
  run.name = lent.name;
  run.node = lent.node;
  run.session = lent.session;
  run.fence = lent.fence;
  run.stop = lent.stop;
  run.going = lent.going;
  run.shares = active.shares;
  run.risk = static_cast<std::uint8_t>(active.risk);
  run.kind = kind;
  run.timeout = lent.timeout;
  run.started = active.started;
  run.fields = lent.fields;
  run.response = active.response;
  for (std::size_t i = 0; i < active.jobs.size(); ++i) {
    const Job& job = *active.jobs[i];
    auto& entry = run.jobs.emplace_back();
    entry.retry_count = job.retry_count();
    entry.place = lent.places[i];
    for (const auto& piece : job.payloads.pieces()) entry.pieces.emplace_back(piece.seq, piece.score);
  }
  return run;
}

}  // namespace

ActiveRun& RunTable::open(Risk risk, Time now) {
  auto& run = runs_[++last_];
  run.risk = risk;
  run.started = run.charged = now;
  return run;
}

const ActiveRun* RunTable::find(RunNo no) const {
  const auto found = runs_.find(no);
  return found == runs_.end() ? nullptr : &found->second;
}

ActiveRun RunTable::close(RunNo no) {
  auto node = runs_.extract(no);
  ORDO_ASSERT(!node.empty());
  if (node.mapped().lent) --lent_;
  return std::move(node.mapped());
}

std::optional<RunNo> RunTable::run_of(const Job& job) const {
  const auto found = std::ranges::find_if(runs_, [&](const auto& run) {
    return std::ranges::find(run.second.jobs, &job) != run.second.jobs.end();
  });
  return found == runs_.end() ? std::nullopt : std::optional(found->first);
}

void RunTable::lend(RunNo no, Lending lending) {
  runs_.at(no).lent = std::move(lending);
  ++lent_;
}

RunNo RunTable::restore(const LentRun& run) {
  const RunNo no = kRestored + ++restored_;
  auto& active = runs_[no];
  active.risk = static_cast<Risk>(run.risk);
  active.shares = run.shares;
  active.started = run.started;
  active.told = true;
  active.response = run.response;
  active.jobs.resize(run.jobs.size());
  Lending lending{run.name,  run.node,    run.session, run.fence, run.stop,
                  run.going, run.timeout, {},          run.fields};
  for (const auto& job : run.jobs) lending.places.push_back(job.place);
  lend(no, std::move(lending));
  return no;
}

std::size_t RunTable::lent_to(std::string_view node, std::optional<Risk> risk) const {
  if (lent_ == 0) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(runs_, [&](const auto& run) {
    const auto& active = run.second;
    return active.lent && active.lent->node == node && (!risk || active.risk == *risk);
  }));
}

std::optional<RunNo> RunTable::find(const LentName& name) const {
  const auto found = std::ranges::find_if(
      runs_, [&](const auto& run) { return run.second.lent && run.second.lent->name == name; });
  return found == runs_.end() ? std::nullopt : std::optional(found->first);
}

std::vector<RunNo> RunTable::lent_alone_since(Time time) const {
  std::vector<RunNo> list;
  if (lent_ == 0) return list;
  for (const auto& [no, active] : runs_) {
    const bool is_alone = active.lent && active.risk == Risk::suspect && !active.shares;
    if (is_alone && active.started <= time) list.push_back(no);
  }
  std::ranges::sort(list);
  return list;
}

std::vector<LentRun> RunTable::list_lent() const {
  std::vector<LentRun> list;
  if (lent_ == 0) return list;
  for (const auto& [no, active] : runs_) {
    if (active.lent) list.push_back(listed(active, kinds_[active.jobs.front()->kind].name));
  }
  std::ranges::sort(list, {}, &LentRun::name);
  return list;
}

}  // namespace ordo::domain
