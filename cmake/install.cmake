include(CMakePackageConfigHelpers)

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
           OUTPUT_VARIABLE bin_to_lib)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ordo)

install(TARGETS libordo EXPORT ordo
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ordo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
if(TARGET ordo)
  set_target_properties(ordo PROPERTIES BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS ordo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# find_package(ordo) gives ordo::ordo.
install(EXPORT ordo NAMESPACE ordo:: FILE ordoTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/ordoConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/ordoConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/ordoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/ordoConfig.cmake ${PROJECT_BINARY_DIR}/generated/ordoConfigVersion.cmake
  DESTINATION ${package_dir})

# Relative to the file, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE pc_prefix)
configure_file(cmake/ordo.pc.in ${PROJECT_BINARY_DIR}/generated/ordo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/ordo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
