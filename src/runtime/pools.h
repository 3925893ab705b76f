#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/pool.h"

namespace ordo::runtime {

/// The pools of a node, as its engine sees them.
class Pools final : public RunSink {
 public:
  explicit Pools(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  /// Before anything is submitted: the engine that has the inbox knows them already.
  void start(Inbox& inbox, Clock& clock, const Performer& perform) {
    for (const auto size : sizes_) pools_.push_back(std::make_unique<Pool>(size, inbox, clock, perform));
  }
  /// Waits for the runs that go on.
  void end() { pools_.clear(); }
  /// How many of them execute something.
  std::size_t busy() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(pools_, [](const auto& pool) { return pool && !pool->idle(); }));
  }

  /// On the engine's thread; the number of the pool.
  std::size_t add(std::unique_ptr<Pool> pool) {
    std::size_t number = 1;  // the first is the node's
    while (number < pools_.size() && pools_[number]) ++number;
    pools_.resize(std::max(pools_.size(), number + 1));
    sizes_.resize(pools_.size());
    sizes_[number] = pool->threads();
    pools_[number] = std::move(pool);
    return number;
  }
  void close(std::size_t pool) override {
    sizes_[pool] = 0;
    pools_[pool].reset();
  }

  void look(std::size_t pool, std::vector<std::size_t>& room) const override {
    room.clear();
    if (pools_[pool]) pools_[pool]->look(room);
  }
  std::size_t threads(std::size_t pool) const override { return sizes_[pool]; }
  void submit(std::size_t pool, int thread, std::vector<Assignment> runs) override {
    pools_[pool]->submit(thread, std::move(runs));
  }
  std::vector<RunName> recall(std::size_t pool,
                              const std::function<bool(const Assignment&)>& which) override {
    return pools_[pool] ? pools_[pool]->recall(which) : std::vector<RunName>{};
  }
  std::vector<RunName> recall_overdue(std::size_t pool) override {
    return pools_[pool] ? pools_[pool]->recall_overdue() : std::vector<RunName>{};
  }
  Duration overdue_in(std::size_t pool) const override {
    return pools_[pool] ? pools_[pool]->overdue_in() : Duration::max();
  }

 private:
  std::vector<std::size_t> sizes_;
  std::vector<std::unique_ptr<Pool>> pools_;
};

}  // namespace ordo::runtime
