# Everything that can be set with -D. The presets of CMakePresets.json set them for daily use.
option(ORDO_WERROR "Treat warnings as errors" OFF)
option(ORDO_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ORDO_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ORDO_FUZZ "Link the fuzz targets with libFuzzer (needs clang)" OFF)
set(ORDO_SEEDS "" CACHE STRING "How many seeds the simulation and the shard's property test play, if not as many as by default")
set(ORDO_FILES_AT_ONCE 10 CACHE STRING "How many files are compiled as one. More: sooner done from nothing, later after a change of one file")
set(ORDO_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

set(ordo_all_layers base domain store execute runtime sources client server faces web cli)
set(ORDO_LAYERS ${ordo_all_layers} CACHE STRING "The folders of src/ to build; without cli there is no library and no binary")
if("cli" IN_LIST ORDO_LAYERS) # it needs all of them, and a build folder may be older than a layer
  set(ORDO_LAYERS ${ordo_all_layers})
endif()
set(ORDO_UNIT_TESTS ${ordo_all_layers} CACHE STRING "Those of them whose unit tests are built")
set(ORDO_SUITES unit contract servers simulation crash e2e topology api tidy fuzz install CACHE STRING "The test suites to build")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
