#include "runtime/question_desk.h"

#include <algorithm>

#include <fmt/format.h>

namespace ordo::runtime {

void QuestionDesk::take(std::vector<store::Question> questions) {
  for (auto& [id, bytes] : questions) {
    const bool is_known = std::ranges::any_of(open_, [&](const Open& open) { return open.id == id; });
    if (is_known || open_.size() >= store::kMostQuestions) continue;
    auto question = domain::decode_job_question(bytes);
    if (question) {
      open_.emplace_back(std::move(id), *std::move(question));
    } else if (scope_.hooks.answer) {
      scope_.hooks.answer(id, encode(domain::JobAnswer{}, store::kMostAnswerBytes));
    }
  }
}

void QuestionDesk::tick() {
  for (std::size_t looks = 0; !open_.empty() && answer_on(open_.front(), looks);) {
    finish(open_.front());
    open_.pop_front();
  }
}

// False: the rest is for the next tick.
bool QuestionDesk::answer_on(Open& open, std::size_t& looks) {
  const auto& [shards, wish] = open.question;
  const bool names_job = !wish.filter.id.empty() || !wish.filter.key.empty();
  for (; open.next < shards.size(); ++open.next) {
    ++looks;
    OwnedShard* shard = host_.owned(shards[open.next]);
    const bool is_readable = shard != nullptr && shard->ready && !shard->is_in_append && shard->needs == 0;
    if (!is_readable || !scope_.lease.valid()) continue;
    // And not by the time of who asks.
    open.question.wish.now = scope_.now;
    shard->machine.bring_up_due(scope_.now);
    const auto cost = shard->machine.looks_for(wish.filter.id, wish.filter.key);
    const auto room = kMostLooks + 1 - std::min(looks, kMostLooks + 1);
    if (cost <= kMostLooks) {
      if (cost > room) return false;
      looks += cost;
      open.listing.look(shard->machine, shard->id);
    } else {
      if (names_job || !wish.order.is_of_starts()) continue;
      const auto taken = open.listing.look_in_order(shard->machine, shard->id, room);
      if (!taken && looks > 1) return false;  // in the next tick there is more room
      looks += taken.value_or(room);
      if (!taken) continue;
    }
    open.answer.shards.push_back(shard->id);
  }
  return true;
}

void QuestionDesk::finish(Open& open) {
  open.answer.jobs = open.listing.take();
  scope_.say(LogLevel::debug, fmt::format("answered a question: {} jobs of {} shards",
                                          open.answer.jobs.size(), open.answer.shards.size()));
  if (scope_.hooks.answer) scope_.hooks.answer(open.id, encode(open.answer, store::kMostAnswerBytes));
}

}  // namespace ordo::runtime
