// Responses from outside, and what waits for them.
#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/name.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "store/waits.h"

namespace ordo {
namespace {

constexpr std::size_t kWaitsAtOnce = 64;
constexpr int kReshards = 3;  // of the queue, that a response outlasts

[[noreturn]] void refuse(std::string_view queue, const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("cannot take a response for queue '{}': {}", queue, why));
}

}  // namespace

Responded Client::Impl::respond(std::string_view queue, std::string_view key, std::string_view body,
                                std::string_view message_id) {
  refuse_in_callback("Client::respond()");
  if (key.empty() || key.size() > kLongestJobName)
    refuse(queue, fmt::format("its key has 1 to {} bytes, not {}", kLongestJobName, key.size()));
  if (message_id.size() > kLongestJobName)
    refuse(queue,
           fmt::format("its message id has at most {} bytes, not {}", kLongestJobName, message_id.size()));
  if (body.size() > kLongestPayload)
    refuse(queue, fmt::format("its body has at most {} bytes, not {}", kLongestPayload, body.size()));
  const std::string name(queue);
  const auto* options = handle_->options(name);
  const auto ttl = (options != nullptr ? *options : QueueOptions{}).response_ttl;
  const domain::Message message{std::string(message_id), std::string(body)};
  for (int attempt = 0;; ++attempt) {
    auto before = handle_->queue(name);
    if (before.closed) before = handle_->open_queue(name);
    try {
      return store::respond(handle_->store(), name, std::string(key), message, ttl);
    } catch (const Error& error) {
      const auto after = handle_->queue(name);
      const bool is_resharded = after.closed || after.number != before.number;
      if (error.kind() != ErrorKind::unavailable || !is_resharded || attempt == kReshards) throw;
    }
  }
}

Responded Client::respond(std::string_view queue, std::string_view key, std::string_view body,
                          std::string_view message_id) {
  return impl().respond(queue, key, body, message_id);
}

std::vector<WaitView> Admin::Impl::waits(std::string_view queue) {
  std::vector<WaitView> views;
  const auto known = handle_->existing_queue(queue);
  if (!known) return views;
  std::string after;
  while (true) {
    const auto rows = handle_->store().wait_rows(known->name, after, kWaitsAtOnce);
    if (rows.empty()) return views;
    for (const auto& row : rows) {
      const auto record = domain::decode_wait_record(row.bytes);
      if (!record) continue;
      const bool is_response = record->wait.empty();
      views.push_back({row.key, record->kind, record->key, record->id, record->since,
                       is_response ? row.until : record->deadline});
    }
    after = rows.back().key;
  }
}

std::vector<WaitView> Admin::waits(std::string_view queue) { return impl().waits(queue); }

}  // namespace ordo
