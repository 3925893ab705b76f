# One executable per suite, and each only if it has files. A suite's ctest entries carry its name as label.
set(ordo_test_environment
  TMPDIR=/tmp # a path of a unix socket has 107 bytes
  ORDO_SOURCE_DIR=${PROJECT_SOURCE_DIR}
  ORDO_BINARY_DIR=${PROJECT_BINARY_DIR}
  ORDO_BIN=${PROJECT_BINARY_DIR}/ordo
  ORDO_NEWER=${PROJECT_BINARY_DIR}/ordo_newer
  "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")

if(ORDO_SANITIZE)
  list(APPEND ordo_test_environment ORDO_SANITIZE=${ORDO_SANITIZE})
endif()
if(ORDO_SEEDS)
  list(APPEND ordo_test_environment ORDO_SEEDS=${ORDO_SEEDS})
endif()

function(ordo_test_entry name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  if(arg_COMMAND MATCHES "_test[.]py$")
    list(APPEND arg_COMMAND -v) # names what is skipped
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}"
    TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${ordo_test_environment};${arg_ENVIRONMENT}")
endfunction()

# tests/support: what suites share. A server is for those, too, that see nothing of Ordo's inside.
add_library(ordo_postgres_server STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/postgres_server.cpp)
target_include_directories(ordo_postgres_server PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(ordo_postgres_server PRIVATE PostgreSQL::PostgreSQL ordo_warnings)
add_library(ordo_test_support INTERFACE)
target_link_libraries(ordo_test_support INTERFACE ordo_postgres_server ordo_layers GTest::gmock rapidcheck)
target_include_directories(ordo_test_support INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)

# ordo_suite(NAME SOURCES file... LINK target... [NEEDS layer] [SHARDS n] [TIMEOUT seconds] [FILTER pattern] [LABELS label...])
# The label `check` puts an entry into ./dev test: nothing there depends on time, chance or the machine (CONTRIBUTING.md).
function(ordo_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NEEDS;SHARDS;TIMEOUT;FILTER" "SOURCES;LINK;LABELS")
  if(NOT arg_SOURCES OR NOT name IN_LIST ORDO_SUITES OR (arg_NEEDS AND NOT arg_NEEDS IN_LIST ORDO_LAYERS))
    return()
  endif()
  set(target ordo_${name}_tests)
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  foreach(source IN LISTS arg_SOURCES)  # few ask for it, and the others' objects serve every copy of the tree
    file(STRINGS ${source} asks REGEX "ORDO_SOURCE_DIR" LIMIT_COUNT 1)
    if(asks)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ORDO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
      set_property(SOURCE ${source} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock_main ordo_warnings)
  ordo_fast_from_scratch(${target} <gtest/gtest.h> <gmock/gmock.h>)
  if(ORDO_SANITIZE OR NOT name STREQUAL "simulation")
    target_compile_options(${target} PRIVATE -O0) # half the time to compile; what is tested stays optimised
  endif()

  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  if(NOT arg_FILTER)
    set(arg_FILTER "*")
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(entry ${name})
    if(arg_SHARDS GREATER 1)
      math(EXPR number "${shard} + 1")
      set(entry ${name}.${number}of${arg_SHARDS})
    endif()
    ordo_test_entry(${entry} COMMAND ${target} --gtest_filter=${arg_FILTER}
      LABELS ${name} ${arg_LABELS} TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${shard})
  endforeach()
endfunction()

function(ordo_suite_sources name variable)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp)
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# Unit tests stand beside the code.
set(sources "")
foreach(layer IN LISTS ORDO_UNIT_TESTS)
  if(NOT layer IN_LIST ORDO_LAYERS)
    continue()
  endif()
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*_test.cpp)
  list(APPEND sources ${found})
endforeach()
# Time of the processor, ten times the work against the tenth of it: too unsure for a verdict in ./dev test.
set(measured *NoMoreTime*:*no_more_time*)
ordo_suite(unit SOURCES ${sources} LINK ordo_test_support SHARDS 2 TIMEOUT 900 FILTER -${measured} LABELS check tsan)
if(TARGET ordo_unit_tests AND NOT ORDO_SANITIZE)
  ordo_test_entry(unit.growth COMMAND ordo_unit_tests --gtest_filter=${measured} LABELS growth TIMEOUT 600)
  ordo_test_entry(unit.many_seeds COMMAND ordo_unit_tests --gtest_filter=ShardProperty.* LABELS unit TIMEOUT 1800
    ENVIRONMENT ORDO_SEEDS=20000)
