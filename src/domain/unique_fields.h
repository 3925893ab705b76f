#pragma once

#include "base/name.h"
#include "domain/archive.h"
#include "domain/unique.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, UniqueHold>& hold) {
  a.choice(hold.scope, UniqueScope::period, "its scope is unknown");
  a.time(hold.first);
  a.short_text(hold.token);
  a.rest(hold.row);
  a.check(!hold.token.empty(), "nobody has the key");
  a.check(!hold.row.empty() && hold.row.size() <= kLongestJobName, "its row has no name that a store takes");
}

template <class A>
void fields(A& a, In<A, RowToFree>& row) {
  a.short_text(row.row);
  a.rest(row.bytes);
}

}  // namespace ordo::domain
