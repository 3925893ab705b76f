# ordo_layers: every layer as static libraries, for tests and benchmarks. They see private headers too.
get_property(layers GLOBAL PROPERTY ordo_layer_targets)
get_property(archives GLOBAL PROPERTY ordo_archives)
add_library(ordo_layers INTERFACE)
# As a group: one object of a unity build may need any other layer.
list(JOIN archives "," group)
target_link_libraries(ordo_layers INTERFACE "$<LINK_GROUP:RESCAN,${group}>" ${layers} ordo_warnings)

if(NOT "ordo_cli" IN_LIST archives)
  return()
endif()

# libordo: the objects of all layers in one shared library. Its users link nothing else.
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(libordo SHARED ${objects})
add_library(ordo::ordo ALIAS libordo)
set_target_properties(libordo PROPERTIES
  LINKER_LANGUAGE CXX
  OUTPUT_NAME ordo
  PREFIX lib
  EXPORT_NAME ordo
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(libordo INTERFACE cxx_std_20)
target_include_directories(libordo INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(libordo PRIVATE "$<BUILD_INTERFACE:${archives}>")
# A new class or function of include/ordo is named there, too; else programs that use it do not link.
set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
# Matching its patterns takes a quarter of a minute without inlining, which is too long for a first look.
target_link_options(libordo PRIVATE $<$<NOT:$<CONFIG:Quick>>:-Wl,--version-script=${exports}>)
set_property(TARGET libordo APPEND PROPERTY LINK_DEPENDS ${exports})

if(EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
  add_executable(ordo src/cli/main.cpp)
  target_link_libraries(ordo PRIVATE libordo ordo_warnings)
  if(NOT ORDO_SANITIZE)
    # Nothing refers to it by name.
    target_link_libraries(ordo PRIVATE "-Wl,--push-state,--no-as-needed,${ORDO_JEMALLOC},--pop-state")
  endif()
endif()

# The next version of the stored formats, for tests that have nodes of both: the same objects, but for the codecs.
if(ORDO_BUILD_TESTS AND NOT ORDO_SANITIZE AND TARGET ordo)
  set(codecs entry fields)
  list(TRANSFORM codecs REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/domain/\\1.cpp" OUTPUT_VARIABLE codec_sources)
  list(JOIN codecs "|" any_codec)
  set_source_files_properties(${codec_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(libordo_newer SHARED "$<FILTER:${objects},EXCLUDE,/domain/(${any_codec})[.]cpp>" ${codec_sources})
  set_target_properties(libordo_newer PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ordo_newer PREFIX lib)
  target_compile_definitions(libordo_newer PRIVATE ORDO_NEWER_FORMAT)
  target_include_directories(libordo_newer PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(libordo_newer PRIVATE "$<BUILD_INTERFACE:${archives}>")
  add_executable(ordo_newer src/cli/main.cpp)
  target_link_libraries(ordo_newer PRIVATE libordo_newer ordo_warnings)
endif()
