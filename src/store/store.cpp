#include "store/store.h"

#include <algorithm>

#include "base/time_text.h"

namespace ordo::store {

const QueueDefinition* QueueList::find(std::string_view name) const {
  const auto found = std::find_if(queues.begin(), queues.end(),
                                  [&](const QueueDefinition& queue) { return queue.name == name; });
  return found == queues.end() ? nullptr : &*found;
}

std::map<std::string_view, const QueueDefinition*> QueueList::by_name() const {
  std::map<std::string_view, const QueueDefinition*> known;
  for (const auto& queue : queues) known.emplace(queue.name, &queue);
  return known;
}

Time Store::believed_now() {
  const auto excess = this->excess();  // before the time: a leap between the two is believed by neither
  return time_after(now(), -excess);
}

}  // namespace ordo::store