endif()

# What the contract's tests run on, for suites of one kind of server, too.
set(worlds ${PROJECT_SOURCE_DIR}/tests/contract/world.cpp ${PROJECT_SOURCE_DIR}/tests/contract/postgres_world.cpp)
add_library(ordo_worlds STATIC EXCLUDE_FROM_ALL ${worlds})
target_link_libraries(ordo_worlds PUBLIC ordo_test_support ordo_warnings)
target_compile_options(ordo_worlds PRIVATE -O0)
ordo_suite_sources(contract sources)
list(REMOVE_ITEM sources ${worlds})
ordo_suite(contract SOURCES ${sources} LINK ordo_worlds NEEDS client SHARDS 2 TIMEOUT 1500 FILTER -*redis_cluster* LABELS check tsan)
if(TARGET ordo_contract_tests)
  ordo_test_entry(contract.cluster COMMAND ordo_contract_tests --gtest_filter=*redis_cluster* LABELS contract tsan TIMEOUT 1500)
endif()
ordo_suite_sources(servers sources)
ordo_suite(servers SOURCES ${sources} LINK ordo_worlds NEEDS client SHARDS 2 TIMEOUT 1500 LABELS tsan)
ordo_suite_sources(simulation sources)
ordo_suite(simulation SOURCES ${sources} LINK ordo_test_support NEEDS client SHARDS 2 TIMEOUT 900 LABELS check)

# The tidy suite reads the source tree and links nothing of it.
ordo_suite_sources(tidy sources)
ordo_suite(tidy SOURCES ${sources} LINK GTest::gmock TIMEOUT 300 LABELS check)

