// Stored records: any bytes are a record or a reason why they are none, never an exception; a record is
// written as it was read; and a shard takes whatever can be read.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "domain/entry.h"
#include "domain/fields.h"
#include "domain/kept.h"
#include "domain/plain_push.h"
#include "domain/records.h"
#include "domain/shard.h"
#include "runtime/node_facts.h"

namespace {

using namespace ordo;
using namespace ordo::domain;

/// What `decode` reads, `encode` writes so that it is read again as the same bytes' meaning.
template <class Decode>
void check(std::string_view bytes, Decode decode) {
  const auto record = decode(bytes);
  if (!record) {
    ORDO_ASSERT(!record.why().empty());
    ORDO_ASSERT(record.needs() == 0 || record.needs() > format_level());
    return;
  }
  const auto written = encode(*record);
  const auto again = decode(written);
  ORDO_ASSERT(again);
  ORDO_ASSERT(encode(*again) == written);  // bytes, as a score of the dead may be NaN
}

// What is kept, as a reshard writes it again.
void read_block(std::string_view bytes) {
  KeptBlock block;
  each_record(bytes, [&](std::size_t, const KeptRecord& record) { block.add(record); });
  if (block.empty()) return;
  std::size_t records = 0;
  const auto body = block.body("node");
  ORDO_ASSERT(each_record(body, [&](std::size_t, const KeptRecord&) { ++records; }));
  ORDO_ASSERT(records == block.head(body).records());
}

// As owners and listings do.
void run_shard(std::string_view bytes) {
  QueueOptions options;
  options.name = "orders";
  PayloadBudget budget;
  Shard shard(options, budget);
  const Time now{std::chrono::hours{24 * 20'000}};
  auto counts = decode_counts(bytes);
  const auto state = decode_state(bytes);
  std::vector<std::pair<Seq, JobState>> states;
  if (state) states.emplace_back(1, *state);
  shard.load({.head = 3, .now = now, .shard = {1, 0}, .token = 1}, std::move(states),
             std::move(counts).or_empty());
  if (!state) shard.lose_state(1, std::string(bytes), state.why());
  for (const Seq seq : {Seq{1}, Seq{2}}) {
    const auto entry = decode_entry(bytes);
    if (entry) {
      shard.apply({seq, now, *entry}, now);
    } else {
      shard.apply_unreadable(seq, bytes, entry.why());
    }
  }
  const Entry push{.kind = "orders", .key = "k", .id = "i", .payload = bytes};
  shard.apply({3, now, push}, now);
  shard.ready(now);
  shard.counts(now);
  for (const auto& dead : shard.collect().dead) ORDO_ASSERT(decode_dead(encode(dead)));
  shard.committed(now);
  ORDO_ASSERT(decode_counts(encode(shard.counts(now))));
}

// Fields and values of another program, cut at each zero.
void push_plainly(std::string_view bytes) {
  std::vector<std::string_view> words;
  for (std::size_t end = 0; (end = bytes.find('\0')) != bytes.npos; bytes.remove_prefix(end + 1))
    words.push_back(bytes.substr(0, end));
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) fields.emplace_back(words[i], words[i + 1]);
  decode_entry(encode_plain_push(fields, "1-1", "orders"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!is_plain_push(bytes)) check(bytes, decode_entry);  // it is written as an entry, once it can be read
  check(bytes, decode_state);
  check(bytes, decode_dead);
  check(bytes, decode_counts);
  check(bytes, decode_lent_end);
  check(bytes, decode_kept_head);
  read_block(bytes);
  check(bytes, runtime::decode_node_facts);
  lent_runs_of(bytes);
  run_shard(bytes);
  push_plainly(bytes);
  return 0;
}
