#include "domain/job_question.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

void put_is(ByteWriter& out, bool is) { out.put(static_cast<std::uint8_t>(is)); }
bool get_is(ByteReader& in) { return in.get<std::uint8_t>() != 0; }

template <class Value, class Put>
void put_maybe(ByteWriter& out, const std::optional<Value>& value, Put put) {
  put_is(out, value.has_value());
  if (value) put(*value);
}

template <class Get>
auto get_maybe(ByteReader& in, Get get) {
  return get_is(in) ? std::optional(get()) : std::nullopt;
}

template <class Enum>
Enum get_enum(ByteReader& in, Enum last) {
  const auto value = in.get<Enum>();
  if (value > last) in.fail("it has a value that is unknown");
  return value;
}

void put_shards(ByteWriter& out, const std::vector<ShardId>& shards) {
  out.put(static_cast<std::uint32_t>(shards.size()));
  for (const auto shard : shards) {
    out.put(shard.queue);
    out.put(shard.index);
  }
}

ShardId get_shard(ByteReader& in) {
  ShardId shard;
  shard.queue = in.get<std::uint32_t>();
  shard.index = in.get<std::uint32_t>();
  return shard;
}

std::vector<ShardId> get_shards(ByteReader& in) {
  std::vector<ShardId> shards;
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) shards.push_back(get_shard(in));
  return shards;
}

void put_filter(ByteWriter& out, const JobFilter& filter) {
  out.put(static_cast<std::uint32_t>(filter.states.size()));
  for (const auto state : filter.states) out.put(state);
  for (const auto* text : {&filter.id, &filter.kind, &filter.key, &filter.error}) out.put_long(*text);
  put_maybe(out, filter.error_kind, [&](FailureKind kind) { out.put(kind); });
  put_maybe(out, filter.retry_count, [&](std::int32_t count) { out.put(count); });
  for (const auto& time : {filter.since, filter.until}) {
    put_maybe(out, time, [&](Time at) { put_time(out, at); });
  }
}

JobFilter get_filter(ByteReader& in) {
  JobFilter filter;
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    const auto state = get_enum(in, JobStatus::dead);
    if (std::ranges::find(filter.states, state) == filter.states.end()) filter.states.push_back(state);
  }
  for (auto* text : {&filter.id, &filter.kind, &filter.key, &filter.error}) *text = in.get_long();
  filter.error_kind = get_maybe(in, [&] { return get_enum(in, FailureKind::invalid_push); });
  filter.retry_count = get_maybe(in, [&] { return in.get<std::int32_t>(); });
  for (auto* time : {&filter.since, &filter.until}) {
    *time = get_maybe(in, [&] { return get_time(in); });
  }
  return filter;
}

void put_view(ByteWriter& out, const JobView& view) {
  for (const auto* text : {&view.kind, &view.key, &view.id, &view.error}) out.put_long(*text);
  out.put(view.state);
  put_time(out, view.run_at);
  out.put(view.retry_count);
  out.put(view.crashes);
  out.put(view.error_kind);
  put_maybe(out, view.priority, [&](std::int32_t priority) { out.put(priority); });
  put_maybe(out, view.timeout, [&](Duration timeout) { out.put(timeout.count()); });
  for (const auto& time : {view.starts_at, view.started}) {
    put_maybe(out, time, [&](Time at) { put_time(out, at); });
  }
  out.put_long(view.node);
  out.put(static_cast<std::uint8_t>(view.expiry_moves));
  JobOptions rules;
  rules.expires = view.expires;
  rules.windows = view.windows;
  copy_more_options(view, rules);
  out.put_long(encode_rules(rules));
}

