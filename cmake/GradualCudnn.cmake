# Lets convolutions in Numerics::fast be those of cuDNN 9, where the system, the toolkit or CUDNN_ROOT has it. An installed
# package looks for it where it is used.
function(gradual_use_cudnn target)
  find_path(GRADUAL_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDNN_ROOT} ENV CUDNN_ROOT PATH_SUFFIXES include)
  find_library(GRADUAL_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_ROOT} ENV CUDNN_ROOT PATH_SUFFIXES lib lib64)
  mark_as_advanced(GRADUAL_CUDNN_INCLUDE_DIR GRADUAL_CUDNN_LIBRARY)
  if(GRADUAL_CUDNN_INCLUDE_DIR AND GRADUAL_CUDNN_LIBRARY)
    target_include_directories(${target} SYSTEM INTERFACE "$<BUILD_INTERFACE:${GRADUAL_CUDNN_INCLUDE_DIR}>")
    target_link_libraries(${target} INTERFACE "$<BUILD_INTERFACE:${GRADUAL_CUDNN_LIBRARY}>")
    target_compile_definitions(${target} INTERFACE "$<BUILD_INTERFACE:GRADUAL_CUDNN>")
  endif()
endfunction()
