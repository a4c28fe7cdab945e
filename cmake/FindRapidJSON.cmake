# Finds the RapidJSON headers (Debian: rapidjson-dev) and defines RapidJSON::RapidJSON.
find_path(RapidJSON_INCLUDE_DIR rapidjson/document.h)
mark_as_advanced(RapidJSON_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RapidJSON REQUIRED_VARS RapidJSON_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install rapidjson-dev, or set RapidJSON_INCLUDE_DIR to the folder that holds rapidjson/")

if(RapidJSON_FOUND AND NOT TARGET RapidJSON::RapidJSON)
  add_library(RapidJSON::RapidJSON INTERFACE IMPORTED)
  set_target_properties(RapidJSON::RapidJSON PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${RapidJSON_INCLUDE_DIR}")
endif()
