// What is kept of a job that has ended, and of a failed attempt. It goes with the delta that ends the job.
#include "domain/error_text.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kRecordWithoutPayloads = 32U << 10;  // of a record: all but its payloads

bool keep_payload(KeptRecord& record, const Piece& piece, std::size_t& left) {
  const auto bytes = piece.bytes.present() ? piece.bytes.view() : std::string_view{};
  if (!piece.bytes.present() || bytes.size() + sizeof piece.score > left) return false;
  left -= bytes.size() + sizeof piece.score;
  record.payloads.push_back({std::string(bytes), piece.score});
  return true;
}

}  // namespace

void Shard::keep(const Job& job, const Ending& ending) {
  if (!keeps(job)) return;
  const auto& kind = kinds_[job.kind];
  const auto* run = ending.run;
  KeptRecord record;
  record.ending = ending.as;
  record.kind = kind.name;
  record.key = job.key();
  record.id = job.id();
  record.arrival = job.arrival();
  record.pushed = job.own_time ? (job.extra ? job.extra->pushed : Time{}) : job.run_at;
  record.started = run != nullptr ? run->started : Time{};
  const bool started_before = job.extra && job.extra->first_start != Time{};
  if (ending.as != JobStatus::failed && started_before) record.started = job.extra->first_start;
  record.ended = ending.at;
  if (run != nullptr && run->lent) record.node = run->lent->node;
  record.retry_count = job.retry_count();
  record.error_kind = ending.error_kind;
  record.error = cut(ending.error);
  if (kind.rules.keep_payloads && ending.as != JobStatus::failed) {
    auto left = kMostRecordBytes - kRecordWithoutPayloads;
    for (const auto& piece : job.payloads.pieces()) record.is_cut |= !keep_payload(record, piece, left);
  }
  changes_.keep(record);
}

// Its time is about to be another than that of its first payload.
void Shard::note_pushed(Job& job) {
  if (!job.own_time && keeps(job)) job.more().pushed = job.run_at;
}

// It is going to run again.
void Shard::note_start(Job& job, const ActiveRun& run) {
  if (!keeps(job)) return;
  note_pushed(job);
  if (job.extra && job.extra->first_start != Time{}) return;
  job.more().first_start = run.started;
}

}  // namespace ordo::domain
