set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/archive)

# No build type defines NDEBUG: asserts stay on.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")
# For the first look of ./dev demo. The compiler collects its garbage from 1 GB on: a seventh of its time. gold takes half as long.
set(CMAKE_CXX_FLAGS_QUICK "-O0 -w --param ggc-min-heapsize=1000000")
set(CMAKE_SHARED_LINKER_FLAGS_QUICK "-fuse-ld=gold")

find_program(ORDO_CCACHE ccache)
# Filling the cache costs a seventh of the first look's build.
if(ORDO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_BUILD_TYPE STREQUAL "Quick")
  # Build folders share the cache, and so do builds with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${ORDO_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

add_compile_options(-fno-omit-frame-pointer)
add_compile_definitions(_GLIBCXX_ASSERTIONS BOOST_ASIO_NO_DEPRECATED)
if(ORDO_SANITIZE)
  add_compile_options(-fsanitize=${ORDO_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ORDO_SANITIZE})
  if(ORDO_SANITIZE MATCHES "undefined")
    # These double the time to compile; the address sanitizer and -Wcast-align find most of what they find.
    add_compile_options(-fno-sanitize=null,alignment,object-size,pointer-overflow,vptr)
  endif()
  # Recycled coroutine frames hide uses after free.
  add_compile_definitions(BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
endif()

# Our own targets link this; nothing that is installed does.
add_library(ordo_warnings INTERFACE)
target_compile_options(ordo_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-qual
  -Wcast-align -Wformat=2 -Wundef -Wextra-semi -Wsuggest-override -Wunused -Wimplicit-fallthrough
  -Wno-missing-field-initializers) # designated initialisers leave fields out on purpose
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ordo_warnings INTERFACE
    -Wduplicated-cond -Wlogical-op
    # False positives of g++ 12 in inlined library code: seen, never fatal.
    -Wno-restrict -Wno-error=maybe-uninitialized -Wno-error=array-bounds -Wno-error=stringop-overflow
    -Wno-error=stringop-overread -Wno-error=free-nonheap-object -Wno-error=dangling-pointer)
  if(ORDO_SANITIZE)
    target_compile_options(ordo_warnings INTERFACE
      -Wno-tsan -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-free-nonheap-object)
  endif()
endif()
if(ORDO_WERROR)
  target_compile_options(ordo_warnings INTERFACE -Werror)
endif()
