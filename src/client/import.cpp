// All jobs of a Sidekiq, Verk, Resque or Lowkiq that runs no more. What a source does once, for everything
// that is there.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/fnv.h"
#include "base/shorten.h"
#include "client/admin_impl.h"
#include "domain/source_row.h"
#include "sources/lowkiq/origin.h"
#include "sources/sidekiq/look.h"
#include "sources/sidekiq/source.h"

namespace ordo {
namespace {

using sources::SidekiqOrigin;

/// What is imported, and from where.
struct Import {
  SourceOptions from;
  std::unique_ptr<SidekiqOrigin> origin;
};

/// Its place in the store: another server is another import.
std::string name_of(const SourceOptions& from, std::string_view worker = {}) {
  return fmt::format("import-{:016x}", fnv1a(sources::origin_name(from) + std::string(worker)));
}

ImportCounts counts_of(const SidekiqOrigin::Left& left) {
  return {left.waiting, left.scheduled, left.retrying, left.dead};
}

Import import_of(SourceOptions from) {
  from.name = name_of(from);
  from.ahead = std::numeric_limits<std::uint64_t>::max();  // it takes all, and no node may be there to run it
  from.mirror_dead = false;
  auto origin = std::make_unique<SidekiqOrigin>(from, SidekiqOrigin::Mode::everything);
  return {std::move(from), std::move(origin)};
}

Import import_of(const LowkiqImport& lowkiq, store::Store& store) {
  SourceOptions from;
  from.url = lowkiq.url;
  from.queue = lowkiq.queue;
  from.ahead = std::numeric_limits<std::uint64_t>::max();
  from.name = name_of(from, " " + lowkiq.worker);
  auto origin = std::make_unique<sources::LowkiqOrigin>(from, lowkiq.worker);
  const bool is_there = !lowkiq.worker.empty() && (counts_of(origin->find_all()).all() > 0 ||
                                                   store.wait_row(domain::kSourceRows, from.name));
  if (!is_there) {
    const auto there = sources::lowkiq_queues(from);
    std::string names;
    for (const auto& name : there) names += (names.empty() ? "" : ", ") + in_quotes(name);
    throw Error(ErrorKind::invalid_argument,
                fmt::format("cannot import from Lowkiq: {} has no jobs of worker {}{}", origin->name(),
                            in_quotes(lowkiq.worker), names.empty() ? "" : "; it has those of " + names));
  }
  return {std::move(from), std::move(origin)};
}

using Progress = std::function<void(std::uint64_t found, std::uint64_t left)>;

ImportResult import_all(StoreHandle& handle, Import import, const Progress& progress) {
  auto config = handle.config();
  config.sources = {import.from};
  config.sources.front().queues = {"all"};               // which are found below
  config.sources.front().ahead = SourceOptions{}.ahead;  // that of an import is above its bound
  validate(config);
  const auto poll = config.node.poll_interval;
  sources::SidekiqSource source(handle.store(), handle.clock(), std::move(config), import.from, poll, {},
                                std::move(import.origin));
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

}  // namespace

ImportCounts Admin::Impl::importable(const SourceOptions& from) {
  return counts_of(import_of(from).origin->find_all());
}

ImportCounts Admin::Impl::importable(const LowkiqImport& from) {
  return counts_of(import_of(from, handle_->store()).origin->find_all());
}

ImportResult Admin::Impl::import_jobs(const SourceOptions& from, const Progress& progress) {
  return import_all(*handle_, import_of(from), progress);
}

// The dead come as jobs that are killed at once. Beside one of their id that runs they would be left to run.
ImportResult Admin::Impl::import_jobs(const LowkiqImport& from, const Progress& progress) {
  for (const auto& node : nodes()) {
    if (!node.alive || std::ranges::find(node.queues, from.queue) == node.queues.end()) continue;
    throw Error(ErrorKind::conflict,
                fmt::format("cannot import into queue {}: node {} serves it; stop the nodes that do first",
                            in_quotes(from.queue), node.id));
  }
  return import_all(*handle_, import_of(from, handle_->store()), progress);
}

}  // namespace ordo
