#include "runtime/node_facts.h"

#include "base/bytes.h"

namespace ordo::runtime {
namespace {

constexpr std::uint8_t kVersion = 2;

}  // namespace

std::string encode(const NodeFacts& facts) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kVersion);
  out.put_long(facts.host);
  out.put(facts.pid);
  out.put(facts.threads);
  out.put(facts.started.time_since_epoch().count());
  out.put(static_cast<std::uint8_t>(facts.stopping));
  out.put(static_cast<std::uint32_t>(facts.kinds.size()));
  for (const auto& [queue, kind] : facts.kinds) {
    out.put_long(queue);
    out.put_long(kind);
  }
  out.put(facts.session);
  out.put(static_cast<std::uint32_t>(facts.rooms.size()));
  for (const auto& room : facts.rooms) {
    out.put(room.threads);
    out.put(static_cast<std::uint32_t>(room.queues.size()));
    for (const auto& queue : room.queues) out.put_long(queue);
  }
  out.put(static_cast<std::uint32_t>(facts.groups.size()));
  for (const auto& [queue, group] : facts.groups) {
    out.put_long(queue);
    out.put_long(group);
  }
  return bytes;
}

NodeFacts decode_node_facts(std::string_view bytes) {
  ByteReader in(bytes, "node row");
  const auto version = in.get<std::uint8_t>();
  if (version != 1 && version != kVersion) in.fail("its version is unknown");
  NodeFacts facts;
  facts.host = in.get_long();
  facts.pid = in.get<std::int64_t>();
  facts.threads = in.get<std::uint32_t>();
  facts.started = Time{Duration{in.get<std::int64_t>()}};
  facts.stopping = in.get<std::uint8_t>() != 0;
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    std::string queue(in.get_long());
    facts.kinds.emplace_back(std::move(queue), in.get_long());
  }
  if (version == 1) return facts;
  facts.session = in.get<std::uint64_t>();
  for (auto rooms = in.get<std::uint32_t>(); rooms > 0; --rooms) {
    auto& room = facts.rooms.emplace_back();
    room.threads = in.get<std::uint32_t>();
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) room.queues.emplace_back(in.get_long());
  }
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    std::string queue(in.get_long());
    facts.groups.emplace_back(std::move(queue), in.get_long());
  }
  return facts;
}

}  // namespace ordo::runtime
