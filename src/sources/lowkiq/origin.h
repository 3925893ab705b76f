#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sources/sidekiq/origin.h"

namespace ordo::sources {

/// The keys of a Lowkiq queue that no worker or producer uses any more, for an import: first the dead, then
/// what was in progress, then what waits. Belongs to one thread.
class LowkiqOrigin final : public SidekiqOrigin {
 public:
  /// Throws Error{invalid_argument}.
  LowkiqOrigin(const SourceOptions& source, const std::string& worker);

  std::size_t take_due(std::uint64_t room) override;
  std::vector<MappedJob> map(const Config& config, const Taken& taken) const override;
  Left find_all() override;

  static constexpr std::string_view kDead = "lowkiq-dead";
  static constexpr std::string_view kWaiting = "lowkiq";

 private:
  struct Place {
    std::string_view set;
    std::string ids;  ///< lists them
    std::string payloads, times, retries, errors;
    std::vector<std::string> more{};  ///< lists them, too
  };

  const std::vector<Place>& places();
  std::size_t take_from(const Place& place);

  const std::string prefix_;
  std::vector<Place> places_;  // looked for once: each job has a key of its own to be passed over
};

/// The names of the queues that have jobs there. Throws Error{invalid_argument}; Error{unavailable}.
std::vector<std::string> lowkiq_queues(const SourceOptions& source);

}  // namespace ordo::sources
