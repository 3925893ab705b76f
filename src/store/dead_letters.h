#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "domain/dead_letters.h"
#include "store/store.h"

// Responses that nobody will handle, on every store (domain/dead_letters.h). Nobody has to come for those
// whose time ends: they are dead letters where they are, and whoever comes to one of the queue later brings
// some of them to the list. All of it throws as the store does.
namespace ordo::store {

/// Keeps it, once. Returns when it is durable.
void keep_letter(Store& store, const std::string& queue, const DeadLetter& letter,
                 const domain::LetterBounds& bounds = {});

/// The response that the row of the key keeps goes to the list, if its time is over, and the row goes.
void retire_expired(Store& store, const std::string& queue, const std::string& key);
/// Some of those whose time is over.
void retire_some(Store& store, const std::string& queue);

/// Those of the queue, by the times at which they became such. `visit` returns false to stop.
void each_letter(Store& store, const std::string& queue, const std::function<bool(DeadLetter)>& visit);

/// To be said before the first response of a queue is kept.
void may_have_letters(Store& store, const std::string& queue);
bool is_said_to_have_letters(Store& store, const std::string& queue);
/// How many there are in the queues that `counts` names. Other queues cost nothing, nor does one that never
/// had a response that nobody waited for.
std::map<std::string, std::uint64_t> count_letters(Store& store,
                                                   const std::function<bool(const std::string&)>& counts);

}  // namespace ordo::store
