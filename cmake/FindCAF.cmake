# Debian ships CAF without a CMake package. Finds the headers and the libraries of the components
# asked for (core, io, openssl) and makes the targets CAF::core, CAF::io, CAF::openssl.
include(FindPackageHandleStandardArgs)

find_path(CAF_INCLUDE_DIR NAMES caf/all.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)
if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  # "#define CAF_VERSION 1706" is major * 10000 + minor * 100 + patch.
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" CAF_VERSION_LINE REGEX "^#define CAF_VERSION [0-9]+")
  if(CAF_VERSION_LINE MATCHES "([0-9]+)$")
    math(EXPR CAF_MAJOR "${CMAKE_MATCH_1} / 10000")
    math(EXPR CAF_MINOR "(${CMAKE_MATCH_1} / 100) % 100")
    math(EXPR CAF_PATCH "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION "${CAF_MAJOR}.${CAF_MINOR}.${CAF_PATCH}")
  endif()
endif()

if(NOT CAF_FIND_COMPONENTS)
  set(CAF_FIND_COMPONENTS core)
endif()
foreach(component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_LIBRARY_${component} NAMES caf_${component})
  mark_as_advanced(CAF_LIBRARY_${component})
  if(CAF_LIBRARY_${component})
    set(CAF_${component}_FOUND TRUE)
  endif()
endforeach()

find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_INCLUDE_DIR VERSION_VAR CAF_VERSION HANDLE_VERSION_RANGE HANDLE_COMPONENTS)

if(CAF_FOUND)
  find_package(Threads REQUIRED)
  foreach(component IN LISTS CAF_FIND_COMPONENTS)
    if(CAF_LIBRARY_${component} AND NOT TARGET CAF::${component})
      add_library(CAF::${component} UNKNOWN IMPORTED)
      set_target_properties(CAF::${component} PROPERTIES
        IMPORTED_LOCATION "${CAF_LIBRARY_${component}}"
        INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
      if(NOT component STREQUAL "core" AND TARGET CAF::core)
        set_property(TARGET CAF::${component} APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
      endif()
    endif()
  endforeach()
endif()
