// All jobs of a Sidekiq, Verk or Resque that runs no more. What a source does once, for everything that is
// there.
#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/fnv.h"
#include "client/admin_impl.h"
#include "sources/sidekiq/look.h"
#include "sources/sidekiq/source.h"

namespace ordo {
namespace {

using sources::SidekiqOrigin;

/// Its place in the store: another server is another import.
SourceOptions import_of(SourceOptions from) {
  from.name = fmt::format("import-{:016x}", fnv1a(sources::origin_name(from)));
  return from;
}

ImportCounts counts_of(const SidekiqOrigin::Left& left) {
  return {left.waiting, left.scheduled, left.retrying, left.dead};
}

}  // namespace

ImportCounts Admin::Impl::importable(SourceOptions from) {
  SidekiqOrigin origin(import_of(std::move(from)), SidekiqOrigin::Mode::everything);
  return counts_of(origin.find_all());
}

ImportResult Admin::Impl::import_jobs(
    SourceOptions from, const std::function<void(std::uint64_t found, std::uint64_t left)>& progress) {
  from = import_of(std::move(from));
  auto config = handle_->config();
  config.sources = {from};
  config.sources.front().queues = {"all"};  // which are found below
  validate(config);
  const auto poll = config.node.poll_interval;
  sources::SidekiqSource source(handle_->store(), handle_->clock(), std::move(config), from, poll, {},
                                SidekiqOrigin::Mode::everything);
  const auto found = counts_of(source.find_all()).all();
  for (auto left = found; left > 0;) {
    if (progress) progress(found, left);
    const auto delay = source.tick();
    left = counts_of(source.find_all()).all();
    if (left > 0 && delay > Duration{0}) source.wait(delay);
  }
  ImportResult result{source.row().taken, source.row().refused};
  source.finish();
  return result;
}

}  // namespace ordo
