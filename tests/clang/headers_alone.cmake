# Compiles every header of INCLUDE alone, by the command COMPILE: each is a submodule of one module, where it sees what it
# includes, directly or through others, and nothing else. The standard library's headers are another module, seen whole by
# whoever includes one of them; host/includes_test checks which are included. That headers see no more is checked first.
file(GLOB_RECURSE headers RELATIVE "${INCLUDE}" "${INCLUDE}/*.hpp")
list(REMOVE_ITEM headers gradual/cuda/cudnn_descriptor.hpp gradual/cuda/device_convolution.hpp gradual/cuda/device_errors.hpp
  gradual/cuda/device_gemm.hpp gradual/cuda/device_library_handle.hpp gradual/cuda/device_runtime.hpp)  # only for nvcc
list(REMOVE_ITEM headers gradual/core/hide_names.hpp gradual/core/restore_names.hpp)  # only used around others
# Each is for one kind of processor; simd.hpp includes the one for the target.
list(REMOVE_ITEM headers gradual/core/cpu/vec_avx2.hpp gradual/core/cpu/vec_avx512.hpp gradual/core/cpu/vec_neon.hpp)

list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE includes)
list(JOIN includes "" includes)
file(WRITE all.cpp "${includes}")
execute_process(COMMAND ${COMPILE} -M all.cpp OUTPUT_VARIABLE files COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+/c\\+\\+/[^ \n]*/[a-z_]+[ \n]" standard "${files}")  # the only ones without an extension
list(TRANSFORM standard REPLACE "(.+)[ \n]" "  header \"\\1\"\n")
list(LENGTH standard found)
if(found EQUAL 0)
  message(FATAL_ERROR "no header of the standard library in ${files}")
endif()

set(modules)
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER "${header}" name)
  string(APPEND modules "  module ${name} { header \"${INCLUDE}/${header}\" export * }\n")
endforeach()
list(JOIN standard "" standard)
file(WRITE has_name.hpp "struct Name {};\n")
file(WRITE lacks_name.hpp "inline Name name() { return {}; }\n")  # of the other, which it does not include
file(WRITE headers.modulemap "module std [system] {\n${standard}  export *\n}\nmodule gradual {\n${modules}}\n"
  "module hidden {\n  module one { header \"has_name.hpp\" }\n  module two { header \"lacks_name.hpp\" }\n}\n")

set(compile ${COMPILE} -Wno-modules-ambiguous-internal-linkage -fmodules -fno-implicit-module-maps -fmodules-cache-path=cache
  -fmodule-map-file=headers.modulemap -Xclang -fmodules-local-submodule-visibility -Xclang -emit-module -x c++
  -c headers.modulemap)
execute_process(COMMAND ${compile} -fmodule-name=hidden -o hidden.pcm RESULT_VARIABLE failed ERROR_VARIABLE error)
if(NOT failed OR NOT error MATCHES "declaration of 'Name' must be imported")
  message(FATAL_ERROR "a header was compiled that lacks an include: ${error}")
endif()
execute_process(COMMAND ${compile} -fmodule-name=std -o std.pcm COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${compile} -fmodule-file=std.pcm -fmodule-name=gradual -o gradual.pcm COMMAND_ERROR_IS_FATAL ANY)
