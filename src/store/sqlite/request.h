#pragma once

#include <cstddef>
#include <exception>

#include "store/sqlite/writer.h"

namespace ordo::store::sqlite {

/// Something to be done in a write transaction, which it may share with others.
class Request {
 public:
  Request() = default;
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Runs inside the transaction; again in another one if that was rolled back. What it throws fails this
  /// request alone, after a roll back.
  virtual void run(Writer& writer) = 0;

  /// Called once: the transaction is durable, or `error` says why it is not. Must not block.
  virtual void finish(std::exception_ptr error) = 0;

  /// What it adds to the size of a transaction.
  virtual std::size_t records() const { return 1; }
  virtual std::size_t bytes() const { return 0; }

  /// False: a crash may take it back, so nobody is to wait for the disk because of it.
  virtual bool is_durable() const { return true; }

  /// True: it makes the file grow, so a full disk refuses it first.
  virtual bool grows() const { return false; }
  /// There is no room: leaves out what it can do without. False: nothing.
  virtual bool shrink() { return false; }
};

}  // namespace ordo::store::sqlite
