#include "client/store_handle.h"

#include <algorithm>
#include <utility>

#include <ordo/error.hpp>

#include "base/nearest.h"
#include "domain/new_job.h"
#include "domain/option_bounds.h"
#include "store/odd_rows.h"

namespace ordo {

StoreHandle::StoreHandle(Config config, Clock& clock, store::Missing missing)
    : StoreHandle(config, clock, [&] {
        validate(config);
        refuse_in_callback("opening a store");
        return store::open_shared(config.store, clock, missing);
      }()) {}

StoreHandle::StoreHandle(Config config, Clock& clock, std::shared_ptr<store::Store> store)
    : clock_(clock), store_(std::move(store)), random_(Random::from_system()) {
  change(std::move(config));
}

std::shared_ptr<StoreHandle> StoreHandle::reopened() const {
  try {
    return std::make_shared<StoreHandle>(config(), clock_, store::Missing::refused);
  } catch (const Error& error) {
    throw Error(
        error.kind(),
        "the database was deleted or replaced while it was in use; nothing more is written to it, and "
        "what is there now cannot be opened: " +
            std::string(error.what()));
  }
}

StoreHandle::Rules::Rules(Config of) : config(std::move(of)) {
  for (const auto& queue : config.queues) options.emplace(queue.name, &queue);
}

void StoreHandle::change(Config config) {
  const std::lock_guard lock(mutex_);
  rules_.push_back(std::make_unique<const Rules>(std::move(config)));
  now_ = rules_.back().get();
}

StoreHandle::~StoreHandle() {
  if (is_of_parent()) {
    new std::shared_ptr<store::Store>(
        std::move(store_));  // its threads are in the parent: it is left as it is
  } else {
    drop_outside_callback(std::move(store_));
  }
}

void StoreHandle::check_process() const {
  if (!is_of_parent()) return;
  throw Error(ErrorKind::invalid_argument,
              "this process was forked from the one that opened the store: open it anew after the fork");
}

const QueueOptions* StoreHandle::options(std::string_view queue) const {
  const auto& options = now_.load()->options;
  const auto found = options.find(queue);
  return found == options.end() ? nullptr : found->second;
}

std::optional<store::QueueDefinition> StoreHandle::existing_queue(std::string_view name) {
  const auto list = store().queues();
  const auto* found = list.find(name);
  if (found == nullptr) {
    if (options(name) == nullptr) unknown(name, list);
    return std::nullopt;
  }
  return *found;
}

store::QueueDefinition StoreHandle::queue(std::string_view name) {
  // What is there is not written again: a full disk must not stand in the way of what makes room.
  if (auto there = existing_queue(name)) return *std::move(there);
  auto made = store().define(name, options(name)->shards.value_or(QueueOptions::kDefaultShards));
  if (!store::is_definition(made)) throw Error(ErrorKind::corrupt, store::odd_definition(name));
  return made;
}

store::QueueDefinition StoreHandle::open_queue(std::string_view name) {
  auto definition = queue(name);
  if (!definition.closed) return definition;
  const auto log = store().open_log();
  const auto began = clock_.steady();
  while (definition.closed) {
    if (clock_.steady() - began >= kReshardPatience) throw still_closed(name);
    log->wait(kReshardLook);
    log->read(1);
    definition = queue(name);
  }
  return definition;
}

void StoreHandle::until_done(std::string_view name,
                             const std::function<bool(const store::QueueDefinition&)>& act) {
  for (const auto began = clock_.steady();;) {
    const auto queue = open_queue(name);
    try {
      if (act(queue) || !is_moved(queue)) return;
    } catch (const Error& error) {
      const bool may_be_moved =
          error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::unavailable;
      const bool is_late = clock_.steady() - began >= kReshardPatience;
      if (!may_be_moved || is_late || !is_moved(queue)) throw;
    }
  }
}

bool StoreHandle::is_moved(const store::QueueDefinition& queue) {
  const auto list = store().queues();
  const auto* now = list.find(queue.name);
  return now != nullptr && (now->closed || now->number != queue.number);
}

Error still_closed(std::string_view queue) {
  return Error(
      ErrorKind::unavailable,
      "queue '" + std::string(queue) +
          "' is being resharded and has taken nothing for more than 30 s; nothing was stored; if `ordo "
          "reshard` was stopped, run it again");
}

void StoreHandle::unknown(std::string_view name, const store::QueueList& list) const {
  check_queue_name(name);
  std::vector<std::string> names;
  for (const auto& queue : config().queues) names.push_back(queue.name);
  for (const auto& queue : list.queues) {
    if (queue.is_hidden()) continue;
    if (std::find(names.begin(), names.end(), queue.name) == names.end()) names.push_back(queue.name);
  }
  throw Error(ErrorKind::invalid_argument,
              "there is no queue '" + std::string(name) + "' in the config or the store; " +
                  nearest_hint(name, names) +
                  (names.empty() ? "add [queue." + std::string(name) + "] to the config" : ""));
}

std::string StoreHandle::new_id() {
  const auto ms = clock_.wall().time_since_epoch().count() / 1000;
  const std::lock_guard lock(mutex_);
  return make_ulid(ms, random_);
}

}  // namespace ordo
