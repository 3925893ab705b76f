#pragma once

#include <string>

#include <ordo/client.hpp>

#include "faces/object_text.h"

namespace ordo {

/// `object`, with the job that has the unique key of a rejected push, and until when it has it, if that is
/// known.
std::string rejected_push_json(ObjectText object, const Pushed& pushed);

}  // namespace ordo
