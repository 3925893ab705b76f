#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "domain/job.h"

namespace ordo::domain {

/// Names a job within its line.
struct JobId {
  std::uint16_t kind;
  std::string_view id;
};

/// The jobs of one key, where there are several: who has the key, and who is next (rules: order).
struct Line {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const JobId& name) const noexcept {
      return std::hash<std::string_view>{}(name.id) * 31 + name.kind;
    }
    std::size_t operator()(const Job* job) const noexcept { return (*this)(JobId{job->kind, job->id()}); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Job* a, const Job* b) const noexcept { return a->is(b->kind, b->id()); }
    bool operator()(const JobId& a, const Job* b) const noexcept { return b->is(a.kind, a.id); }
    bool operator()(const Job* a, const JobId& b) const noexcept { return a->is(b.kind, b.id); }
  };

  explicit Line(DueBefore before) : parked(before) {}

  Job* front = nullptr;   ///< has the key: running, ending, held, or the one that may start next
  Job* active = nullptr;  ///< the running job, which takes no more payloads; the front, if anything
  std::set<Job*, DueBefore> parked;              ///< due, behind the front
  std::unordered_set<Job*, Hash, Equal> queued;  ///< all but the active one, by name

  std::size_t size() const { return queued.size() + (active != nullptr ? 1 : 0); }
  const Job& any() const { return active != nullptr ? *active : **queued.begin(); }
};

/// All jobs of a shard, by key: a key with a single job costs one pointer.
class KeyTable {
 public:
  explicit KeyTable(DueBefore before) : before_(before) {}
  ~KeyTable();
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  void reserve(std::size_t jobs) { slots_.reserve(jobs); }

  /// The queued job of that name: the one a push merges into.
  Job* find_queued(std::uint16_t kind, std::string_view id, std::string_view key) const;
  /// The job of that name that a run owns, or that awaits a response: not one that has ended, and waits for
  /// that to be durable.
  Job* find_running(std::uint16_t kind, std::string_view id, std::string_view key) const;

  /// Takes the job in. It is queued, and has no place yet.
  void insert(Job& job);
  /// Forgets a job that has left its place.
  void erase(Job& job);

  /// The line of a job that has others beside it (job.in_line).
  Line* line_of(const Job& job) const;

  /// Moves the job between the queued and the active ones of its key.
  void activate(Job& job);
  void deactivate(Job& job);

  /// Both of them, the running one first.
  std::vector<Job*> find_all(std::uint16_t kind, std::string_view id, std::string_view key) const;
  /// The same of all keys, in no order.
  /// The first call looks at all jobs, later ones do not.
  std::vector<Job*> find_all(std::uint16_t kind, std::string_view id);

  std::size_t size() const { return size_; }
  /// Of these, those that a run owns, that await a response, and that have ended.
  std::size_t active() const { return active_; }

  /// Calls `visit(Job&)` for every job, in no order.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto slot : slots_) each_of(slot, visit);
  }

  /// The same for those of the key, or of the id; for all where there is no other way to find them.
  template <class Visit>
  void each_named(std::string_view id, std::string_view key, Visit visit) const {
    if (!key.empty()) return each_of_key(key, visit);
    if (id.empty() || !finds_ids()) return each(visit);
    each_of_key(id, visit);
    if (!by_id_) return;
    const auto [first, last] = by_id_->equal_range(id);
    for (auto job = first; job != last; ++job) visit(**job);
  }
  /// How many that looks at.
  std::size_t looks_for(std::string_view id, std::string_view key) const {
    if (key.empty() && (id.empty() || !finds_ids())) return size_;
    const auto slot = slots_.find(key.empty() ? id : key);
    std::size_t looks = slot != slots_.end() && slot->line() != nullptr ? slot->line()->size() : 1;
    if (!key.empty() || !by_id_) return looks;
    const auto [first, last] = by_id_->equal_range(id);
    return looks + static_cast<std::size_t>(std::distance(first, last));
  }

 private:
  /// A job or a line, told apart by the lowest bit of the address.
  class Slot {
   public:
    explicit Slot(Job* job) : bits_(reinterpret_cast<std::uintptr_t>(job)) {}
    explicit Slot(Line* line) : bits_(reinterpret_cast<std::uintptr_t>(line) | 1) {}
    Line* line() const {
      return (bits_ & 1) != 0 ? reinterpret_cast<Line*>(bits_ & ~std::uintptr_t{1}) : nullptr;
    }
    Job* job() const { return (bits_ & 1) != 0 ? nullptr : reinterpret_cast<Job*>(bits_); }
    std::string_view key() const { return line() != nullptr ? line()->any().key() : job()->key(); }

   private:
    std::uintptr_t bits_;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
    std::size_t operator()(const Slot& slot) const noexcept { return (*this)(slot.key()); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const noexcept { return a.key() == b.key(); }
    bool operator()(std::string_view a, const Slot& b) const noexcept { return a == b.key(); }
    bool operator()(const Slot& a, std::string_view b) const noexcept { return a.key() == b; }
  };

  /// By id, whatever the key.
  struct ById {
    using is_transparent = void;
    bool operator()(const Job* a, const Job* b) const {
      return a->id() != b->id() ? a->id() < b->id() : std::less<>{}(a, b);
    }
    bool operator()(std::string_view a, const Job* b) const { return a < b->id(); }
    bool operator()(const Job* a, std::string_view b) const { return a->id() < b; }
  };

  bool finds_ids() const { return keyed_ == 0 || by_id_.has_value(); }
  template <class Visit>
  void each_of_key(std::string_view key, Visit visit) const {
    const auto slot = slots_.find(key);
    if (slot != slots_.end()) each_of(*slot, visit);
  }
  template <class Visit>
  void each_of(const Slot& slot, Visit visit) const {
    if (const Line* line = slot.line()) {
      if (line->active != nullptr) visit(*line->active);
      for (Job* job : line->queued) visit(*job);
    } else {
      visit(*slot.job());
    }
  }

  DueBefore before_;
  std::size_t size_ = 0, active_ = 0;
  std::size_t keyed_ = 0;  // jobs with a key that is not their id
  /// Those, once somebody has asked for jobs of any key.
  std::optional<std::set<Job*, ById>> by_id_;
  boost::unordered_flat_set<Slot, Hash, Equal> slots_;
};

}  // namespace ordo::domain
