# Uses the installed package as an outside project does. `cmake -D NAME=VALUE... -P check.cmake`, with
# CASE       consumer: the README's program, built and run; producer: a client without CAF, by CMake and by pkg-config
# BUILD      the build to install from           WORK    an empty folder of this case's own
# README     where the program stands            LIBDIR  CMAKE_INSTALL_LIBDIR of the build
# COMPILER   CMAKE_CXX_COMPILER of the build     LAUNCHER (may be empty), GENERATOR, READELF, PKG_CONFIG: likewise
cmake_minimum_required(VERSION 3.25)

# Runs a command in the folder, must_run(FOLDER COMMAND...); what it printed is `printed`.
function(must_run folder)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder} INPUT_FILE /dev/null TIMEOUT 300
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message("${out}${err}")  # by itself, since an error's text is wrapped anew
    message(FATAL_ERROR "failed (${code}): ${command}")
  endif()
  set(printed "${out}" PARENT_SCOPE)
endfunction()

function(install_to prefix)
  must_run(${WORK} ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} ${ARGN})
endfunction()

# Configures tests/package/NAME in WORK/NAME against a prefix.
function(configure name prefix)
  must_run(${WORK} ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name} -B ${WORK}/${name} -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=-O0
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${ARGN})
endfunction()

# The first ```cpp block of a text that is a program.
function(program_of text result)
  while(TRUE)
    string(FIND "${text}" "```cpp\n" begin)
    if(begin EQUAL -1)
      message(FATAL_ERROR "${README} has no \`\`\`cpp block with an int main")
    endif()
    math(EXPR begin "${begin} + 7")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "```" end)
    string(SUBSTRING "${text}" 0 ${end} block)
    if(block MATCHES "int main\\(")
      set(${result} "${block}" PARENT_SCOPE)
      return()
    endif()
  endwhile()
endfunction()

function(must_not_name_caf what text)
  if(text MATCHES "lib(caf|sluice_actors)|-l(caf|sluice_actors)")
    message("${text}")
    message(FATAL_ERROR "${what} names CAF")
  endif()
endfunction()

# The program enqueues, tells an id, and needs no CAF.
function(must_produce program)
  must_run(${WORK} ${program})
  if(NOT printed MATCHES "^[^\n ]+\n$")
    message(FATAL_ERROR "${program} printed no id: ${printed}")
  endif()
  must_run(${WORK} ${READELF} -d ${program})
  must_not_name_caf("the dynamic section of ${program}" "${printed}")
endfunction()

# So many MB, all files together: debug information makes ten times as much in no time.
function(must_be_below mb)
  set(bytes 0)
  foreach(laid_down ${ARGN})
    file(SIZE ${laid_down} size)
    math(EXPR bytes "${bytes} + ${size}")
  endforeach()
  if(bytes GREATER "${mb}000000")
    message(FATAL_ERROR "${bytes} bytes are more than ${mb} MB: ${ARGN}")
  endif()
endfunction()

foreach(needed BUILD WORK README LIBDIR COMPILER GENERATOR READELF PKG_CONFIG)
  if(NOT ${needed})
    message(FATAL_ERROR "check.cmake needs -D ${needed}=...")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

if(CASE STREQUAL "consumer")
  install_to(${WORK}/prefix)
  configure(refusals ${WORK}/prefix)
  file(READ ${README} readme)
  program_of("${readme}" program)
  file(WRITE ${WORK}/main.cpp "${program}")
  configure(consumer ${WORK}/prefix -DPROGRAM=${WORK}/main.cpp)
  must_run(${WORK} ${CMAKE_COMMAND} --build consumer)
  must_run(${WORK} consumer/hello)
  if(NOT printed MATCHES "hello, Ada")
    message(FATAL_ERROR "the program of ${README} did not print 'hello, Ada' but: ${printed}")
  endif()
  must_run(${WORK} consumer/page)
  if(NOT printed MATCHES "^http://localhost:[0-9]+\n$")
    message(FATAL_ERROR "the dashboard of an outside program did not start: ${printed}")
  endif()
  must_run(${WORK} consumer/jobs_test/jobs_test)
  if(NOT printed STREQUAL "hello\n")
    message(FATAL_ERROR "a test of jobs that an outside project has did not run its job but: ${printed}")
  endif()
  must_be_below(25 ${WORK}/prefix/bin/sluice)
  foreach(said man/man1/sluice.1 bash-completion/completions/sluice zsh/site-functions/_sluice)
    file(STRINGS ${WORK}/prefix/share/${said} lines REGEX "recurring trigger|_sluice_recurring_trigger")
    if(NOT lines)
      message(FATAL_ERROR "the installed ${said} does not name every command")
    endif()
  endforeach()
  file(GLOB_RECURSE laid_down ${WORK}/prefix/*)
  must_be_below(60 ${laid_down})
  must_run(${WORK} prefix/bin/sluice jobs --store sqlite:hello.db)
  if(NOT printed MATCHES "greet")
    message(FATAL_ERROR "the installed sluice did not show the job but: ${printed}")
  endif()

elseif(CASE STREQUAL "producer")
  # Only this component: nothing of the server lies there to be taken by accident.
  install_to(${WORK}/prefix --component client)
  file(GLOB_RECURSE strays ${WORK}/prefix/*actors* ${WORK}/prefix/*CAF* ${WORK}/prefix/*server.cmake ${WORK}/prefix/*dashboard*.a
    ${WORK}/prefix/*dashboard.cmake)
  if(strays)
    message(FATAL_ERROR "the component client installs ${strays}")
  endif()
  file(GLOB headers ${WORK}/prefix/include/sluice/*.hpp)
  foreach(header IN LISTS headers)
    file(STRINGS ${header} lines REGEX "#include <caf/")
    if(lines)
      message(FATAL_ERROR "the component client installs ${header}, which includes CAF")
    endif()
  endforeach()
  configure(producer ${WORK}/prefix -DCMAKE_DISABLE_FIND_PACKAGE_CAF=TRUE)
  must_run(${WORK} ${CMAKE_COMMAND} --build producer --verbose)
  must_not_name_caf("the producer's build" "${printed}")
  must_produce(${WORK}/producer/producer)

  # The prefix is moved first: the .pc file must find the rest from where it lies.
  file(RENAME ${WORK}/prefix ${WORK}/moved)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/${LIBDIR}/pkgconfig)
  must_run(${WORK} ${PKG_CONFIG} --modversion sluice)
  string(STRIP "${printed}" version)
  must_run(${WORK} ${PKG_CONFIG} --cflags --libs sluice)
  must_not_name_caf("sluice.pc" "${printed}")
  separate_arguments(flags UNIX_COMMAND "${printed}")
  must_run(${WORK} ${COMPILER} -std=c++20 -DPACKAGE_VERSION="${version}"
    ${CMAKE_CURRENT_LIST_DIR}/producer/main.cpp ${flags} -o by_hand)
  must_produce(${WORK}/by_hand)

else()
  message(FATAL_ERROR "CASE is consumer or producer")
endif()
