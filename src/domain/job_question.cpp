#include "domain/job_question.h"

#include <algorithm>
#include <utility>

#include "base/push_option.h"
#include "domain/archive.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, ShardId>& shard) {
  a.number(shard.queue);
  a.number(shard.index);
}

template <class A>
void fields(A& a, In<A, JobStatus>& state) {
  a.choice(state, JobStatus::dead, "it has a value that is unknown");
}

template <class A>
void fields(A& a, In<A, FailureKind>& kind) {
  a.choice(kind, FailureKind::invalid_push, "it has a value that is unknown");
}

template <class A>
void fields(A& a, In<A, JobFilter>& filter) {
  a.list(filter.states);
  if constexpr (A::kReads) {
    std::vector<JobStatus> once;
    for (const auto state : filter.states)
      if (std::ranges::find(once, state) == once.end()) once.push_back(state);
    filter.states = std::move(once);
  }
  a.long_text(filter.id);
  a.long_text(filter.kind);
  a.long_text(filter.key);
  a.long_text(filter.error);
  a.maybe(filter.error_kind);
  a.maybe(filter.retry_count);
  a.maybe(filter.since);
  a.maybe(filter.until);
}

template <class A>
void fields(A& a, In<A, JobView>& view) {
  a.long_text(view.kind);
  a.long_text(view.key);
  a.long_text(view.id);
  a.long_text(view.error);
  fields(a, view.state);
  a.any_time(view.run_at);
  a.number(view.retry_count);
  a.number(view.crashes);
  fields(a, view.error_kind);
  a.maybe(view.starts_at);
  a.maybe(view.started);
  a.long_text(view.node);
  a.flags(view.expiry_moves);
  JobOptions rules;
  if constexpr (A::kReads) {
    std::string_view bytes;
    a.long_text(bytes);
    read_options(bytes, rules);
    view.expires = rules.expires;
    copy_options(rules, view);
  } else {
    rules.expires = view.expires;
    copy_options(view, rules);
    a.long_text(encode_options(rules));
  }
}

template <class A>
void fields(A& a, In<A, ListedJob>& job) {
  fields(a, job.place);
  a.long_text(job.place.name);
  fields(a, job.shard);
  a.list(job.entries);
  a.list(job.scores);
  fields(a, job.view);
  a.long_text(job.asks.behind);
  a.long_text(job.asks.response);
  a.any_time(job.asks.response_until);
  a.any_time(job.asks.response_again);
  a.check(job.entries.size() == job.scores.size(), "its payloads have no scores");
  if constexpr (A::kReads) {
    job.asks.keys = {job.view.partition, job.view.lock};
    job.asks.place = {job.shard, job.place.arrival};
  }
}

template <class A>
void fields(A& a, In<A, JobQuestion>& question) {
  a.version(kAnswersQuestions);
  a.list(question.shards);
  fields(a, question.wish.filter);
  fields(a, question.wish.order);
  a.any_time(question.wish.now);
  auto most = std::uint64_t{question.wish.most};
  a.number(most);
  if constexpr (A::kReads) {
    question.wish.most = most;
    a.check(
        std::ranges::adjacent_find(question.shards, std::ranges::greater_equal{}) == question.shards.end(),
        "its shards are not in their order");
    a.check(most <= kMostRows, "it wants too many rows");
    a.check(a.at_end(), "it is too long");
  }
}

template <class A>
void fields(A& a, In<A, JobAnswer>& answer) {
  a.version(kAnswersQuestions);
  a.flags(answer.is_cut);
  a.list(answer.shards);
  a.list(answer.jobs);
  if constexpr (A::kReads) a.check(a.at_end(), "it is too long");
}

std::string encode(const JobQuestion& question) { return to_bytes(question); }

Decoded<JobQuestion> decode_job_question(std::string_view bytes) {
  return decode<JobQuestion>(bytes, "question");
}

std::string encode(const JobAnswer& answer, std::size_t most_bytes) {
  JobAnswer head{.shards = answer.shards, .jobs = {}, .is_cut = answer.is_cut};
  const auto head_bytes = 16 + 8 * answer.shards.size();
  if (head_bytes > most_bytes) head.shards.clear();
  std::string jobs;
  std::uint32_t count = 0;
  for (const auto& job : answer.jobs) {
    const auto bytes = to_bytes(job);
    if (head_bytes + jobs.size() + bytes.size() > most_bytes) break;
    jobs += bytes;
    ++count;
  }
  head.is_cut = answer.is_cut || count < answer.jobs.size();
  auto bytes = to_bytes(head);
  bytes.resize(bytes.size() - sizeof count);  // the number of its jobs, 0, is the last field
  ByteWriter out(bytes);
  out.put(count);
  out.put_rest(jobs);
  return bytes;
}

Decoded<JobAnswer> decode_job_answer(std::string_view bytes) { return decode<JobAnswer>(bytes, "answer"); }

}  // namespace ordo::domain
