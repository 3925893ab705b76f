#include <ordo/options.hpp>

#include <algorithm>

#include "domain/option_table.h"

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
  domain::each_shared_option(
      [&](const auto& /*option*/, auto of_queue, auto of_kind, const auto& /*values*/) {
        if ((*own).*of_kind) options.*of_queue = *((*own).*of_kind);
      });
  return options;
}

}  // namespace ordo
