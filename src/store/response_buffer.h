#pragma once

#include <string>

#include "domain/response_buffer.h"
#include "store/store.h"

// What a queue keeps of responses that nobody waits for yet, counted before it is kept: so a crash between
// the two counts one too many, until its time is over, and never one too few. A row by that time names its
// key, for who looks for what has become a dead letter (store/dead_letters.h).
namespace ordo::store {

/// False: the queue keeps as many as it may, and nothing has changed. Throws as the store does.
bool count_in(Store& store, const std::string& queue, const std::string& key,
              const domain::Buffered& response, Duration ttl, const domain::BufferBounds& bounds);

/// It is not kept, or not any more.
void count_out(Store& store, const std::string& queue, const std::string& key,
               const domain::Buffered& response);

}  // namespace ordo::store
