// All jobs of a queue, for who takes them away.
#include <algorithm>
#include <set>
#include <string>

#include <ordo/error.hpp>

#include "client/admin_impl.h"
#include "client/page_sizes.h"

namespace ordo {

// Shard by shard, in the order of starts in each: what has a key stays in order, and no more than a shard's
// jobs are in memory.
void Admin::Impl::export_jobs(std::string_view name, const JobFilter& filter,
                              const std::function<bool(JobView)>& visit) {
  const auto queue = handle_->existing_queue(name);
  if (!queue) return;
  const auto now = handle_->store().now();
  const ListOrder order({}, handle_->options(queue->name), now);
  auto gates = gates_of(*queue);
  const auto active = active_now(*queue, filter);
  std::set<store::ShardId> owned;
  bool goes_on = true;
  each_rebuilt(*queue, rebuild_for(*queue, filter), [&](const Rebuilt& rebuilt) {
    if (rebuilt.behind_newer > 0) {
      throw Error(ErrorKind::unsupported,
                  "cannot export queue '" + std::string(name) + "': in shard " +
                      std::to_string(rebuilt.id.index) +
                      " a newer version of Ordo has written what this one cannot read; export with that one");
    }
    std::vector<FittingJob> fitting;
    if (goes_on)
      domain::each_fitting(rebuilt.machine, filter, now, [&](const FittingJob& each) {
        if (!active.contains({rebuilt.id, each.job->arrival()})) fitting.push_back(each);
      });
    std::ranges::sort(fitting, [&](const FittingJob& a, const FittingJob& b) {
      return order.before(order.place_of(*a.job, 0), order.place_of(*b.job, 0));
    });
    for (std::size_t next = 0; next < fitting.size() && goes_on;) {
      std::vector<Listed> page;
      for (std::size_t payloads = 0; next < fitting.size() && payloads < kPayloadsAtOnce; ++next) {
        page.push_back(listed(*queue, rebuilt, fitting[next], now));
        payloads += page.back().entries.size();
      }
      show_payloads(page, gates, owned);
      for (auto& job : page) {
        if (goes_on && !job.view.payloads.empty()) goes_on = visit(std::move(job.view));
      }
    }
  });
  if (goes_on) check_not_moved(*queue, "export");
}

}  // namespace ordo
