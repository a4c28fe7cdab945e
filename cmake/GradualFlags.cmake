# The flags without which results would not be reproducible; used by the build, the installed package and the tests.

# The oldest processor of this architecture with hardware FMA, for programs that also run on other machines.
function(gradual_portable_arch result)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
    set(${result} armv8-a PARENT_SCOPE)
  else()
    set(${result} x86-64-v3 PARENT_SCOPE)
  endif()
endfunction()

# The flags for a C++ compiler, as written on its command line.
function(gradual_cxx_flags result)
  # Setting errno in sqrt would keep loops that take roots from being vectorised; no result depends on it.
  set(flags -ffp-contract=off -fno-math-errno)
  if(GRADUAL_ARCH)
    list(APPEND flags "-march=${GRADUAL_ARCH}")
  endif()
  # Compilers prefer 32-byte vectors on many machines that have 64-byte ones; x86-64-v3 has none.
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64"
     AND NOT GRADUAL_ARCH MATCHES "^(x86-64-v3)?$")
    list(APPEND flags -mprefer-vector-width=512)
  endif()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# The same for a target: for C++ sources, and for nvcc, whose C++20 flag CMake 3.25 does not know.
function(gradual_compile_options result)
  gradual_cxx_flags(flags)
  set(options "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20;--fmad=false>")
  foreach(flag IN LISTS flags)
    list(APPEND options "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:${flag}>"
      "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=${flag}>")
  endforeach()
  # Eight times g++'s default: for nets of hundreds of unrolled steps.
  list(APPEND options "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fconstexpr-ops-limit=268435456>"
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-fconstexpr-steps=268435456>")
  # At -O2, g++ vectorises few loops by default: steps would take twice as long.
  list(APPEND options "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:RelWithDebInfo>>:-ftree-vectorize;-fvect-cost-model=dynamic>")
  set(${result} "${options}" PARENT_SCOPE)
endfunction()
