#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "domain/job.h"
#include "domain/kind_table.h"
#include "domain/lent.h"

namespace ordo::domain {

/// A run that a node other than the shard's owner executes.
struct Lending {
  LentName name;
  std::string node;
  std::uint64_t session = 0;
  std::uint64_t fence = 0;
  bool stop = false;   ///< it is to be asked to stop
  bool going = false;  ///< it ran there before the shard left that node
  Duration timeout{};
  std::vector<std::uint32_t> places;  ///< of the run's jobs in the batch that was lent
  std::string fields;                 ///< kept for a version that knows them
};

/// A batch under way. Its jobs are `running`.
struct ActiveRun {
  std::vector<Job*> jobs;  ///< null: a lent one whose entries are not read yet
  Risk risk = Risk::normal;
  Time started{};
  Time charged{};        ///< when its starts were charged to rates
  bool shares = false;   ///< of a suspect: its mark is shared, or is about to be
  bool marking = false;  ///< it waits for the marks of its jobs to be durable
  bool freeing = false;  ///< it waits for unique rows of its jobs to be free, and is taken anew then
  bool told = false;     ///< watchers, of its start
  Seq response = 0;      ///< the entry of what its only job waited for, and now handles; 0: it performs
  std::optional<Lending> lent;
};

/// The runs of a shard, own and lent alike. Owns no jobs.
class RunTable {
 public:
  explicit RunTable(const KindTable& kinds) : kinds_(kinds) {}

  /// A new run without jobs.
  ActiveRun& open(Risk risk, Time now);
  /// The number open() gave last.
  RunNo last() const { return last_; }
  ActiveRun& at(RunNo no) { return runs_.at(no); }
  const ActiveRun& at(RunNo no) const { return runs_.at(no); }
  const ActiveRun* find(RunNo no) const;
  /// It is over.
  ActiveRun close(RunNo no);

  std::size_t size() const { return runs_.size(); }  ///< with those that are lent

  /// The run this job is in; none if it does not run.
  std::optional<RunNo> run_of(const Job& job) const;

  // --- those that are lent ---
  void lend(RunNo no, Lending lending);
  /// What an earlier owner lent: its jobs are filled in as their entries are read. Called before any open().
  RunNo restore(const LentRun& run);
  std::size_t lent() const { return lent_; }
  /// `risk`: only those.
  std::size_t lent_to(std::string_view node, std::optional<Risk> risk) const;
  std::optional<RunNo> find(const LentName& name) const;
  /// Suspects that were lent so long ago that they are not to run alone any more.
  std::vector<RunNo> lent_alone_since(Time time) const;
  /// As the shard's record lists them, by name.
  std::vector<LentRun> list_lent() const;

  /// Calls `visit(RunNo, ActiveRun&)` for all, in no order.
  template <class Visit>
  void each(Visit visit) {
    for (auto& [no, run] : runs_) visit(no, run);
  }
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [no, run] : runs_) visit(no, run);
  }

 private:
  const KindTable& kinds_;
  std::unordered_map<RunNo, ActiveRun> runs_;
  std::size_t lent_ = 0;
  std::size_t restored_ = 0;
  RunNo last_ = 0;
};

}  // namespace ordo::domain
