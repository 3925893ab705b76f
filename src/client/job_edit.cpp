// Another payload for a waiting job, or for a dead one.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/name.h"
#include "base/shorten.h"
#include "client/admin_impl.h"
#include "client/several_jobs.h"
#include "domain/records.h"
#include "store/blocking.h"

namespace ordo {
namespace {

void check_payload(std::string_view call, const std::string& payload, const QueueOptions* rules) {
  const auto most = rules != nullptr ? rules->max_payload : kLongestPayload;
  if (payload.size() <= most) return;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: the payload has {} bytes, at most {} fit; nothing was done", call,
                          payload.size(), most));
}

/// Which of the payloads with these scores is meant.
std::size_t place_of(std::string_view call, const std::string& id, const std::vector<double>& scores,
                     std::optional<double> score) {
  constexpr std::size_t kShown = 10;
  if (scores.size() == 1 && !score) return 0;
  const auto count = score ? std::ranges::count(scores, *score) : 0;
  if (count == 1) return static_cast<std::size_t>(std::ranges::find(scores, *score) - scores.begin());
  std::string shown;
  for (std::size_t i = 0; i < std::min(scores.size(), kShown); ++i)
    shown += (i > 0 ? ", " : "") + json_number(scores[i]);
  if (scores.size() > kShown) shown += fmt::format(" and {} more", scores.size() - kShown);
  const auto why =
      !score
          ? fmt::format("has {} payloads; their scores are {}: say which one is meant", scores.size(), shown)
      : count == 0
          ? fmt::format("has no payload with the score {}; its scores are {}", json_number(*score), shown)
          : fmt::format("has {} payloads with the score {}; they cannot be told apart", count,
                        json_number(*score));
  throw Error(ErrorKind::conflict, fmt::format("{}: job {} {}; nothing was done", call, in_quotes(id), why));
}

/// Of equal payloads, the score that counts.
double score_of(const std::vector<domain::EditedEntry>& entries, EqualPayloads which) {
  const auto [least, most] = std::ranges::minmax(entries, {}, &domain::EditedEntry::score);
  return which == EqualPayloads::newest ? most.score : least.score;
}

}  // namespace

bool Admin::Impl::edit(std::string_view name, const JobName& job, const std::string& payload,
                       std::optional<double> score) {
  if (job.id.empty()) throw Error(ErrorKind::invalid_argument, "a job needs an id");
  check_payload("edit", payload, handle_->options(name));
  bool is_found = false;
  handle_->until_done(name, [&](const store::QueueDefinition& queue) {
    is_found = edit(queue, job, payload, score);
    return is_found;
  });
  return is_found;
}

bool Admin::Impl::edit(const store::QueueDefinition& queue, const JobName& job, const std::string& payload,
                       std::optional<double> score) {
  const auto listed = waiting_job("edit", queue, job);
  if (!listed) return false;
  // A payload that was pushed twice is one, although it may have two entries.
  std::map<std::string, std::vector<domain::EditedEntry>> payloads;
  std::set<store::ShardId> owned;
  read_entries({&*listed, 1}, owned,
               [&](std::size_t, domain::Seq seq, double of, const domain::Entry& entry) {
                 payloads[std::string(entry.payload)].push_back({seq, of});
               });
  if (payloads.empty()) return false;  // it has ended meanwhile
  const auto* options = handle_->options(queue.name);
  const auto which = domain::equal_payloads_of(
      options_of(options != nullptr ? *options : QueueOptions{}, listed->view.kind));
  std::vector<std::pair<double, const std::vector<domain::EditedEntry>*>> by_score;
  for (const auto& [bytes, entries] : payloads) by_score.emplace_back(score_of(entries, which), &entries);
  std::ranges::sort(by_score);
  std::vector<double> scores;
  for (const auto& [of, entries] : by_score) scores.push_back(of);
  const auto& [its_score, entries] = by_score[place_of("edit", job.id, scores, score)];
  domain::Entry entry;
  entry.type = domain::EntryType::edit;
  entry.kind = listed->view.kind;
  entry.key = listed->view.key;
  entry.id = listed->view.id;
  entry.score = its_score;
  entry.payload = payload;
  entry.edits = *entries;
  // Until an owner has read them, entries may get other numbers: their scores must do.
  if (!owned_now().contains(listed->shard)) {
    for (auto& edited : entry.edits) edited.seq = 0;
  }
  store::append_and_wait(handle_->store(), {{listed->shard, domain::encode(entry)}});
  return true;
}

bool Admin::Impl::edit_dead(std::string_view name, const JobName& job, const std::string& payload,
                            std::optional<double> score) {
  check_payload("dead edit", payload, handle_->options(name));
  bool is_found = false;
  if (!handle_->existing_queue(name)) return is_found;
  handle_->until_done(name, [&](const store::QueueDefinition& queue) {
    is_found = edit_dead(queue, job, payload, score);
    return is_found;
  });
  return is_found;
}

bool Admin::Impl::edit_dead(const store::QueueDefinition& queue, const JobName& job,
                            const std::string& payload, std::optional<double> score) {
  KindsAndKeys found;
  std::vector<std::pair<store::DeadRow, domain::DeadPayload>> rows;
  each_dead(queue, {.ids = {{job.id}}, .kind = job.kind, .key = job.key},
            [&](const store::DeadRow& row, const domain::DeadPayload& dead) {
              found.emplace(dead.kind, dead.key);
              rows.emplace_back(row, dead);
              return true;
            });
  if (rows.empty()) return false;
  if (found.size() > 1) throw several_jobs("dead edit", queue.name, job.id, found);
  std::vector<double> scores;
  for (const auto& [row, dead] : rows) scores.push_back(dead.score);
  auto& [row, dead] = rows[place_of("dead edit", job.id, scores, score)];
  if (dead.is_entry || !domain::decode_dead(row.bytes)) {
    throw Error(ErrorKind::conflict, fmt::format("dead edit: job {} cannot be read: {}; nothing was done",
                                                 in_quotes(job.id), dead.error));
  }
  dead.payload = payload;
  return revive_one("dead edit", queue, row, dead);
}

}  // namespace ordo