if("tidy" IN_LIST ORDO_SUITES)
  ordo_test_entry(tidy.header_size COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/tidy/header_size.py
    ${CMAKE_CXX_COMPILER} LABELS tidy check TIMEOUT 300)
  list(JOIN ordo_all_layers "," all_layers)
  target_compile_definitions(ordo_tidy_tests PRIVATE
    ORDO_ALL_LAYERS="${all_layers}" ORDO_CPP_SUITES="contract,servers,simulation,e2e,api,tidy")

  # Each public header compiles alone, twice, with the public folder only.
  file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/ordo/*.hpp)
  set(alone "")
  foreach(header IN LISTS headers)
    set(tu ${PROJECT_BINARY_DIR}/generated/alone/${header}.cpp)
    file(CONFIGURE OUTPUT ${tu} CONTENT "#include <${header}>\n#include <${header}>\n")
    list(APPEND alone ${tu})
  endforeach()
  if(alone)
    add_library(ordo_headers_alone OBJECT ${alone})
    target_include_directories(ordo_headers_alone PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(ordo_headers_alone PRIVATE ordo_warnings)
    # As programs of other makes compile them.
    add_library(ordo_headers_strict OBJECT ${PROJECT_SOURCE_DIR}/tests/headers/strict.cpp)
    target_include_directories(ordo_headers_strict PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(ordo_headers_strict PRIVATE
      -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Werror)
    # With types that are not the library's each of them is an error, and not a program that links.
    foreach(header IN LISTS headers)
      cmake_path(GET header STEM name)
      ordo_test_entry(headers.refuse_glibcxx_debug.${name} TIMEOUT 300 LABELS tidy check
        COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -D_GLIBCXX_DEBUG -I ${PROJECT_SOURCE_DIR}/include
          -o /dev/null ${PROJECT_BINARY_DIR}/generated/alone/${header}.cpp)
      set_tests_properties(headers.refuse_glibcxx_debug.${name} PROPERTIES
        PASS_REGULAR_EXPRESSION "error: .*was built without _GLIBCXX_DEBUG")
    endforeach()
  endif()
endif()

# Fuzz targets: libFuzzer in the fuzz preset, elsewhere a main that replays the kept inputs.
if("fuzz" IN_LIST ORDO_SUITES)
  file(GLOB targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
  foreach(source IN LISTS targets)
    cmake_path(GET source STEM target)
    string(REGEX REPLACE "_fuzz$" "" name ${target})
    file(STRINGS ${source} faces REGEX "#include (\"cli/|\"web/|\"faces/|<ordo/config)" LIMIT_COUNT 1)
    if(faces AND NOT "cli" IN_LIST ORDO_LAYERS)
      continue()
    endif()
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    target_link_libraries(${target} PRIVATE ordo_layers)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
    if(ORDO_FUZZ)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(${target} PRIVATE tests/fuzz/replay_main.cpp)
      ordo_test_entry(fuzz.${name} COMMAND ${target} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}
        LABELS fuzz check TIMEOUT 300)
    endif()
  endforeach()
endif()

# What follows looks at the product from outside.
if(NOT TARGET libordo)
  return()
endif()

ordo_suite_sources(api sources)
ordo_suite(api SOURCES ${sources} LINK ordo::ordo ordo_postgres_server TIMEOUT 900 FILTER -${measured} LABELS check tsan)
if(TARGET ordo_api_tests AND NOT ORDO_SANITIZE)
  ordo_test_entry(api.growth COMMAND ordo_api_tests --gtest_filter=${measured} LABELS growth TIMEOUT 600)
endif()

if(NOT TARGET ordo)
  return()
endif()

ordo_suite_sources(e2e sources)
ordo_suite(e2e SOURCES ${sources} LINK ordo_test_support TIMEOUT 600)

set(ORDO_LONG_SCRIPTS copy look_memory redis_cluster replica reshard safe_output)
# These start servers, measure, or wait for what only time brings; chaos has an entry of its own in ./dev test.
set(ORDO_SCRIPTS_OF_ALL chaos copy documented_push hostile look_memory postgres_encodings postgres_responses promtool redis_cluster redis_scripts reshard sidekiq_ruby unreadable versions)
foreach(suite IN ITEMS crash e2e topology)
  if(NOT suite IN_LIST ORDO_SUITES)
    continue()
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${suite}/*_test.py)
  foreach(script IN LISTS scripts)
    cmake_path(GET script STEM name)
    string(REGEX REPLACE "_test$" "" name ${name})
    if(name STREQUAL "versions" AND NOT TARGET ordo_newer) # it takes two builds
      continue()
    endif()
    # These are long, and the suites of the parts go through the same code under the sanitizers.
    if(ORDO_SANITIZE AND name IN_LIST ORDO_LONG_SCRIPTS)
      continue()
    endif()
    set(check check)
    if(suite STREQUAL "topology" OR name IN_LIST ORDO_SCRIPTS_OF_ALL)
      set(check "")
    endif()
    ordo_test_entry(${suite}.${name} COMMAND ${Python3_EXECUTABLE} -B ${script} LABELS ${suite} ${check} TIMEOUT 1800
      ENVIRONMENT PYTHONUNBUFFERED=1)
  endforeach()
endforeach()
# What a look at a large store costs, here at a hundredth of the size that ./dev volumes has.
if("e2e" IN_LIST ORDO_SUITES AND NOT ORDO_SANITIZE)
  ordo_test_entry(e2e.volumes COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/volumes/volumes.py --scale 0.01
    LABELS e2e TIMEOUT 1800 ENVIRONMENT PYTHONUNBUFFERED=1)
endif()
# The dashboard in a browser; what it is made of needs Node, which nothing else does.
if("e2e" IN_LIST ORDO_SUITES AND NOT ORDO_SANITIZE)
  foreach(entry IN ITEMS unit bundle pages actions odd budgets pages_redis actions_redis odd_redis)
    string(REPLACE _redis "" what ${entry})
    set(store sqlite)
    if(entry MATCHES redis)
      set(store redis)
    endif()
    ordo_test_entry(dashboard.${entry} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/browser/dashboard.py ${what}
      LABELS dashboard TIMEOUT 1800 ENVIRONMENT ORDO_BROWSER_STORE=${store})
    set_tests_properties(dashboard.${entry} PROPERTIES RESOURCE_LOCK dashboard)
  endforeach()
endif()
# A script of a suite once more on servers, which it is told by the variable.
function(ordo_on_servers suite variable name)
  foreach(store IN LISTS ARGN)
    string(REPLACE redis- "" suffix ${store})
    ordo_test_entry(${suite}.${name}_${suffix}
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/${suite}/${name}_test.py
      LABELS ${suite} TIMEOUT 1800 ENVIRONMENT PYTHONUNBUFFERED=1 ${variable}=${store}:)
  endforeach()
endfunction()
# What a user sees is the same on a server. Under the sanitizers the contract suite speaks to the servers.
if("e2e" IN_LIST ORDO_SUITES AND NOT ORDO_SANITIZE)
  foreach(name IN ITEMS cli_store cli_dead cli_jobs cli_push cli_work edit http nodes periodic reload responses versions windows limits traces waits_for)
    ordo_on_servers(e2e ORDO_E2E_STORE ${name} redis redis-cluster postgres)
  endforeach()
  foreach(name IN ITEMS options unique)
    ordo_on_servers(e2e ORDO_E2E_STORE ${name} redis postgres)  # a cluster refuses unique keys
  endforeach()
endif()
# The pushes of tests/e2e/options_test.py that a program makes.
if("e2e" IN_LIST ORDO_SUITES)
  add_executable(ordo_push_options ${PROJECT_SOURCE_DIR}/tests/support/push_options.cpp)
  set_target_properties(ordo_push_options PROPERTIES
    OUTPUT_NAME push_options RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(ordo_push_options PRIVATE ordo::ordo ordo_warnings)
endif()
# One scene of everything goes through each kind of server in ./dev test.
if("e2e" IN_LIST ORDO_SUITES AND NOT ORDO_SANITIZE)
  ordo_on_servers(e2e ORDO_E2E_STORE scene redis redis-cluster postgres)
  set_property(TEST e2e.scene_redis e2e.scene_postgres APPEND PROPERTY LABELS check)
endif()
if("crash" IN_LIST ORDO_SUITES)
  # The same faults each time, and only what was promised counts: no job is lost, none overlaps with itself.
  ordo_test_entry(crash.chaos_fixed COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/crash/chaos_test.py
    LABELS crash check TIMEOUT 1800
    ENVIRONMENT PYTHONUNBUFFERED=1 ORDO_CRASH_SEED=1 ORDO_CRASH_SECONDS=20 "ORDO_CRASH_JUDGED=lost overlap")
  ordo_on_servers(crash ORDO_CRASH_STORE chaos redis redis-sentinel redis-cluster postgres)
  ordo_on_servers(crash ORDO_CRASH_STORE death redis redis-cluster postgres)
  # Once more, and who takes over lacks the last seconds.
  foreach(store IN ITEMS redis-replica redis-sentinel redis-cluster postgres)
    string(REPLACE redis- "" suffix ${store})
    ordo_test_entry(crash.chaos_behind_${suffix}
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/crash/chaos_test.py
      LABELS crash TIMEOUT 1800 ENVIRONMENT PYTHONUNBUFFERED=1 ORDO_CRASH_STORE=${store}: ORDO_CRASH_BEHIND=1)
  endforeach()
endif()

# The worker of the crash suite in threads of its node; `chaos` is what ./dev chaos needs.
if("crash" IN_LIST ORDO_SUITES)
  add_library(ordo_crash_recorder MODULE ${PROJECT_SOURCE_DIR}/tests/crash/recorder.cpp)
  set_target_properties(ordo_crash_recorder PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(ordo_crash_recorder PRIVATE ordo::ordo ordo_warnings)
  add_custom_target(chaos DEPENDS ordo ordo_crash_recorder)
endif()

# The load of ./dev bench soak.
add_executable(ordo_soak ${PROJECT_SOURCE_DIR}/tests/soak/soak.cpp)
set_target_properties(ordo_soak PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(ordo_soak PRIVATE ordo::ordo ordo_warnings)

# A disk that is slow, for a program that loads it.
if("topology" IN_LIST ORDO_SUITES AND NOT ORDO_SANITIZE)
  add_library(ordo_slow_disk MODULE ${PROJECT_SOURCE_DIR}/tests/topology/slow_disk.cpp)
  set_target_properties(ordo_slow_disk PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(ordo_slow_disk PRIVATE ordo_warnings)
endif()

# A sanitized library cannot be loaded by a plain consumer.
if("install" IN_LIST ORDO_SUITES AND NOT ORDO_SANITIZE AND EXISTS ${PROJECT_SOURCE_DIR}/include/ordo/ordo.hpp)
  ordo_test_entry(install COMMAND ${PROJECT_SOURCE_DIR}/tests/install/install_test.sh LABELS install TIMEOUT 1800
    ENVIRONMENT CMAKE_COMMAND=${CMAKE_COMMAND} CXX=${CMAKE_CXX_COMPILER})
endif()
