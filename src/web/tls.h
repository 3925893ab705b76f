#pragma once

#include <memory>

#include <ordo/options.hpp>

struct ssl_ctx_st;

namespace ordo::web {

/// The side of a server in TLS 1.2 and later, of tls_cert and tls_key; null: none are set.
///
/// Throws Error{invalid_argument}, which names the file: it cannot be read, or they do not belong together.
std::shared_ptr<ssl_ctx_st> load_tls(const WebOptions& web);

}  // namespace ordo::web
