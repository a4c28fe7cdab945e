# Headers, targets and the package config; a component of the package is one set of exported targets.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gradual")

install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/gradual" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp" PATTERN "*.cpp")
install(TARGETS ${GRADUAL_LAYERS} EXPORT gradual-cpu)
install(TARGETS gradual_cuda gradual_cuda_fast EXPORT gradual-cuda)
foreach(component IN ITEMS cpu cuda)
  install(EXPORT gradual-${component} NAMESPACE gradual:: FILE gradual-${component}.cmake DESTINATION "${package_dir}")
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/gradualConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/gradualConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/gradualConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/gradualConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/gradualConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/GradualCudnn.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/GradualFlags.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/GradualKernels.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindRapidJSON.cmake"
  DESTINATION "${package_dir}")
install(FILES "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
