# The bundle of the dashboard (dashboard/dist, which `./dev dashboard` makes) as bytes in the program. No tool but the assembler.
set(dist ${PROJECT_SOURCE_DIR}/dashboard/dist)
file(GLOB_RECURSE files RELATIVE ${dist} CONFIGURE_DEPENDS ${dist}/*)
list(FILTER files EXCLUDE REGEX "\\.gz$")
set(bytes "")
set(names "")
set(rows "")
set(paths "")
set(number 0)
foreach(file IN LISTS files)
  set(pair "")
  foreach(path IN ITEMS ${dist}/${file} ${dist}/${file}.gz)
    if(NOT EXISTS ${path})
      string(APPEND pair ", {}")
      continue()
    endif()
    set(name ordo_dashboard_${number})
    string(APPEND bytes "asm(\".section .rodata,\\\"a\\\",@progbits\\n.global ${name}\\n.hidden ${name}\\n${name}:\\n.incbin \\\"${path}\\\"\\n\"\n    \".global ${name}_end\\n.hidden ${name}_end\\n${name}_end:\\n.byte 0\\n.text\\n\");\n")
    string(APPEND names "extern const char ${name}[], ${name}_end[];\n")
    string(APPEND pair ", {${name}, ${name}_end}")
    list(APPEND paths ${path})
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND rows "      {\"${file}\"${pair}},\n")
endforeach()

set(generated ${PROJECT_BINARY_DIR}/generated/dashboard_files.cpp)
file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [[
// Made by cmake/dashboard.cmake.
#include "web/dashboard_files.h"

@bytes@
extern "C" {
@names@}

namespace ordo::web {

std::span<const DashboardFile> dashboard_files() {
  static const DashboardFile files[] = {
@rows@  };
  return files;
}

}  // namespace ordo::web
]])
set_source_files_properties(${generated} PROPERTIES
  OBJECT_DEPENDS "${paths}" SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
target_sources(ordo_web PRIVATE ${generated})
