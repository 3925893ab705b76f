// What is stored for ever: the bytes of each record with all that it can say, and the tags of its optional
// fields. A test that fails here says that a store of today can no longer be read. A later version adds tags
// and never changes one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/digest.h"
#include "domain/audit_record.h"
#include "domain/dead_letters.h"
#include "domain/entry.h"
#include "domain/fields.h"
#include "domain/kept.h"
#include "domain/lent.h"
#include "domain/limit_change.h"
#include "domain/rate_record.h"
#include "domain/records.h"
#include "domain/response_token.h"
#include "domain/schedule.h"
#include "domain/wait_note.h"
#include "domain/wait_record.h"

namespace ordo::domain {
namespace formats_test {

using std::chrono::seconds;
using ::testing::ElementsAre;

Time at(std::int64_t us) { return Time{Duration{us}}; }

/// "TAG:HEX " of each optional field.
std::string shown_fields(std::string_view fields) {
  std::string text;
  take_fields(fields, [&](FieldTag tag, std::string_view bytes) {
    text += std::to_string(tag) + ":" + to_hex(bytes) + " ";
    return true;
  });
  return text;
}

/// "VERSION TAG:HEX | HEX": the optional fields of a record, and the rest of it.
std::string shown(std::string_view record) {
  ByteReader in(record, "record");
  const auto version = in.get<std::uint8_t>();
  auto text = std::to_string(version & ~kHasFields) + " ";
  if ((version & kHasFields) != 0) text += shown_fields(in.get_long());
  text += "|";
  if (!in.at_end()) text += " " + to_hex(in.rest());
  return text;
}

JobOptions full_options() {
  JobOptions options{.priority = 5, .timeout = seconds{6}};
  options.expires = at(7);
  options.windows = {{.start = seconds{8}, .end = seconds{9}, .days = 10, .tz = "Asia/Tokyo"}};
  options.weight = Decimal(11);
  options.partition = "east";
  options.critical = true;
  options.lock = "l";
  options.unique = {{.row = "r", .token = "t", .scope = UniqueScope::queued_or_running, .first = at(12)}};
  options.max_retries = 13;
  options.replaces_time = true;
  options.expires_after = seconds{14};
  return options;
}

JobState full_state() {
  JobState state{.through = 1, .run_at = at(2), .own_time = true, .retry_count = 3, .crashes = 4};
  state.last_crash = at(5);
  state.mark = Mark::alone;
  state.alone = state.held = state.chosen_time = true;
  state.options = full_options();
  state.options.freed_row = "f";
  state.scores = {{6, 0.5, 7}};
  state.error_kind = FailureKind::crash;
  state.error = "boom";
  state.awaits = {
      .wait = "w", .key = "k", .deadline = at(7), .last = 8, .retry_count = 9, .retry_at = at(10)};
  state.pushed = at(11);
  state.first_start = at(12);
  state.set_at = at(13);
  state.hand_over = {"s", "n"};
  return state;
}

DeadPayload full_dead() {
  DeadPayload dead{.kind = "mail", .key = "k", .id = "42", .payload = "p", .score = 2.25};
  dead.options = full_options();
  dead.options.freed_row = "f";
  dead.retry_count = 1;
  dead.crashes = 2;
  dead.error_kind = FailureKind::timeout;
  dead.error = "slow";
  dead.is_entry = true;
  dead.state = "s";
  dead.entry_fields = "e";
  return dead;
}

LentRun full_run() {
  LentRun run{.name = {{1, 2}, 3, 4}, .node = "n", .session = 5, .fence = 6, .stop = true, .going = true};
  run.shares = true;
  run.risk = 1;
  run.kind = "mail";
  run.timeout = seconds{7};
  run.started = at(8);
  run.jobs = {{{{9, 0.5}}, 10, 11}};
  run.response = 12;
  return run;
}

Counts full_counts() {
  Counts counts{
      .due = 1, .scheduled = 2, .retrying = 3, .running = 4, .awaiting = 5, .processed = 6, .failed = 7};
  counts.oldest = at(8);
  counts.running_now = {9};
  counts.copied = "from";
  counts.lent = {full_run()};
  counts.fence = 10;
  counts.unreadable = 11;
  counts.blocked_by_window = 12;
  counts.oldest_due = {{13, at(14)}};
  counts.blocked_by_key = 15;
  counts.blocked_by_lock = 16;
  counts.blocked_by_limit = 17;
  counts.blocked_by_rate = 18;
  counts.blocked_by_throttler = 19;
  counts.blocked_by_suspect = 20;
  counts.marked_runs = {true, true, 21, {"a"}, {"b"}};
  counts.limits = {{"orders", "east", true, 22, 23, 24, at(25), {"c"}}};
  counts.locks = {{"lock", "k", {"d"}, 26}};
  counts.blocked = {{"east", 27, true, "orders", "*", true, at(28)}};
  counts.throttled = {{29, at(30)}};
  counts.schedules = {{"nightly", {"k", 32, at(33), 34, at(35), true, 36, 37, 46, "h", "f", 47}}};
  counts.unserved = {{"ship", 38, 39}};
  counts.rows_to_free = {{"row", "bytes"}};
  counts.kept = {1, 40, 41, 42, 43, at(44), seconds{45}};
  counts.hand_overs = 48;
  return counts;
}

TEST(Formats, of_options) {
  auto all = full_options();
  all.freed_row = "f";
  all.keeps_dead = false;
  all.retried_by = "w";
  const auto bytes = encode_options(all);
  EXPECT_EQ(shown_fields(bytes),
            "2:0700000000000000 3:08000000090000000a417369612f546f6b796f 4:c0d8a70000000000 5:65617374 "
            "6:01 7:6c 8:010c00000000000000017472 9: 10:0d000000 11:809fd50000000000 15:00 16:77 12:05000000 "
            "13:808d5b0000000000 14:66 ");
  JobOptions read;
  read_options(bytes, read);
  EXPECT_EQ(read, all);
}

TEST(Formats, of_entries) {
  Entry push{.kind = "mail", .key = "k", .id = "42", .score = 0.5, .run_at = at(1)};
  push.options = full_options();
  push.payload = "p";
  const auto newer = field(200, "x");
  push.fields = newer;
  const auto bytes = encode(push);
  EXPECT_EQ(to_hex(bytes),
            "017f06000000c80100000078046d61696c023432016b000000000000e03f010000000000000005000000808d5b00"
            "000000007300000002080000000700000000000000031300000008000000090000000a417369612f546f6b796f04"
            "08000000c0d8a7000000000005040000006561737406010000000107010000006c080c000000010c000000000000"
            "0001747209000000000a040000000d0000000b08000000809fd5000000000070");
  EXPECT_EQ(*decode_entry(bytes), push);

  Entry tick{.type = EntryType::tick, .kind = "mail", .key = "k", .id = "42", .payload = "p"};
  tick.tick = {"nightly", at(2), 3};
  EXPECT_EQ(to_hex(encode(tick)),
            "0601046d61696c023432016b076e696768746c790200000000000000030000000000000070");

  Entry cancel{.type = EntryType::cancel, .kind = "mail", .key = "42", .id = "42"};
  cancel.phase = JobPhase::queued;
  EXPECT_EQ(to_hex(encode(cancel)), "0300046d61696c02343201");

  Entry moved{.kind = "mail", .key = "42", .id = "42", .came = at(1), .payload = "p"};
  moved.fields = newer;
  EXPECT_EQ(to_hex(encode(moved)), "01201300000002080000000100000000000000c80100000078046d61696c02343270");
  EXPECT_EQ(*decode_entry(encode(moved)), moved);

  Entry edit{.type = EntryType::edit, .kind = "mail", .key = "42", .id = "42", .score = 0.5, .payload = "p"};
  edit.edits = {{1, 0.5}, {2, 1.5}};
  EXPECT_EQ(to_hex(encode(edit)),
            "0d02046d61696c023432000000000000e03f020000000100000000000000000000000000e03f0200000000000000"
            "000000000000f83f70");
  EXPECT_EQ(*decode_entry(encode(edit)), edit);

  const Entry handed_over{
      .type = EntryType::handed_over, .kind = "mail", .key = "k", .id = "42", .hand_over = "n"};
  EXPECT_EQ(to_hex(encode(handed_over)), "0e01046d61696c023432016b016e");
  EXPECT_EQ(*decode_entry(encode(handed_over)), handed_over);

  auto handed_back = handed_over;
  handed_back.type = EntryType::handed_back;
  handed_back.payload = "p";
  EXPECT_EQ(to_hex(encode(handed_back)), "0f01046d61696c023432016b016e70");
  EXPECT_EQ(*decode_entry(encode(handed_back)), handed_back);
}

TEST(Formats, of_jobs) {
  const auto state = encode(full_state());
  EXPECT_EQ(shown(state),
            "1 2:0177016b07000000000000000800000000000000090000000a00000000000000 3:0b00000000000000 4:0c"
            "00000000000000 5:0d00000000000000 6:0173016e | "
            "01000000000000000200000000000000030000000400000005000000"
            "00000000020f8f00000002080000000700000000000000031300000008000000090000000a417369612f546f6b79"
            "6f0408000000c0d8a7000000000005040000006561737406010000000107010000006c080c000000010c00000000"
            "00000001747209000000000a040000000d0000000b08000000809fd500000000000c04000000050000000d080000"
            "00808d5b00000000000e0100000066010000000600000000000000000000000000e03f070000000000000002626f"
            "6f6d");
  EXPECT_EQ(*decode_state(state), full_state());

  const auto dead = encode(full_dead());
  EXPECT_EQ(shown(dead),
            "1 2: 3:73 4:65 | "
            "046d61696c016b02343200000000000002408f000000020800000007000000000000000313000000080000000900"
            "00000a417369612f546f6b796f0408000000c0d8a700000000000504000000656173740601000000010701000000"
            "6c080c000000010c0000000000000001747209000000000a040000000d0000000b08000000809fd500000000000c"
            "04000000050000000d08000000808d5b00000000000e010000006601000000020000000104000000736c6f7770");
  EXPECT_EQ(*decode_dead(dead), full_dead());
}

TEST(Formats, of_counts) {
  const auto bytes = encode(full_counts());
  EXPECT_EQ(shown(bytes),
            "1 2:810d00000002080000000c00000000000000010000000200000003000000000000000400000000000000016e"
            "050000000000000006000000000000000701046d61696cc0cf6a00000000000800000000000000010000000a0000"
            "000b000000010000000900000000000000000000000000e03f 3:0a00000000000000 4:66726f6d 5:0b0000000"
            "0000000 6:0d0000000e00000000000000 8:066f726465727301160000000000000017000000000000001800000"
            "000000000190000000000000004000000656173740163 9:046c6f636b1a00000000000000016b0164 10:046561"
            "73741b0000000000000003066f7264657273012a1c00000000000000 11:1d000000000000001e00000000000000"
            " 12:2600000000000000270000000000000073686970 13:076e696768746c79016b200000000000000021000000"
            "000000002200000000000000012400000000000000250000000000000023000000000000002e0000000000000001"
            "6801662f000000 14:03726f776279746573 15:0100000000000000280000000000000029000000000000002a00"
            "0000000000002b000000000000002c0000000000000040a5ae0200000000 16:0315000000000000000100000001"
            "61010000000162 17:0c00000000000000 18:0f00000000000000 19:1000000000000000 20:11000000000000"
            "00 21:1200000000000000 22:1300000000000000 23:1400000000000000 24:3000000000000000 | "
            "010000000000000002000000000"
            "00000030000000000000004000000000000000500000000000000060000000000000007000000000000000800000"
            "0000000000900000000000000");
  EXPECT_EQ(*decode_counts(bytes), full_counts());
}

TEST(Formats, of_ends_of_lent_runs) {
  LentEnd end{.name = {{1, 2}, 3, 4}, .declined = true, .ends = {{Outcome::wait("key", seconds{5}), 0.5}}};
  end.ends[0].outcome.wait_id = "w";
  end.ends[0].outcome.deadline = at(6);
  end.ends[0].outcome.penalty = seconds{7};
  end.ends[0].outcome.delivered = 8;
  EXPECT_EQ(shown(encode(end)),
            "1 | "
            "010000000200000003000000000000000400000000000000010500404b4c0000000000c0cf6a0000000000010800"
            "0000000000000000e03f030000006b657901770600000000000000");
}

TEST(Formats, of_ended_jobs) {
  KeptRecord record{JobStatus::failed, "mail", "k", "42", 1, at(2), at(3), at(4), "n", 5};
  record.error_kind = FailureKind::timeout;
  record.error = "slow";
  record.payloads = {{"p", 0.5}};
  record.is_cut = true;
  KeptBlock block;
  block.add(record);
  const auto body = block.body("owner");
  EXPECT_EQ(shown(body),
            "1 | "
            "056f776e65724e00000081130000000209000000000000000000e03f70030000000006046d61696c016b02343201"
            "00000000000000020000000000000003000000000000000400000000000000016e0500000001736c6f77");
  std::vector<KeptRecord> read;
  EXPECT_TRUE(each_record(body, [&](std::size_t, const KeptRecord& each) { read.push_back(each); }));
  EXPECT_THAT(read, ElementsAre(record));
  EXPECT_EQ(shown(encode(block.head(body))), "1 | 04000000000000000400000000000000590000008385e387");
}

TEST(Formats, of_waits) {
  WaitRecord wait{WaitRecord::State::answered, "w", "mail", "k", "42", 1, at(2), at(3), false, "m", "body"};
  wait.taken = {"f"};
  wait.answered = {"w0"};
  EXPECT_EQ(shown(encode(wait)),
            "1 2:027730 | "
            "020177046d61696c016b02343201000000000000000200000000000000030000000000000000016d010000000100"
            "000066626f6479");
  EXPECT_EQ(*decode_wait_record(encode(wait)), wait);
  EXPECT_EQ(shown(encode(WaitNote{"w", "k", "m", "body"})), "1 | 0177016b016d626f6479");
  EXPECT_EQ(shown(encode(TokenRow{"w", "k"})), "1 | 0177016b");
  EXPECT_EQ(shown(encode(DeadLetter{DeadLetter::Why::unused, "k", "mail", "j", "42", "m", "body", at(1)})),
            "1 | 020100000000000000016b046d61696c016a023432016d626f6479");
  EXPECT_EQ(shown(encode(LetterList{{{at(1), 2, "name"}}})), "1 | 010000000000000002000000046e616d65");
}

TEST(Formats, of_rates) {
  const RateRecord record{"queue", at(1), at(2), {{at(3), 4}, {at(5), 6}}};
  EXPECT_EQ(shown(encode(record)),
            "1 | 0100000000000000020000000000000002000000030000000000000004000000050000000000000006000000"
            "7175657565");
  EXPECT_EQ(*decode_rate(encode(record)), record);
  EXPECT_EQ(rate_row({1, 2}, 3), 4611686087148961795U);
}

TEST(Formats, of_unique_rows) {
  EXPECT_EQ(shown(encode(UniqueRow{"t", UniqueScope::period, at(1), "mail", "k", "42"})),
            "1 | 0201000000000000000174046d61696c016b3432");
}

TEST(Formats, of_what_people_have_set) {
  const LimitChange change{"orders", Decimal(1), RateLimit{.limit = 2, .per = seconds{3}, .burst = 4}};
  EXPECT_EQ(shown(encode(change)), "1 2:40420f0000000000 3:02000000c0c62d000000000004000000 |");
  const AuditEntry entry{at(1), "ann", "cancel", "orders", "{}", 2, "done"};
  EXPECT_EQ(shown(encode(entry)),
            "1 | "
            "010000000000000003616e6e0663616e63656c066f7264657273020000007b7d010200000000000000646f6e65");
}

TEST(Formats, of_schedules) {
  const PeriodicOptions schedule{"nightly", "orders", "0 5 * * *", seconds{60}, "Asia/Tokyo",  "p",
                                 "mail",    "k",      7,           Missed::all, Overlap::queue};
  const auto bytes = encode(std::vector{schedule});
  EXPECT_EQ(shown_fields(bytes),
            "2:02070000006e696768746c7903060000006f72646572730409000000302035202a202a202a0508000000008793"
            "0300000000060a000000417369612f546f6b796f07010000007008040000006d61696c09010000006b0a04000000"
            "070000000b01000000020c0100000001 ");
  EXPECT_THAT(decode_schedules(bytes), ElementsAre(schedule));
}

}  // namespace formats_test
}  // namespace ordo::domain
