# Warnings for the project's own sources; never exported, so they reach no consumer.
add_library(gradual_warnings INTERFACE)
target_compile_options(gradual_warnings INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>"
  "$<$<AND:$<BOOL:${GRADUAL_WARNINGS_AS_ERRORS}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>")
