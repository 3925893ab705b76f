#include "execute/library.h"

#include <dlfcn.h>

#include <exception>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/shorten.h"

namespace ordo::execute {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              "cannot load the library \"" + name_in_message(path) + "\": " + why);
}

/// Without the file, which it begins with.
std::string last_dl_error(const std::string& file) {
  const char* text = ::dlerror();
  if (text == nullptr) return "unknown reason";
  std::string_view why = text;
  if (why.starts_with(file + ": ")) why.remove_prefix(file.size() + 2);
  return shortened(why);
}

}  // namespace

void load_library(const std::string& path, Server& server) {
  if (path.empty()) refuse(path, "the path is empty");
  // The dynamic linker looks for a bare name in the system's folders only.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(path, last_dl_error(file));

  const auto* abi = static_cast<const int*>(::dlsym(library, "ordo_abi"));
  if (abi == nullptr) {
    refuse(
        path,
        "it does not say which Ordo it is for; it must have extern \"C\" const int ordo_abi = ordo::kAbi;");
  }
  if (*abi != kAbi) {
    refuse(path, "it was built for an Ordo with ABI " + std::to_string(*abi) + ", this one has ABI " +
                     std::to_string(kAbi) + "; build it again");
  }
  void* const symbol = ::dlsym(library, "ordo_load");
  if (symbol == nullptr) refuse(path, "it has no extern \"C\" void ordo_load(ordo::Server&)");
  try {
    reinterpret_cast<void (*)(Server&)>(symbol)(server);
  } catch (const Error& error) {
    throw Error(error.kind(), "cannot load the library \"" + name_in_message(path) + "\": " + error.what());
  } catch (const std::exception& error) {
    refuse(path, "its ordo_load threw: " + shortened(error.what()));
  } catch (...) {
    refuse(path, "its ordo_load threw what is no std::exception");
  }
}

}  // namespace ordo::execute
