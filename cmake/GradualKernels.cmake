# gradual::kernels: the code that does not depend on a net's type, compiled once in the project that links it, with that
# project's flags. Sources that link it compile faster, and in a build without optimisation its kernels run as fast as in others.
function(gradual_add_kernels include_folder)
  add_library(gradual_kernels STATIC EXCLUDE_FROM_ALL
    "${include_folder}/gradual/shared_bodies.cpp" "${include_folder}/gradual/shared_kernels.cpp")
  add_library(gradual::kernels ALIAS gradual_kernels)
  target_link_libraries(gradual_kernels PUBLIC gradual::gradual)
  target_compile_definitions(gradual_kernels INTERFACE GRADUAL_SHARED_KERNELS)
  target_compile_options(gradual_kernels PRIVATE $<$<OR:$<CONFIG:Debug>,$<CONFIG:>>:-O3>)
  target_compile_options(gradual_kernels PRIVATE -ffunction-sections -fdata-sections)  # so that linkers can drop the rest
  target_compile_options(gradual_kernels PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)  # so that plug-ins can be unloaded
  set_target_properties(gradual_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
