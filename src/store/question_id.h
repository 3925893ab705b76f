#pragma once

#include <string>
#include <string_view>

#include <ordo/time.hpp>

namespace ordo::store {

/// Names a question that is asked now: names of later ones sort behind it.
std::string question_id(Time now);
/// No question that was asked then or later has a lower id.
std::string first_question_id(Time then);

/// Under which a store that has rows keeps a question to the node, and its answer.
std::string question_row(std::string_view node, std::string_view id);
/// Behind all of the node's, and before those of others.
std::string end_of_question_rows(std::string_view node);

/// Throws Error{invalid_argument} unless the node may be asked that.
void check_question(std::string_view node, std::string_view bytes);
void check_answer(std::string_view bytes);

}  // namespace ordo::store
