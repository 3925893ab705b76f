#include "store/sqlite/questions.h"

#include "store/question_id.h"

namespace ordo::store::sqlite {
namespace {

constexpr std::string_view kAskRows = "!ask";  // listed: not answered

std::int64_t ask_us(Time time) { return time.time_since_epoch().count(); }

}  // namespace

// Whoever asks takes those away that nobody fetched.
void put_question(Writer& writer, const std::string& node, const Question& question) {
  constexpr std::uint64_t kSwept = 20;
  Statement(writer.connection(),
            "DELETE FROM wait WHERE rowid IN"
            " (SELECT rowid FROM wait WHERE queue=?3 AND until<=?1 LIMIT ?2)")
      .bind(ask_us(writer.now()), kSwept, kAskRows)
      .run();
  const auto key = question_row(node, question.id);
  Statement(writer.connection(),
            "INSERT OR REPLACE INTO wait(queue, key, listed, until, body) VALUES(?1, ?2, 1, ?3, ?4)")
      .bind(kAskRows, Blob{key}, ask_us(writer.now() + kQuestionLife), Blob{question.bytes})
      .run();
}

bool put_answer(Writer& writer, const std::string& node, const std::string& id, const std::string& bytes) {
  const auto key = question_row(node, id);
  Statement answer(
      writer.connection(),
      "UPDATE wait SET listed=0, until=?3, body=?4 WHERE queue=?1 AND key=?2 AND listed AND until>?5");
  return answer
             .bind(kAskRows, Blob{key}, ask_us(writer.now() + kQuestionLife), Blob{bytes},
                   ask_us(writer.now()))
             .run() == 1;
}

void drop_answer(Writer& writer, const std::string& node, const std::string& id) {
  const auto key = question_row(node, id);
  Statement(writer.connection(), "DELETE FROM wait WHERE queue=?1 AND key=?2")
      .bind(kAskRows, Blob{key})
      .run();
}

std::vector<Question> read_questions(Connection& connection, const std::string& node, Time now) {
  const auto first = question_row(node, ""), end = end_of_question_rows(node);
  Statement open(connection,
                 "SELECT key, body FROM wait WHERE queue=?1 AND key>?2 AND key<?3 AND listed AND until>?4"
                 " ORDER BY key LIMIT ?5");
  open.bind(kAskRows, Blob{first}, Blob{end}, ask_us(now), std::uint64_t{kMostQuestions});
  std::vector<Question> questions;
  while (open.step())
    questions.push_back({std::string(open.bytes(0).substr(first.size())), std::string(open.bytes(1))});
  return questions;
}

std::optional<std::string> read_answer(Connection& connection, const std::string& node, const std::string& id,
                                       Time now) {
  const auto key = question_row(node, id);
  Statement answer(connection, "SELECT body FROM wait WHERE queue=?1 AND key=?2 AND NOT listed AND until>?3");
  if (!answer.bind(kAskRows, Blob{key}, ask_us(now)).step()) return std::nullopt;
  return std::string(answer.bytes(0));
}

}  // namespace ordo::store::sqlite
