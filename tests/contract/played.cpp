#include "contract/played.h"

#include <algorithm>
#include <sstream>

#include "store/test_log.h"

namespace ordo::store {
namespace {

std::string text_of(ShardId shard) { return std::to_string(shard.queue) + "/" + std::to_string(shard.index); }

std::int64_t micros_of(Time time) { return time.time_since_epoch().count(); }

// Enough to tell bodies apart.
std::string body_text(std::string_view body) {
  std::ostringstream text;
  text << body.size() << "x" << (body.empty() ? 0 : static_cast<int>(static_cast<unsigned char>(body[0])));
  return text.str();
}

}  // namespace

void Played::learn() {
  std::vector<ShardId> shards;
  for (const auto& row : store().shards()) shards.push_back(row.shard);
  for (const auto& entry : read_log(store(), shards).rows) {
    auto& known = entries_[entry.shard];
    if (known.empty() || entry.seq > known.back()) known.push_back(entry.seq);
  }
}

void Played::learn(const std::vector<Grant>& grants) {
  grants_.insert(grants_.end(), grants.begin(), grants.end());
}

Seq Played::seq(ShardId shard, std::size_t place) {
  const auto& known = entries_[shard];
  if (place == 0) return 0;
  if (place <= known.size()) return known[place - 1];
  // So far away that it is not another shard's either, where all are counted as one.
  return (known.empty() ? 0 : known.back()) + 1'000'000'000;
}

std::size_t Played::place(ShardId shard, Seq seq) {
  const auto& known = entries_[shard];
  return static_cast<std::size_t>(std::upper_bound(known.begin(), known.end(), seq) - known.begin());
}

ShardRow Played::row(ShardId shard) {
  for (auto& row : store().shards()) {
    if (row.shard == shard) return row;
  }
  return {};
}

// By shard: only there their order is said.
std::vector<DeadRow> Played::dead(std::uint32_t queue) {
  auto rows = store().dead(queue, 0, 10'000);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.shard < b.shard; });
  return rows;
}

std::vector<std::uint64_t> Played::dead_nos(std::uint32_t queue, std::span<const std::size_t> places) {
  const auto rows = dead(queue);
  std::vector<std::uint64_t> nos;
  for (const auto place : places) nos.push_back(place < rows.size() ? rows[place].no : 0);
  return nos;
}

// A node looks for questions when it was woken, and not before the question can be found.
std::string Played::ask(const std::string& node, const std::string& bytes) {
  const auto log = store().open_log();
  while (log->read(1).woken) {
  }
  asked_.push_back({node, store().ask(node, bytes), bytes});
  const auto end = system_clock().steady() + kPatience;
  while (!log->read(1).woken) {
    if (system_clock().steady() > end) return "it wakes nobody";
    log->wait(std::chrono::seconds{1});
  }
  return "asked";
}

Played::Asked Played::asked(std::size_t back, const std::string& node) const {
  auto asked = back < asked_.size() ? asked_[asked_.size() - 1 - back] : Asked{"n1", "nobody-asked", "", {}};
  if (!node.empty()) asked.node = node;
  return asked;
}

std::string Played::questions(std::size_t back, const std::string& named) {
  const auto node = asked(back, named).node;
  ask("other", "");  // a store may show nothing to who was not woken since it looked
  asked_.pop_back();
  std::set<std::size_t> places;
  for (const auto& question : store().questions(node)) {
    const auto is_it = [&](const Asked& asked) {
      return asked.node == node && asked.id == question.id && asked.bytes == question.bytes;
    };
    const auto asked = std::ranges::find_if(asked_, is_it);
    if (asked == asked_.end()) return "one that nobody asked";
    places.insert(static_cast<std::size_t>(asked - asked_.begin()));
  }
  if (!rules_.takes_clock) return "as asked";
  std::string text;
  for (const auto place : places) text += "\n  question " + std::to_string(place);
  return text.empty() ? "none" : text;
}

std::string Played::answer(std::size_t back, const std::string& node, const std::string& bytes) {
  const auto question = asked(back, node);
  store().answer(question.node, question.id, bytes);
  settle();
  for (auto& asked : asked_) {
    if (asked.id == question.id) asked.answers.insert(bytes);
  }
  return "done";
}

std::string Played::take_answer(std::size_t back, const std::string& node) {
  const auto question = asked(back, node);
  const auto answer = store().take_answer(question.node, question.id);
  settle();
  if (rules_.takes_clock) return describe(answer);
  return !answer || question.answers.contains(*answer) ? "as given" : "one that nobody gave";
}

std::string Played::describe_log(std::span<const ShardId> shards) {
  std::string text;
  for (const auto shard : shards) {
    text += "\n " + text_of(shard) + describe(shard, read_log(store(), std::span(&shard, 1)));
  }
  return text;
}

std::string Played::describe(ShardId shard, const LogChunk& chunk) {
  std::ostringstream text;
  for (const auto& row : chunk.rows) {
    text << "\n  " << place(shard, row.seq) << " " << text_of(row.shard) << " " << body_text(chunk.body(row));
    if (rules_.local) text << " at " << micros_of(row.at);
  }
  return text.str();
}

std::string Played::describe(const std::vector<ShardFacts>& facts) {
  std::ostringstream text;
  for (const auto& fact : facts) {
    text << "\n  " << text_of(fact.shard) << " " << body_text(fact.counts) << ":";
    for (const auto& state : fact.states) text << " " << state.seq << "=" << body_text(state.bytes);
  }
  return text.str();
}

std::string Played::describe(const QueueDefinition& queue) const {
  std::ostringstream text;
  text << queue.number << " " << queue.name << " " << queue.shards << (queue.paused ? " paused" : "")
       << (queue.closed ? " closed" : "");
  return text.str();
}

std::string Played::describe(const std::vector<Grant>& grants) {
  std::ostringstream text;
  for (const auto& grant : grants) {
    text << "\n  " << text_of(grant.shard) << " " << grant.lease.holder << " batch " << grant.batch
         << (grant.clean ? " clean" : "");
    if (rules_.local) text << (grant.crashed ? " crashed" : "");
    if (rules_.local) text << " token " << grant.lease.token << " head " << grant.head;
  }
  return text.str();
}

std::string Played::describe(const std::vector<KeptRow>& rows) {
  std::ostringstream text;
  for (const auto& row : rows)
    text << "\n  " << row.no << " " << body_text(row.head) << " " << body_text(row.body);
  return text.str();
}

std::string Played::describe(const std::optional<std::string>& row) {
  return row ? "is " + body_text(*row) : "none";
}

std::string Played::describe(const std::vector<WaitRow>& rows) {
  std::ostringstream text;
  for (const auto& row : rows) {
    text << "\n  " << body_text(row.key) << " " << body_text(row.bytes) << (row.listed ? " listed" : "")
         << " until " << micros_of(row.until);
  }
  return text.str();
}

std::string Played::describe(const std::vector<RowResult>& results) {
  std::string text;
  for (const auto& [what, there] : results) {
    text += what == RowResult::What::done      ? "done "
            : what == RowResult::What::refused ? "refused "
                                               : "conflict ";
    if (what != RowResult::What::done || there) text += describe(there) + " ";
  }
  return text;
}

std::string Played::describe_dead(std::uint32_t queue) {
  std::ostringstream text;
  for (const auto& row : dead(queue)) {
    text << "\n  " << text_of(row.shard) << " at " << micros_of(row.at) << " " << body_text(row.bytes);
  }
  return text.str();
}

std::string Played::describe_nodes() {
  std::ostringstream text;
  if (rules_.takes_clock) text << "at " << micros_of(store().now()) << "\n";
  for (const auto& row : store().shards()) text << text_of(row.shard) << " of " << row.owner << "\n";
  for (const auto& node : store().nodes()) {
    text << node.id << " " << body_text(node.facts) << (node.gone ? " gone" : "") << " "
         << static_cast<int>(node.request);
    if (rules_.local) text << " " << node.renewals;
    text << "\n";
  }
  return text.str();
}

std::string Played::describe_all() {
  std::ostringstream text;
  std::vector<ShardId> shards;
  for (const auto& row : store().shards()) {
    shards.push_back(row.shard);
    text << "\n  " << text_of(row.shard) << " batch " << row.batch << " at " << place(row.shard, row.position)
         << " " << body_text(row.counts) << " dead " << row.dead << " trimmed " << row.dead_trimmed;
    if (rules_.local) text << " token " << row.token;
    for (const auto& head : store().kept_heads(row.shard, 0, 100)) {
      text << " kept " << head.no << " " << body_text(head.head);
      for (const auto& kept : store().kept(row.shard, std::span(&head.no, 1)))
        text << body_text(kept.head) << body_text(kept.body);
    }
  }
  text << (store().is_replaced() ? "\nreplaced" : "");
  const auto queues = store().queues();
  if (rules_.local) text << "\nversion " << queues.version;
  for (const auto& queue : queues.queues) {
    text << "\n " << describe(queue) << describe_dead(queue.number);
    for (const auto& name : {queue.name, Store::unique_rows(queue.name)})
      text << "\n " << name << describe(store().wait_rows(name, "", 100));
  }
  text << "\n" << describe_log(shards) << describe(store().load(shards));
  return text.str();
}

}  // namespace ordo::store
