// What is played of the log, the owner, the queues, the nodes and the dead, and how often what is played.
#include "contract/player.h"

#include <algorithm>

#include "contract/world.h"
#include "store/test_log.h"

namespace ordo::store {

std::vector<Player::Choice> Player::choices() {
  return {
      {"append", 20, &Player::append},
      {"read", 10, &Player::read},
      {"fetch", 3, &Player::fetch},
      {"wake", 1, &Player::wake},
      {"commit", 25, &Player::commit},
      {"load", 3, &Player::load},
      {"define", 4, &Player::define},
      {"define_all", 2, &Player::define_all},
      {"set_paused", 2, &Player::set_paused},
      {"remove", 1, &Player::remove},
      {"close", 2, &Player::close},
      {"replace", 2, &Player::replace},
      {"join", 4, &Player::join},
      {"renew", 4, &Player::renew},
      {"request", 2, &Player::request},
      {"leave", 2, &Player::leave},
      {"kill", 1, &Player::kill},
      {"setbacks", 1, &Player::setbacks},
      {"acquire", 14, &Player::acquire},
      {"release", 3, &Player::release},
      {"dead", 3, &Player::list_dead},
      {"erase_dead", 3, &Player::erase_dead},
      {"revive", 4, &Player::revive},
      {"kept_heads", 2, &Player::kept_heads},
      {"kept", 2, &Player::kept},
      {"replace_kept", 4, &Player::replace_kept},
      {"wait_row", 3, &Player::wait_row},
      {"wait_rows", 3, &Player::wait_rows},
      {"step_rows", 18, &Player::step_rows},
      {"ask", 4, &Player::ask},
      {"questions", 2, &Player::questions},
      {"answer", 2, &Player::answer},
      {"take_answer", 2, &Player::take_answer},
      {"reopen", 1, &Player::reopen},
      {"look around", 3, &Player::look_around},
  };
}

std::vector<std::string_view> Player::verbs() {
  std::vector<std::string_view> verbs;
  for (const auto& choice : choices()) verbs.push_back(choice.verb);
  return verbs;
}

Move Player::made(const Choice& choice) {
  auto move = (this->*choice.make)();
  move.verb = choice.verb;
  return move;
}

Move Player::next() {
  const auto all = choices();
  if (!planned_.empty() && chance(60)) {
    const auto verb = planned_.front();
    planned_.erase(planned_.begin());
    return made(*std::ranges::find(all, verb, &Choice::verb));
  }
  unsigned total = 0;
  for (const auto& choice : all) total += choice.weight;
  auto ticket = random_.below(total);
  for (const auto& choice : all) {
    if (ticket < choice.weight) return made(choice);
    ticket -= choice.weight;
  }
  return {};
}

Duration Player::time_step(bool is_timed) {
  auto step = Duration{static_cast<std::int64_t>(random_.below(3'000'000)) - 500'000};
  if (is_timed) step = std::max(step, latest_ - now_);
  now_ += step;
  latest_ = std::max(latest_, now_);
  return step;
}

void Player::learn(Played& played) {
  auto& specification = played.store();
  shards_ = specification.shards();
  queues_ = specification.queues().queues;
  grants_.clear();
  held_.clear();
  for (std::size_t i = played.grants() - std::min<std::size_t>(played.grants(), 12); i < played.grants();
       ++i) {
    const auto& [shard, lease, batch, head, clean, crashed] = played.grant(i);
    const auto row = std::ranges::find(shards_, shard, &ShardRow::shard);
    const auto queue = std::ranges::find(queues_, shard.queue, &QueueDefinition::number);
    const bool is_closed = queue != queues_.end() && queue->closed;
    if (is_closed) continue;  // nobody commits to it any more
    grants_.emplace_back(i, shard);
    if (row != shards_.end() && !row->owner.empty() && row->token == lease.token)
      held_.emplace_back(i, shard);
  }
  dead_.clear();
  for (const auto& queue : queues_) {
    if (const auto count = specification.dead(queue.number, 0, 100).size(); count > 0)
      dead_.emplace_back(queue.number, count);
  }
  keepers_.clear();
  for (const auto& row : shards_) {
    if (!specification.kept_heads(row.shard, 0, 1).empty()) keepers_.push_back(row.shard);
  }
  learn_rows(specification);
}

ShardId Player::any_shard() {
  if (shards_.empty() || chance(4)) {
    return {static_cast<std::uint32_t>(random_.below(6)), static_cast<std::uint32_t>(random_.below(5))};
  }
  return shards_[random_.below(shards_.size())].shard;
}

std::vector<ShardId> Player::some_shards() {
  std::vector<ShardId> shards(random_.below(5));
  for (auto& shard : shards) shard = any_shard();
  return shards;
}

std::string Player::any_queue() {
  const auto name = std::string(1, static_cast<char>('a' + random_.below(3)));
  if (!queues_.empty() && chance(40)) return queues_[random_.below(queues_.size())].name;
  return chance(15) ? QueueDefinition::hidden_name(name) : name;
}

std::string Player::any_bytes() {
  return std::string(random_.below(chance(3) ? 9000 : 30), static_cast<char>(random_.below(256)));
}

Time Player::any_time() {
  return Time{std::chrono::seconds{1'700'000'000 + static_cast<std::int64_t>(random_.below(200))}};
}

// A shard that takes nothing has the append for itself.
void Player::leave_alone(std::vector<NewEntry>& entries) {
  const auto takes = [&](const NewEntry& entry) {
    const auto queue = std::ranges::find(queues_, entry.shard.queue, &QueueDefinition::number);
    return queue != queues_.end() && !queue->closed && entry.shard.index < queue->shards;
  };
  const auto unknown = std::find_if_not(entries.begin(), entries.end(), takes);
  if (unknown == entries.end()) return;
  const auto shard = unknown->shard;
  for (auto& entry : entries) entry.shard = shard;
}

Move Player::append() {
  std::vector<NewEntry> entries(random_.below(6));
  for (auto& entry : entries) entry = {.shard = any_shard(), .bytes = any_bytes()};
  if (!rules_.whole) leave_alone(entries);
  return {"append", [entries](Played& played) {
            append_and_wait(played.store(), entries);
            return std::string("done");
          }};
}

Move Player::read() {
  const auto shard = any_shard();
  const auto place = any_place();
  return {"read", [=](Played& played) {
            const auto after = played.seq(shard, place);
            return played.describe(shard, read_log(played.world().second(), std::span(&shard, 1), after));
          }};
}

Move Player::fetch() {
  const auto shard = any_shard();
  const std::size_t first = any_place(), step = 1 + random_.below(5);
  return {"fetch", [=](Played& played) {
            std::vector<Seq> seqs;
            for (auto place = first; seqs.size() < 5; place += step) {
              const auto seq = played.seq(shard, place);
              if (seqs.empty() || seq > seqs.back()) seqs.push_back(seq);
              if (place > 100) break;
            }
            return played.describe(shard, played.store().fetch(shard, seqs));
          }};
}

// A delta in places: `erase`, `position` and the lease are filled in where it is played.
struct Player::Draft {
  Delta delta;
  std::optional<std::size_t> grant;
  std::size_t position = 0;
  std::uint64_t batch_step = 1;
  bool wrong_holder = false;
  std::vector<std::size_t> erase, set_aside;
};

Player::Draft Player::any_draft() {
  Draft draft;
  auto& delta = draft.delta;
  if (grants_.empty()) {
    delta.shard = any_shard();
    return draft;
  }
  const auto& grants = !held_.empty() && chance(50) ? held_ : grants_;
  std::tie(draft.grant, delta.shard) = grants[random_.below(grants.size())];
  draft.batch_step = chance(80) ? 1 : random_.below(3);
  draft.wrong_holder = chance(5);
  for (auto count = random_.below(4); count > 0; --count)
    delta.states.push_back({own_seq(delta.shard), any_bytes()});
  for (auto count = random_.below(3); count > 0; --count) delta.erase_states.push_back(own_seq(delta.shard));
  for (auto count = random_.below(8); count > 0; --count) draft.erase.push_back(any_place());
  for (auto count = random_.below(4); count > 0; --count) draft.set_aside.push_back(any_place());
  for (auto count = random_.below(3); count > 0; --count) {
    delta.dead.push_back({.at = any_time(), .bytes = any_bytes()});
  }
  if (chance(30)) delta.max_dead = 1 + random_.below(5);
  if (chance(20)) delta.dead_before = any_time();
  if (chance(45)) delta.keep = {random_.below(6), any_bytes(), any_bytes()};
  if (chance(20)) delta.erase_kept = {random_.below(6), random_.below(6)};
  if (delta.keep) std::erase(delta.erase_kept, delta.keep->no);  // no owner does
  draft.position = any_place();
  delta.counts = any_bytes();
  return draft;
}

Delta Player::finished(const Draft& draft, Played& played) {
  auto delta = draft.delta;
  if (draft.grant) delta.lease = played.grant(*draft.grant).lease;
  if (draft.wrong_holder) ++delta.lease.holder;
  delta.batch = played.row(delta.shard).batch + draft.batch_step;
  // No owner names a number that it has not read: elsewhere the next entry has quite another one.
  delta.position = played.seq(delta.shard, std::min(draft.position, played.entries(delta.shard)));
  for (const auto place : draft.erase) delta.erase.push_back(played.seq(delta.shard, place));
  for (const auto place : draft.set_aside) delta.set_aside.push_back(played.seq(delta.shard, place));
  return delta;
}

// State numbers that no other shard uses.
Seq Player::own_seq(ShardId shard) { return random_.below(6) * 1000 + shard.queue * 10 + shard.index; }

Move Player::wake() {
  return {"wake", [](Played& played) {
            played.store().wake();
            return std::string("done");
          }};
}

Move Player::commit() {
  std::vector<Draft> drafts(1 + random_.below(3));
  for (auto& draft : drafts) draft = any_draft();
  return {"commit", [drafts](Played& played) {
            std::vector<Delta> deltas;
            for (const auto& draft : drafts) deltas.push_back(finished(draft, played));
            std::string text;
            for (const auto result : commit_and_wait(played.store(), std::move(deltas)))
              text += result == CommitResult::applied ? "applied " : "stale ";
            return text;
          }};
}

Move Player::load() {
  const auto shards = some_shards();
  return {"load", [=](Played& played) { return played.describe(played.store().load(shards)); }};
}

Move Player::define() {
  auto name = any_queue();
  const auto closed = std::ranges::find(queues_, true, &QueueDefinition::closed);
  if (closed != queues_.end() && chance(70)) name = QueueDefinition::hidden_name(closed->shown_name());
  const auto shards = static_cast<std::uint32_t>(random_.below(4));
  return {"define " + name,
          [=](Played& played) { return played.describe(played.store().define(name, shards)); }};
}

// By their names, each once: which of the new ones gets which number is left open.
Move Player::define_all() {
  std::vector<QueueWish> wishes;
  for (const char name : {'a', 'b', 'c'}) {
    const auto shards = static_cast<std::uint32_t>(chance(95) ? 1 + random_.below(3) : 0);
    if (chance(50)) wishes.push_back({std::string(1, name), shards});
  }
  return {"define_all", [=](Played& played) {
            std::string text;
            for (const auto& queue : played.store().define_all(wishes))
              text += "\n  " + played.describe(queue);
            return text;
          }};
}

Move Player::set_paused() {
  const auto name = any_queue();
  const bool paused = chance(50);
  return {"set_paused " + name,
          [=](Played& played) { return std::to_string(played.store().set_paused(name, paused)); }};
}

Move Player::remove() {
  const auto name = any_queue();
  return {"remove " + name, [=](Played& played) { return std::to_string(played.store().remove(name)); }};
}

Move Player::close() {
  const auto name = any_queue();
  planned_ = {"define", "replace"};
  return {"close " + name, [=](Played& played) { return std::to_string(played.store().close(name)); }};
}

Move Player::replace() {
  auto name = any_queue();
  auto by = static_cast<std::uint32_t>(random_.below(9));
  const auto closed = std::ranges::find(queues_, true, &QueueDefinition::closed);
  if (closed != queues_.end() && chance(75)) name = closed->name;
  if (!queues_.empty() && chance(90)) by = queues_[random_.below(queues_.size())].number;
  const auto hidden = std::ranges::find(queues_, QueueDefinition::hidden_name(name), &QueueDefinition::name);
  if (hidden != queues_.end() && chance(75)) by = hidden->number;
  return {"replace " + name + " by " + std::to_string(by),
          [=](Played& played) { return std::to_string(played.store().replace(name, by)); }};
}

Move Player::join() {
  const auto node = any_node();
  const auto facts = any_bytes();
  return {"join " + node, [=](Played& played) {
            if (played.local()) played.world().kill(node);  // else it would live twice
            played.world().join_elsewhere(node, facts);
            return std::string("done");
          }};
}

Move Player::renew() {
  const auto node = any_node();
  return {"renew " + node, [=](Played& played) { return std::to_string(played.store().renew(node)); }};
}

Move Player::request() {
  const auto node = any_node();
  const auto what = static_cast<NodeRequest>(random_.below(3));
  return {"request " + node,
          [=](Played& played) { return std::to_string(played.store().request(node, what)); }};
}

Move Player::leave() {
  const auto node = any_node();
  const bool looks = chance(50), is_late = chance(40);
  return {"leave " + node, [=](Played& played) {
            std::optional<std::uint64_t> seen;
            for (const auto& row : played.store().nodes()) {
              if (looks && row.id == node) seen = row.renewals - (is_late ? 1 : 0);
            }
            played.store().leave(node, seen);
            return std::string("done");
          }};
}

Move Player::kill() {
  const auto node = any_node();
  return {"kill " + node, [=](Played& played) {
            if (played.local()) played.world().kill(node);
            return std::string("done");
          }};
}

// How long ago one was noted a server says by its own clock. A file never goes back, and notes none.
Move Player::setbacks() {
  const bool is_known = !rules_.local && chance(30);
  return {"setbacks", [=](Played& played) {
            const auto count = played.store().setbacks();
            return std::to_string(count) + (played.store().setback_age(is_known) ? " noted" : " none");
          }};
}

Move Player::acquire() {
  struct Wish {
    ShardId shard;
    bool wrong_token, wrong_renewals;
  };
  const auto node = any_node();
  const auto holder = random_.below(5);
  std::vector<Wish> wishes;
  for (const auto shard : some_shards()) {
    const bool again =
        std::any_of(wishes.begin(), wishes.end(), [&](const auto& wish) { return wish.shard == shard; });
    if (!again) wishes.push_back({shard, chance(5), chance(30)});
  }
  return {"acquire " + node, [=](Played& played) {
            std::vector<Claim> claims;
            const auto nodes = played.store().nodes();
            for (const auto& wish : wishes) {
              const auto row = played.row(wish.shard);
              Claim claim{wish.shard, row.owner, row.token + (wish.wrong_token ? 1 : 0), 0};
              for (const auto& owner : nodes) {
                if (owner.id == row.owner)
                  claim.seen_renewals = owner.renewals - (wish.wrong_renewals ? 1 : 0);
              }
              claims.push_back(std::move(claim));
            }
            const auto grants = played.store().acquire(node, holder, claims);
            played.learn(grants);
            return played.describe(grants);
          }};
}

Move Player::release() {
  std::optional<std::size_t> grant;
  if (!grants_.empty()) grant = grants_[random_.below(grants_.size())].first;
  const auto other = any_shard();
  const bool as_unused = chance(30);
  return {"release", [=](Played& played) {
            std::vector<Release> ends;
            if (grant) {
              const auto granted = played.grant(*grant);
              ends.push_back(as_unused ? granted.unused() : Release{granted.shard, granted.lease});
            }
            ends.push_back({other, {.token = 1, .holder = 1}});
            played.store().release(ends);
            return std::string("done");
          }};
}

Move Player::list_dead() {
  const auto queue = any_shard().queue;
  return {"dead", [=](Played& played) { return played.describe_dead(queue); }};
}

std::pair<std::uint32_t, std::vector<std::size_t>> Player::some_dead() {
  std::vector<std::size_t> places;
  if (dead_.empty() || chance(10)) return {any_shard().queue, {0}};
  const auto [queue, count] = dead_[random_.below(dead_.size())];
  for (std::size_t place = 0; place < count; ++place) {
    if (chance(30)) places.push_back(place);
  }
  return {queue, places};
}

Move Player::erase_dead() {
  const auto choice = some_dead();
  return {"erase_dead", [choice](Played& played) {
            const auto nos = played.dead_nos(choice.first, choice.second);
            return std::to_string(played.store().erase_dead(choice.first, nos));
          }};
}

Move Player::revive() {
  const auto choice = some_dead();
  std::vector<NewEntry> entries;
  for (std::size_t i = 0; i < choice.second.size(); ++i)
    entries.push_back({.shard = any_shard(), .bytes = any_bytes()});
  return {"revive", [choice, entries](Played& played) {
            const auto nos = played.dead_nos(choice.first, choice.second);
            return std::to_string(played.store().revive(choice.first, nos, entries));
          }};
}

Move Player::reopen() {
  return {"reopen",
          [](Played& played) {
            if (played.local()) {
              for (const auto& node : played.store().nodes()) played.world().kill(node.id);
            }
            played.world().reopen();
            return std::string("done");
          },
          true};
}

Move Player::look_around() {
  return {"look around", [](Played& played) { return played.describe_nodes() + played.describe_all(); },
          false, true};
}

}  // namespace ordo::store
