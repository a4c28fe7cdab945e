# Finds the RapidJSON headers (Debian: rapidjson-dev) and defines RapidJSON::RapidJSON.
find_path(RapidJSON_INCLUDE_DIR rapidjson/document.h)
if(CMAKE_CROSSCOMPILING)  # even if a toolchain file excludes the host's folders: these headers suit any architecture
  find_path(RapidJSON_INCLUDE_DIR rapidjson/document.h NO_CMAKE_FIND_ROOT_PATH)
endif()
mark_as_advanced(RapidJSON_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RapidJSON REQUIRED_VARS RapidJSON_INCLUDE_DIR
  REASON_FAILURE_MESSAGE
    "install rapidjson-dev (Homebrew: rapidjson), or set RapidJSON_INCLUDE_DIR to the folder that holds rapidjson/")

if(RapidJSON_FOUND AND NOT TARGET RapidJSON::RapidJSON)
  set(RapidJSON_only "${RapidJSON_INCLUDE_DIR}")
  if(CMAKE_CROSSCOMPILING)  # other headers in the folder, such as /usr/include, may be another architecture's
    set(RapidJSON_only "${CMAKE_BINARY_DIR}/rapidjson-alone")
    file(MAKE_DIRECTORY "${RapidJSON_only}")
    file(CREATE_LINK "${RapidJSON_INCLUDE_DIR}/rapidjson" "${RapidJSON_only}/rapidjson" RESULT RapidJSON_link SYMBOLIC)
    if(NOT RapidJSON_link STREQUAL "0")  # Windows allows links to few users
      file(COPY "${RapidJSON_INCLUDE_DIR}/rapidjson" DESTINATION "${RapidJSON_only}")
    endif()
    unset(RapidJSON_link)
  endif()
  add_library(RapidJSON::RapidJSON INTERFACE IMPORTED)
  set_target_properties(RapidJSON::RapidJSON PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${RapidJSON_only}")
  unset(RapidJSON_only)
endif()
