#include "web/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/shorten.h"

namespace ordo::web {
namespace {

std::string last_tls_error() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "OpenSSL does not say why";
}

[[noreturn]] void refuse_file(const char* key, const std::string& file, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, fmt::format("cannot use {} {}: {}", key, in_quotes(file), why));
}

void check_readable(const char* key, const std::string& file) {
  errno = 0;
  if (!std::ifstream(file)) refuse_file(key, file, std::strerror(errno));
}

/// A key with a password would ask for it at the terminal.
int no_password(char*, int, int, void*) { return 0; }

}  // namespace

std::shared_ptr<ssl_ctx_st> load_tls(const WebOptions& web) {
  if (!web.has_tls()) return nullptr;
  check_readable("tls_cert", web.tls_cert);
  check_readable("tls_key", web.tls_key);
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) throw Error(ErrorKind::unavailable, "cannot begin with TLS: " + last_tls_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);          // idle connections hold none
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);  // tickets do without
  SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), web.tls_cert.c_str()) != 1) {
    refuse_file("tls_cert", web.tls_cert,
                last_tls_error() + "; it takes a certificate and those that vouch for it, as PEM");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), web.tls_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    refuse_file("tls_key", web.tls_key,
                last_tls_error() + "; it takes the key of tls_cert as PEM, without a password");
  }
  return context;
}

}  // namespace ordo::web
