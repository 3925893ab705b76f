#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/writer.h"
#include "store/store.h"

// Questions to nodes and their answers: rows of waits under a name that no queue has. Those of a writer run
// inside its transaction.
namespace ordo::store::sqlite {

void put_question(Writer& writer, const std::string& node, const Question& question);
/// False: nobody asked, or somebody has answered.
bool put_answer(Writer& writer, const std::string& node, const std::string& id, const std::string& bytes);
void drop_answer(Writer& writer, const std::string& node, const std::string& id);

std::vector<Question> read_questions(Connection& connection, const std::string& node, Time now);
std::optional<std::string> read_answer(Connection& connection, const std::string& node, const std::string& id,
                                       Time now);

}  // namespace ordo::store::sqlite
