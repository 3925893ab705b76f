# ordo_layer(NAME PUBLIC target... PRIVATE target...)
#
# Makes the static library ordo_NAME of src/NAME/**/*.cpp, without its unit tests and main.cpp. A folder that is
# absent, holds headers only or is not in ORDO_LAYERS becomes an interface library, so that others can link it.
function(ordo_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE")
  set(target ordo_${name})
  set(sources "")
  if(name IN_LIST ORDO_LAYERS)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/src/cli/main\\.cpp$")
  endif()

  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:ordo_warnings>)
    if(name STREQUAL "base")
      ordo_fast_from_scratch(${target} <fmt/format.h>)
    else()
      ordo_fast_from_scratch(${target} REUSE_FROM ordo_base)
    endif()
    set_property(GLOBAL APPEND PROPERTY ordo_archives ${target})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC} ${arg_PRIVATE})
  endif()
  set_property(GLOBAL APPEND PROPERTY ordo_layer_targets ${target})
endfunction()

# Several files of a folder are compiled as one, behind a precompiled header: a third of the time from scratch. So names in
# the unnamed namespaces of a folder must differ; a test's are in a namespace that its file gives the name.
# ordo_fast_from_scratch(TARGET header...) or (TARGET REUSE_FROM target)
function(ordo_fast_from_scratch target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ORDO_FILES_AT_ONCE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # An anonymous namespace of an included .cpp looks like one of a header.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(count GREATER 5) # fewer do not repay the header
    target_precompile_headers(${target} PRIVATE
      <algorithm> <chrono> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view>
      <unordered_map> <utility> <variant> <vector> ${ARGN})
  endif()
endfunction()