JobView get_view(ByteReader& in) {
  JobView view;
  for (auto* text : {&view.kind, &view.key, &view.id, &view.error}) *text = in.get_long();
  view.state = get_enum(in, JobStatus::dead);
  view.run_at = get_time(in);
  view.retry_count = in.get<std::int32_t>();
  view.crashes = in.get<std::uint32_t>();
  view.error_kind = get_enum(in, FailureKind::invalid_push);
  view.priority = get_maybe(in, [&] { return in.get<std::int32_t>(); });
  view.timeout = get_maybe(in, [&] { return Duration{in.get<std::int64_t>()}; });
  for (auto* time : {&view.starts_at, &view.started}) {
    *time = get_maybe(in, [&] { return get_time(in); });
  }
  view.node = in.get_long();
  view.expiry_moves = in.get<std::uint8_t>() != 0;
  JobOptions rules;
  read_rules(in.get_long(), rules);
  view.expires = rules.expires;
  view.windows = std::move(rules.windows);
  copy_more_options(rules, view);
  return view;
}

void put_job(ByteWriter& out, const ListedJob& job) {
  put_place(out, job.place);
  out.put_long(job.place.name);
  out.put(job.shard.queue);
  out.put(job.shard.index);
  out.put(static_cast<std::uint32_t>(job.entries.size()));
  for (std::size_t i = 0; i < job.entries.size(); ++i) {
    out.put(job.entries[i]);
    out.put(job.scores[i]);
  }
  put_view(out, job.view);
  out.put_long(job.asks.behind);
  out.put_long(job.asks.response);
  put_time(out, job.asks.response_until);
  put_time(out, job.asks.response_again);
}

ListedJob get_job(ByteReader& in) {
  ListedJob job;
  job.place = get_place(in);
  job.place.name = in.get_long();
  job.shard = get_shard(in);
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    job.entries.push_back(in.get<Seq>());
    job.scores.push_back(in.get<double>());
  }
  job.view = get_view(in);
  job.asks.keys = {job.view.partition, job.view.lock};
  job.asks.place = {job.shard, job.place.arrival};
  job.asks.behind = in.get_long();
  job.asks.response = in.get_long();
  job.asks.response_until = get_time(in);
  job.asks.response_again = get_time(in);
  return job;
}

}  // namespace

std::string encode(const JobQuestion& question) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kAnswersQuestions);
  put_shards(out, question.shards);
  put_filter(out, question.wish.filter);
  question.wish.order.write(out);
  put_time(out, question.wish.now);
  out.put(std::uint64_t{question.wish.most});
  return bytes;
}

Decoded<JobQuestion> decode_job_question(std::string_view bytes) {
  return read_record<JobQuestion>([&] {
    ByteReader in(bytes, "question");
    in.check_version(kAnswersQuestions);
    JobQuestion question;
    question.shards = get_shards(in);
    if (std::ranges::adjacent_find(question.shards, std::ranges::greater_equal{}) != question.shards.end())
      in.fail("its shards are not in their order");
    question.wish.filter = get_filter(in);
    question.wish.order = ListOrder::read(in);
    question.wish.now = get_time(in);
    question.wish.most = in.get<std::uint64_t>();
    if (question.wish.most > kMostRows) in.fail("it wants too many rows");
    if (!in.at_end()) in.fail("it is too long");
    return question;
  });
}

std::string encode(const JobAnswer& answer, std::size_t most_bytes) {
  std::string jobs;
  std::uint32_t count = 0;
  const auto head = 16 + 8 * answer.shards.size();
  for (const auto& job : answer.jobs) {
    std::string bytes;
    ByteWriter out(bytes);
    put_job(out, job);
    if (head + jobs.size() + bytes.size() > most_bytes) break;
    jobs += bytes;
    ++count;
  }
  const bool is_cut = answer.is_cut || count < answer.jobs.size();
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kAnswersQuestions);
  put_is(out, is_cut);
  put_shards(out, head <= most_bytes ? answer.shards : std::vector<ShardId>{});
  out.put(count);
  out.put_rest(jobs);
  return bytes;
}

Decoded<JobAnswer> decode_job_answer(std::string_view bytes) {
  return read_record<JobAnswer>([&] {
    ByteReader in(bytes, "answer");
    in.check_version(kAnswersQuestions);
    JobAnswer answer;
    answer.is_cut = get_is(in);
    answer.shards = get_shards(in);
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) answer.jobs.push_back(get_job(in));
    if (!in.at_end()) in.fail("it is too long");
    return answer;
  });
}

}  // namespace ordo::domain
