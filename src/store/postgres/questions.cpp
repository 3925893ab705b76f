// Questions to nodes and their answers: rows of waits under a name that no queue has. Each is written three
// times and gone; whoever looks for the open ones begins at those of the last seconds, and does not walk what
// an old snapshot keeps. No disk is waited for, and no standby.
#include "store/postgres/postgres_store.h"
#include "store/question_id.h"

namespace ordo::store::postgres {
namespace {

/// Whoever reads the logs waits for this meanwhile.
constexpr Duration kReadersPatience = std::chrono::seconds{1};
constexpr std::int64_t kLifeUs = std::chrono::duration_cast<std::chrono::microseconds>(kQuestionLife).count();

}  // namespace

std::string PostgresStore::ask(const std::string& node, std::string bytes) {
  check_question(node, bytes);
  auto id = question_id(now());
  ask("ask a node through", R"sql(
WITH light AS MATERIALIZED (
       SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '500ms', true), ordo_now($3) AS now),
     swept AS (
       DELETE FROM ordo_wait w USING (SELECT o.queue, o.key FROM light, ordo_wait o
                                       WHERE o.until <= light.now AND o.until > light.now - 60000000
                                         AND o.until < 9223372036854775807 AND o.queue = '!ask'
                                       LIMIT 20 FOR UPDATE OF o SKIP LOCKED) gone
        WHERE w.queue = gone.queue AND w.key = gone.key)
INSERT INTO ordo_wait(queue, key, listed, until, body)
  SELECT '!ask', $1, true, now + $4, $2 FROM light
RETURNING ordo_wake())sql",
      Parameters().bytes(question_row(node, id)).bytes(bytes).maybe(given_now()).number(kLifeUs));
  context_.wakers.wake_all();
  return id;
}

std::vector<Question> PostgresStore::questions(const std::string& node) {
  const auto first = question_row(node, first_question_id(now() - 2 * kQuestionLife));
  const auto rows = ask("look for questions in",
                        "SELECT key, body FROM ordo_wait"
                        " WHERE queue = '!ask' AND key > $1 AND key < $2 AND listed AND until > ordo_now($3)"
                        " ORDER BY key LIMIT $4",
                        Parameters()
                            .bytes(first)
                            .bytes(end_of_question_rows(node))
                            .maybe(given_now())
                            .number(std::uint64_t{kMostQuestions}),
                        kReadersPatience);
  std::vector<Question> questions;
  for (int row = 0; row < rows.rows(); ++row) {
    questions.push_back(
        {std::string(rows.bytes(row, 0).substr(node.size() + 1)), std::string(rows.bytes(row, 1))});
  }
  return questions;
}

void PostgresStore::answer(const std::string& node, const std::string& id, std::string bytes) {
  check_answer(bytes);
  ask("answer a question in", R"sql(
WITH light AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true), ordo_now($3) AS now)
UPDATE ordo_wait w SET listed = false, until = light.now + $4, body = $2
  FROM light WHERE w.queue = '!ask' AND w.key = $1 AND w.listed AND w.until > light.now)sql",
      Parameters().bytes(question_row(node, id)).bytes(bytes).maybe(given_now()).number(kLifeUs));
}

std::optional<std::string> PostgresStore::take_answer(const std::string& node, const std::string& id) {
  const auto key = question_row(node, id);
  const auto rows = ask("read an answer in",
                        "SELECT body FROM ordo_wait WHERE queue = '!ask' AND key = $1 AND NOT listed"
                        " AND until > ordo_now($2)",
                        Parameters().bytes(key).maybe(given_now()));
  if (rows.rows() == 0) return std::nullopt;
  ask("drop an answer in", R"sql(
WITH light AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS is)
DELETE FROM ordo_wait w USING light WHERE w.queue = '!ask' AND w.key = $1 AND light.is = 'off')sql",
      Parameters().bytes(key));
  return std::string(rows.bytes(0, 0));
}

}  // namespace ordo::store::postgres
