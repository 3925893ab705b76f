#include "store/tokens.h"

#include <algorithm>

#include <ordo/error.hpp>

#include "base/digest.h"
#include "base/random.h"

namespace ordo::store {
namespace {

/// Beside the unique keys of the queue, whose own have another length.
std::string row_key(const domain::Token& token) { return "t" + sha256(token.random); }

}  // namespace

std::string make_token(Store& store, const std::string& queue, const std::string& key,
                       const std::string& wait, Time deadline) {
  const domain::Token token{domain::token_queue(queue), secret_bytes(domain::kTokenBytes)};
  const WaitRow row{row_key(token), encode(domain::TokenRow{wait, key}), true,
                    domain::token_row_until(deadline)};
  store.step_rows(Store::unique_rows(queue), {{row, {}, {}}});
  return domain::token_text(token);
}

std::optional<TokenLead> find_token(Store& store, std::string_view text) {
  const auto token = domain::parse_token(text);
  if (!token) return std::nullopt;
  const auto list = store.queues();
  const auto queue = std::ranges::find(list.queues, token->queue,
                                       [](const auto& each) { return domain::token_queue(each.name); });
  if (queue == list.queues.end()) return std::nullopt;
  const auto bytes = store.wait_row(Store::unique_rows(queue->name), row_key(*token));
  if (!bytes) return std::nullopt;
  auto row = domain::decode_token_row(*bytes);
  if (row) return TokenLead{queue->name, row->wait, row->key};
  throw Error(row.needs() != 0 ? ErrorKind::unsupported : ErrorKind::corrupt,
              "cannot read where a token leads: " + row.why());
}

}  // namespace ordo::store
