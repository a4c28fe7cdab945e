# Enables the CUDA language for the project's own CUDA sources, finds the toolkit's libraries, and sets GRADUAL_HAS_CUDA.
include(CheckLanguage)
set(GRADUAL_HAS_CUDA OFF)

if(GRADUAL_CUDA)
  # Without a GPU "native" means nothing: what is built there is never run, only compiled.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE no_gpu OUTPUT_QUIET ERROR_QUIET)
    if(no_gpu)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    else()
      set(CMAKE_CUDA_ARCHITECTURES native)
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(GRADUAL_HAS_CUDA ON)
  elseif(NOT GRADUAL_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "GRADUAL_CUDA=${GRADUAL_CUDA}, but there is no CUDA compiler: install the CUDA Toolkit and put "
      "its nvcc on the PATH, or set CMAKE_CUDA_COMPILER to it")
  endif()
endif()
