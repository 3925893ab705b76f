#include <ordo/options.hpp>

#include <algorithm>

namespace ordo {

QueueOptions options_of(const QueueOptions& queue, std::string_view kind) {
  QueueOptions options = queue;
  options.kinds.clear();
  const auto own = std::ranges::find(queue.kinds, kind, &KindOptions::kind);
  if (own == queue.kinds.end()) {
    if (kind != queue.name) options.execution = {};
    return options;
  }

  if (!own->execution.command.empty() || !own->execution.library.empty()) options.execution = own->execution;
  if (own->batch_size) options.batch_size = *own->batch_size;
  if (own->max_retries) options.max_retries = *own->max_retries;
  if (own->max_crashes) options.max_crashes = *own->max_crashes;
  if (own->timeout) options.timeout = *own->timeout;
  if (own->payloads) options.payloads = *own->payloads;
  if (own->equal_payloads) options.equal_payloads = own->equal_payloads;
  if (own->retry) options.retry = *own->retry;
  if (own->windows) options.windows = *own->windows;
  if (own->finish_by) options.finish_by = *own->finish_by;
  if (own->min_remaining) options.min_remaining = *own->min_remaining;
  if (own->expires) options.expires = own->expires;
  if (own->on_expire) options.on_expire = *own->on_expire;
  if (own->weight) options.weight = *own->weight;
  if (own->lock) options.lock = *own->lock;
  if (own->unique) options.unique = own->unique;
  if (own->keep) options.keep = *own->keep;
  if (own->keep_payloads) options.keep_payloads = *own->keep_payloads;
  return options;
}

}  // namespace ordo
