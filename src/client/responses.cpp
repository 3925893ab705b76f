// Responses from outside, and what waits for them.
#include <algorithm>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/name.h"
#include "base/shorten.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "store/dead_letters.h"
#include "store/tokens.h"
#include "store/waits.h"

namespace ordo {
namespace {

constexpr std::size_t kWaitsAtOnce = 64;

[[noreturn]] void refuse(const std::string& of, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, "cannot take a response" + of + ": " + why);
}

domain::Message checked_message(const std::string& of, std::string_view body, std::string_view message_id) {
  if (message_id.size() > kLongestJobName)
    refuse(of,
           fmt::format("its message id has at most {} bytes, not {}", kLongestJobName, message_id.size()));
  if (body.size() > kLongestPayload)
    refuse(of, fmt::format("its body has at most {} bytes, not {}", kLongestPayload, body.size()));
  return {std::string(message_id), std::string(body)};
}

}  // namespace

Responded Client::Impl::respond(const std::string& queue, const std::function<Responded()>& once) {
  Responded responded{};
  handle_->until_done(queue, [&](const auto&) {
    responded = once();
    return true;
  });
  return responded;
}

Responded Client::Impl::respond(std::string_view queue, std::string_view key, std::string_view body,
                                std::string_view message_id) {
  refuse_in_callback("Client::respond()");
  const auto of = " for queue " + in_quotes(queue);
  if (key.empty() || key.size() > kLongestJobName)
    refuse(of, fmt::format("its key has 1 to {} bytes, not {}", kLongestJobName, key.size()));
  const auto message = checked_message(of, body, message_id);
  const std::string name(queue);
  const auto* options = handle_->options(name);
  const auto ttl = (options != nullptr ? *options : QueueOptions{}).response_ttl;
  return respond(name,
                 [&] { return store::respond(handle_->store(), name, std::string(key), message, ttl); });
}

Responded Client::Impl::respond(const ResponseToken& token, std::string_view body,
                                std::string_view message_id) {
  refuse_in_callback("Client::respond()");
  const auto message = checked_message({}, body, message_id);
  handle_->check_process();
  auto& store = handle_->store();
  const auto lead = store::find_token(store, token.text);
  if (!lead) return Responded::refused;
  return respond(lead->queue,
                 [&] { return store::respond_to(store, lead->queue, lead->key, lead->wait, message); });
}

Responded Client::respond(std::string_view queue, std::string_view key, std::string_view body,
                          std::string_view message_id) {
  return impl()->respond(queue, key, body, message_id);
}

Responded Client::respond(const ResponseToken& token, std::string_view body, std::string_view message_id) {
  return impl()->respond(token, body, message_id);
}

std::vector<WaitView> Admin::Impl::waits(std::string_view queue) {
  std::vector<WaitView> views;
  const auto known = handle_->existing_queue(queue);
  if (!known) return views;
  std::string after;
  while (true) {
    const auto rows = handle_->store().wait_rows(known->name, after, kWaitsAtOnce);
    if (rows.empty()) return views;
    const auto now = handle_->store().now();
    for (const auto& row : rows) {
      const auto record = domain::decode_wait_record(row.bytes);
      if (!record || domain::is_expired(*record, now)) continue;
      const bool is_of_older = record->wait.empty() && record->deadline <= Time{};
      views.push_back({row.key, record->kind, record->key, record->id, record->since,
                       is_of_older ? row.until : record->deadline});
    }
    after = rows.back().key;
  }
}

std::vector<WaitView> Admin::waits(std::string_view queue) { return impl()->waits(queue); }

void Admin::Impl::dead_letters(std::string_view queue, const std::function<bool(const DeadLetter&)>& visit) {
  const auto known = handle_->existing_queue(queue);
  if (known) store::each_letter(handle_->store(), known->name, visit);
}

void Admin::dead_letters(std::string_view queue, const std::function<bool(const DeadLetter&)>& visit) {
  impl()->dead_letters(queue, visit);
}

}  // namespace ordo
