#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <ordo/error.hpp>

#include "base/assert.h"

namespace ordo::domain {

/// Why stored bytes are not the record that they should be.
struct Unreadable {
  std::string why;
  /// They come from a newer node, and who does not know that level of the formats must not guess what they
  /// mean: all else of their shard waits with them. 0: no node is known to read them.
  std::uint16_t needs = 0;
};

/// What was made of stored bytes: a record, or the reason why they are none. Reading never throws for what
/// the bytes are; whoever reads decides what becomes of them.
template <class Record>
class Decoded {
 public:
  Decoded(Record record) : record_(std::move(record)) {}
  Decoded(Unreadable unreadable) : unreadable_(std::make_unique<Unreadable>(std::move(unreadable))) {}

  explicit operator bool() const { return unreadable_ == nullptr; }
  /// Only of what could be read.
  const Record& operator*() const& {
    ORDO_ASSERT(unreadable_ == nullptr);
    return record_;
  }
  Record&& operator*() && {
    ORDO_ASSERT(unreadable_ == nullptr);
    return std::move(record_);
  }
  const Record* operator->() const { return &**this; }

  /// An empty record in the place of one that cannot be read.
  Record or_empty() && { return std::move(record_); }

  /// Only of what could not be read.
  const std::string& why() const { return unreadable_->why; }
  /// 0 also for what could be read.
  std::uint16_t needs() const { return unreadable_ ? unreadable_->needs : 0; }

 private:
  Record record_;
  std::unique_ptr<Unreadable> unreadable_;
};

}  // namespace ordo::domain
