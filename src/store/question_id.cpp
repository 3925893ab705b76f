#include "store/question_id.h"

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/random.h"
#include "store/limits.h"
#include "store/store.h"

namespace ordo::store {

std::string first_question_id(Time then) {
  return fmt::format("{:016x}", static_cast<std::uint64_t>(then.time_since_epoch().count()));
}

std::string question_id(Time now) {
  return first_question_id(now) + fmt::format("{:016x}", Random::from_system().next());
}

std::string question_row(std::string_view node, std::string_view id) {
  return std::string(node) + "/" + std::string(id);
}

std::string end_of_question_rows(std::string_view node) { return std::string(node) + "0"; }

void check_question(std::string_view node, std::string_view bytes) {
  check_node(node);
  if (bytes.size() > kMostQuestionBytes) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("a node is asked {} bytes: ask at most {}", bytes.size(), kMostQuestionBytes));
  }
}

void check_answer(std::string_view bytes) {
  if (bytes.size() > kMostAnswerBytes) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("an answer has {} bytes: at most {} are kept", bytes.size(), kMostAnswerBytes));
  }
}

}  // namespace ordo::store
