# What `cmake --install` lays down. Components: client; server and dashboard, which need client; programs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a program needs that links the static libraries: a new dependency of theirs is one word in two of these lists.
set(SLUICE_NEEDS_PACKAGES Threads nlohmann_json spdlog)  # by find_package
set(SLUICE_NEEDS_MODULES hiredis luajit openssl sqlite3) # by pkg-config, as PkgConfig::NAME
set(SLUICE_PC_REQUIRES nlohmann_json spdlog hiredis luajit openssl sqlite3) # for sluice.pc

set(SLUICE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
foreach(part client server dashboard)
  get_property(rooms GLOBAL PROPERTY SLUICE_PACKAGE_${part})
  install(TARGETS ${rooms} EXPORT sluice-${part}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # As distributions lay them down; who debugs Sluice builds it.
  install(CODE "
    file(GLOB archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsluice_*.a\")
    if(NOT CMAKE_INSTALL_CONFIG_NAME STREQUAL Debug)
      execute_process(COMMAND ${CMAKE_STRIP} --strip-debug \${archives} COMMAND_ERROR_IS_FATAL ANY)
    endif()" COMPONENT ${part})
  # A file each, since the server's names CAF and the dashboard's a web server: read only when they are asked for.
  install(EXPORT sluice-${part} NAMESPACE sluice:: FILE sluice-${part}.cmake
    DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT ${part})
  # Rooms are declared from the ground up, and a linker reads archives from the top down.
  list(REVERSE rooms)
  list(TRANSFORM rooms PREPEND "-l" OUTPUT_VARIABLE archives)
  list(JOIN archives " " SLUICE_PC_ARCHIVES_${part})
endforeach()
install(TARGETS sluice RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)

# What the program says of itself, as files: of the words that it parses, so that nothing is written twice.
set(said ${CMAKE_CURRENT_BINARY_DIR}/said)
file(MAKE_DIRECTORY ${said})
add_custom_command(OUTPUT ${said}/sluice.1 ${said}/sluice ${said}/_sluice
  COMMAND sluice manual > ${said}/sluice.1
  COMMAND sluice completion bash > ${said}/sluice
  COMMAND sluice completion zsh > ${said}/_sluice
  DEPENDS sluice VERBATIM)
add_custom_target(sluice_said ALL DEPENDS ${said}/sluice.1 ${said}/sluice ${said}/_sluice)
install(FILES ${said}/sluice.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES ${said}/sluice DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT programs)
install(FILES ${said}/_sluice DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT programs)

# Only actors.hpp includes CAF; a producer may include any other header.
install(DIRECTORY include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client
  FILES_MATCHING PATTERN "*.hpp" PATTERN actors.hpp EXCLUDE PATTERN dashboard.hpp EXCLUDE)
install(FILES include/sluice/dashboard.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice COMPONENT dashboard)
install(FILES include/sluice/actors.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice COMPONENT server)

configure_file(cmake/sluiceConfig.cmake.in sluiceConfig.cmake @ONLY)
# From 1.0 on SameMajorVersion.
write_basic_package_version_file(sluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluiceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/sluiceConfigVersion.cmake
  DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT client)
install(FILES cmake/FindCAF.cmake DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT server)

# The .pc files find the rest from where they lie, so an installed tree may be moved.
list(JOIN SLUICE_PC_REQUIRES " " SLUICE_PC_REQUIRES)
file(RELATIVE_PATH SLUICE_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SLUICE_PC_UP "${SLUICE_PC_UP}")
file(RELATIVE_PATH SLUICE_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH SLUICE_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/sluice.pc.in sluice.pc @ONLY)
configure_file(cmake/sluice-server.pc.in sluice-server.pc @ONLY)
configure_file(cmake/sluice-dashboard.pc.in sluice-dashboard.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluice.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT client)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluice-server.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT server)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluice-dashboard.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dashboard)

# Pages link to other files of the tree. Those lie beside the pages as in the tree, so that no link is dead there.
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT client)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT client
  FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
foreach(folder samples storage/rules/calls tests/samples/cache_refresh_bench)
  get_filename_component(above ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${above} COMPONENT client
    PATTERN CMakeLists.txt EXCLUDE)
endforeach()
install(FILES storage/rules/keys.lua DESTINATION ${CMAKE_INSTALL_DOCDIR}/storage/rules COMPONENT client)
foreach(header dashboard exec_key log server stop_signal)
  install(FILES include/sluice/${header}.hpp DESTINATION ${CMAKE_INSTALL_DOCDIR}/include/sluice COMPONENT client)
endforeach()
