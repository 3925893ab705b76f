#pragma once

#include <string>
#include <string_view>

#include <ordo/job.hpp>

struct pg_conn;  // libpq's PGconn

namespace ordo::postgres {

/// Pushes one job as a part of the transaction that is open on `connection`, which the caller keeps: the job
/// is there for workers from COMMIT on, and after ROLLBACK it never was. Returns its id.
///
///   PQexec(connection, "BEGIN");
///   PQexec(connection, "UPDATE orders SET paid = true WHERE id = 42");
///   ordo::postgres::push(connection, "orders", {.id = "42", .payload = R"({"status":"paid"})"});
///   PQexec(connection, "COMMIT");
///
/// The database is the one that Ordo's store is in (`store = "postgres://…"`), and its schema is on the
/// connection's search_path. Without an open transaction the push is one of its own. One round trip; the
/// connection must be neither in pipeline mode nor busy. `job` is copied; its id, key and kind are UTF-8
/// without zero bytes, as all text of PostgreSQL, and it has no `unique`: the rule of a unique key is an
/// option of `ordo_push` (docs/postgres.md). Throws Error{invalid_argument}: the queue does not exist, or the
/// job is not one. Error{unavailable}: what the server says. After either, roll back: PostgreSQL lets most
/// such transactions do nothing else.
std::string push(pg_conn* connection, std::string_view queue, const NewJob& job);

}  // namespace ordo::postgres
