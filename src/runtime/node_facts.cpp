#include "runtime/node_facts.h"

#include "base/bytes.h"
#include "domain/fields.h"
#include "domain/option_bounds.h"

namespace ordo::runtime {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr domain::FieldTag kLevel = 2, kNewer = 3, kSchedules = 16, kThrottledQueue = 17, kAnswers = 18,
                           kStuck = 19, kProgram = 20, kClock = 21, kPausedAt = 22;

std::string encode(const std::vector<NewerShard>& newer) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const auto& [shard, needs] : newer) {
    out.put(shard.queue);
    out.put(shard.index);
    out.put(needs);
  }
  return bytes;
}

std::vector<NewerShard> newer_shards(std::string_view bytes) {
  std::vector<NewerShard> newer;
  for (ByteReader in(bytes, "list of shards"); !in.at_end();) {
    auto& [shard, needs] = newer.emplace_back();
    shard.queue = in.get<std::uint32_t>();
    shard.index = in.get<std::uint32_t>();
    needs = in.get<std::uint16_t>();
  }
  return newer;
}

std::string encode(const StuckRun& run) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const auto* text : {&run.queue, &run.kind, &run.key, &run.id}) out.put_long(*text);
  domain::put_time(out, run.since);
  return bytes;
}

std::string encode(Duration duration) {
  std::string bytes;
  ByteWriter(bytes).put(duration.count());
  return bytes;
}

StuckRun stuck_run(std::string_view bytes) {
  ByteReader in(bytes, "run that does not stop");
  StuckRun run;
  for (auto* text : {&run.queue, &run.kind, &run.key, &run.id}) *text = in.get_long();
  run.since = domain::get_time(in);
  return run;
}

}  // namespace

std::string encode(const NodeFacts& facts) {
  std::string bytes;
  ByteWriter out(bytes);
  std::string fields;
  if (facts.level != 1) fields += domain::number_field(kLevel, facts.level);
  if (!facts.newer.empty()) fields += domain::field(kNewer, encode(facts.newer));
  for (const auto& queue : facts.throttled) fields += domain::field(kThrottledQueue, queue);
  if (!facts.schedules.empty()) fields += domain::field(kSchedules, facts.schedules);
  if (facts.answers != 0) fields += domain::number_field(kAnswers, facts.answers);
  for (const auto& run : facts.stuck) fields += domain::field(kStuck, encode(run));
  if (!facts.version.empty()) fields += domain::field(kProgram, facts.version);
  if (facts.clock) fields += domain::field(kClock, encode(*facts.clock));
  if (facts.paused_at) fields += domain::number_field(kPausedAt, *facts.paused_at);
  domain::put_version(out, kVersion, fields);
  out.put_long(facts.host);
  out.put(facts.pid);
  out.put(facts.threads);
  domain::put_time(out, facts.started);
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
  out.put(facts.lease.count());
  out.put(static_cast<std::uint8_t>(facts.quiet));
  out.put(static_cast<std::uint32_t>(facts.unable.size()));
  for (const auto& [queue, kind] : facts.unable) {
    out.put_long(queue);
    out.put_long(kind);
  }
  if (!facts.paused) return bytes;
  out.put(static_cast<std::uint32_t>(facts.paused->size()));
  for (const auto& queue : *facts.paused) out.put_long(queue);
  out.put_long(facts.commit_error);
  domain::put_time(out, facts.commit_error_since);
  return bytes;
}

namespace {

NodeFacts read_node_facts(std::string_view bytes) {
  ByteReader in(bytes, "node row");
  NodeFacts facts;
  std::string unknown;
  const auto version = domain::get_version(in, unknown, [&](domain::FieldTag tag, std::string_view value) {
    if (tag == kLevel) facts.level = domain::number_of<std::uint16_t>(value);
    if (tag == kNewer) facts.newer = newer_shards(value);
    if (tag == kSchedules) facts.schedules = value;
    if (tag == kThrottledQueue) facts.throttled.emplace_back(value);
    if (tag == kAnswers) facts.answers = domain::number_of<std::uint8_t>(value);
    if (tag == kStuck) facts.stuck.push_back(stuck_run(value));
    if (tag == kProgram) facts.version = value;
    if (tag == kClock) facts.clock = Duration{ByteReader(value, "clock").get<std::int64_t>()};
    if (tag == kPausedAt) facts.paused_at = domain::number_of<std::uint64_t>(value);
    return tag == kLevel || tag == kNewer || (tag >= kSchedules && tag <= kPausedAt);
  });
  if (version != 1 && version != kVersion) in.fail("its version is unknown");
  facts.host = in.get_long();
  facts.pid = in.get<std::int64_t>();
  facts.threads = in.get<std::uint32_t>();
  facts.started = domain::get_time(in);
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
  if (!in.at_end()) facts.lease = Duration{in.get<std::int64_t>()};
  if (facts.lease > kMostLease) facts.lease = {};  // no config may state that: it is damaged
  if (!in.at_end()) facts.quiet = in.get<std::uint8_t>() != 0;
  if (in.at_end()) return facts;  // of a node that knows no more
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    std::string queue(in.get_long());
    facts.unable.emplace_back(std::move(queue), in.get_long());
  }
  if (in.at_end()) return facts;
  auto& paused = facts.paused.emplace();
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) paused.emplace_back(in.get_long());
  facts.commit_error = in.get_long();
  facts.commit_error_since = domain::get_time(in);
  return facts;
}

}  // namespace

domain::Decoded<NodeFacts> decode_node_facts(std::string_view bytes) {
  return domain::read_record<NodeFacts>([&] { return read_node_facts(bytes); });
}

}  // namespace ordo::runtime
