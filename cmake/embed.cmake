# ordo_embed(TARGET FOLDER EXTENSION NAMESPACE HEADER)
#
# Makes src/FOLDER/NAME.EXTENSION a `const char* const kNameExtension` of NAMESPACE in TARGET, as HEADER declares it. So SQL
# and Lua are files that an editor can read, and the program needs none of them at run time.
function(ordo_embed target folder extension namespace header)
  get_target_property(kind ${target} TYPE)
  if(NOT kind STREQUAL "STATIC_LIBRARY") # the layer is not built
    return()
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.${extension})
  set(output ${PROJECT_BINARY_DIR}/generated/${folder}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DNAMESPACE=${namespace} -DHEADER=${header} -DOUTPUT=${output} -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  # What makes a file waits for what all targets that name it wait for. This one waits for nothing: else nobody who links
  # TARGET could be compiled before the libraries below TARGET are done.
  string(MAKE_C_IDENTIFIER embed_${folder} embedding)
  add_custom_target(${embedding} DEPENDS ${output})
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
