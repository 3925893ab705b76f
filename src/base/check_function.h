#pragma once

#include <string>

#include <ordo/error.hpp>

namespace ordo {

/// A function that somebody gave is there: an empty one is refused at once, not when it is called.
template <class Function>
void check_function(const std::string& call, const Function& function) {
  if (!function) throw Error(ErrorKind::invalid_argument, call + " needs a function");
}

}  // namespace ordo
