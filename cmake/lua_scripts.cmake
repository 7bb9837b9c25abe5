# Links the scripts of the store: each is given those definitions of the shared files that it names, and those that
# these name in turn, and nothing else, since a function costs a script time also when nobody calls it.
#
# A definition begins with `local` and one name at the beginning of a line, and ends before the next; it uses only those
# before it (`check_order`). Where a script says throttling().NAME, what the LAZY files define under that name is made
# when `throttling()` is first called. Constants that C++ has too are taken from its headers.
# The first line of a script says what it does: see `read_effect`.

# What a text names: words that are no fields, outside of comments and texts.
function(read_words text into)
  string(REGEX REPLACE "'[^'\n]*'" "" text "${text}")
  string(REGEX REPLACE "throttling\\(\\)\\.([a-z_]+)" "throttling lazily_\\1" text "${text}")
  string(REPLACE ".." " " text "${text}")
  string(REGEX REPLACE "[.:][A-Za-z_][A-Za-z_0-9]*" " " text "${text}")
  string(REGEX MATCHALL "[A-Za-z_][A-Za-z_0-9]*" words "${text}")
  list(REMOVE_DUPLICATES words)
  set(${into} "${words}" PARENT_SCOPE)
endfunction()

function(read_lua file into)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "[ \t]*--[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  set(${into} "${text}" PARENT_SCOPE)
endfunction()

function(read_effect file into)
  file(STRINGS ${file} first LIMIT_COUNT 1)
  if(first STREQUAL "-- Reads.")
    set(effect reads)
  elseif(first STREQUAL "-- Writes.")
    set(effect writes)
  elseif(first STREQUAL "-- Writes, and its answer is a promise.")
    set(effect promises)
  elseif(first STREQUAL "-- Writes, or finds nothing to do.")
    set(effect may_find_nothing)
  else()
    message(FATAL_ERROR "the first line of ${file} does not say what it does: ${first}")
  endif()
  set(${into} ${effect} PARENT_SCOPE)
endfunction()

# Reads the constants of C++ headers, "inline constexpr TYPE NAME = VALUE;", and appends their numbers to a list.
# Durations become microseconds; a value of another form is no constant for a script.
macro(read_constants into)
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^inline constexpr [a-z_0-9:]+ [a-z_]+ = [^ ]+;")
    foreach(constant IN LISTS lines)
      string(REGEX MATCH " ([a-z_]+) = (std::chrono::([a-z]+).)?([0-9]+)[)}]?;" ignored "${constant}")
      set(value "${CMAKE_MATCH_4}")
      if(CMAKE_MATCH_3 STREQUAL "seconds")
        string(APPEND value 000000)
      elseif(CMAKE_MATCH_3 STREQUAL "milliseconds")
        string(APPEND value 000)
      elseif(CMAKE_MATCH_2 OR value STREQUAL "")
        continue()
      endif()
      math(EXPR count "${count} + 1")
      set(name_${count} ${CMAKE_MATCH_1})
      set(text_${count} "\nlocal ${CMAKE_MATCH_1} = ${value}")
      set(words_${count} "")
      list(APPEND ${into} ${count})
    endforeach()
  endforeach()
endmacro()

# Reads the definitions of some files and appends their numbers to a list.
macro(read_definitions into)
  foreach(file ${ARGN})
    read_lua(${file} text)
    set(found "")
    while(TRUE)
      string(FIND "${text}" "\nlocal " at REVERSE)
      if(at EQUAL -1)
        break()
      endif()
      math(EXPR count "${count} + 1")
      list(PREPEND found ${count})
      string(SUBSTRING "${text}" ${at} -1 text_${count})
      string(SUBSTRING "${text}" 0 ${at} text)
      read_words("${text_${count}}" words_${count})
      string(REGEX MATCH "^\nlocal (function )?([A-Za-z_0-9]+)" ignored "${text_${count}}")
      set(name_${count} ${CMAKE_MATCH_2})
      set(file_${count} ${file})
    endwhile()
    list(APPEND ${into} ${found})
  endforeach()
endmacro()

# Fails when a definition names one that is linked behind it: to Lua that would be a global that nobody ever set, and an
# error only when the line runs. A local variable of that name is none, but would read like one.
function(check_order)
  set(behind "")
  foreach(part LAST LAZY FIRST)
    foreach(i IN LISTS ${part})  # from the last to the first
      foreach(word IN LISTS words_${i})
        if(word IN_LIST behind AND NOT word STREQUAL name_${i})
          message(FATAL_ERROR "${file_${i}}: ${name_${i}} names ${word}, which is linked behind it and not there for "
                              "it; define ${word} earlier, or give a local variable another name")
        endif()
      endforeach()
      list(APPEND behind ${name_${i}})
    endforeach()
    if(part STREQUAL "LAST")
      list(APPEND behind throttling)
    endif()
  endforeach()
endfunction()

# Makes a header with a case for each script. Constants of C++ and definitions of FIRST, LAZY and LAST files stand in
# that order.
function(link_lua_scripts header)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "CONSTANTS;FIRST;LAZY;LAST;SCRIPTS")
  set(count 0)
  read_constants(FIRST ${ARG_CONSTANTS})
  foreach(part FIRST LAZY LAST)
    read_definitions(${part} ${ARG_${part}})
    list(REVERSE ${part})  # whoever names something stands behind it
  endforeach()
  check_order()

  set(cases "")
  foreach(file IN LISTS ARG_SCRIPTS)
    get_filename_component(script ${file} NAME_WE)
    read_effect(${file} effect)
    read_lua(${file} text)
    read_words("${text}" words)
    if(NOT script STREQUAL "raise")  # which is for stores of another layout
      list(APPEND words stored)  # what every script begins with
    endif()
    foreach(i IN LISTS LAST)
      if(name_${i} IN_LIST words)
        string(PREPEND text "${text_${i}}")
        list(APPEND words ${words_${i}})
      endif()
    endforeach()
    set(at_once "")
    set(when_called "")
    set(names "")
    set(words_when_called "")
    foreach(i IN LISTS LAZY)
      if(name_${i} IN_LIST words)
        string(PREPEND at_once "${text_${i}}")
        list(APPEND words ${words_${i}})
      elseif(lazily_${name_${i}} IN_LIST words OR name_${i} IN_LIST words_when_called)
        string(PREPEND when_called "${text_${i}}")
        list(APPEND words_when_called ${words_${i}})
      endif()
      if(lazily_${name_${i}} IN_LIST words)
        string(APPEND names "${name_${i}} = ${name_${i}}, ")
      endif()
    endforeach()
    if("throttling" IN_LIST words)
      string(PREPEND text "
local throttling_made
local function throttling()
  if throttling_made then return throttling_made end${when_called}
  throttling_made = {${names}}
  return throttling_made
end")
    endif()
    string(PREPEND text "${at_once}")
    list(APPEND words ${words_when_called})
    foreach(i IN LISTS FIRST)
      if(name_${i} IN_LIST words)
        string(PREPEND text "${text_${i}}")
        list(APPEND words ${words_${i}})
      endif()
    endforeach()
    string(SUBSTRING "${text}" 1 -1 text)
    string(SHA1 hash "${text}")
    string(APPEND cases "    case script::${script}:\n      return {\"${script}\", effect::${effect}, \"${hash}\", "
                        "R\"lua(${text})lua\"};\n")
  endforeach()

  set(all "// Made of the Lua files beside the sources; change those.\n#pragma once\n
#include \"storage/machine/script.hpp\"\n\nnamespace sluice::storage::machine {\n
inline linked_script linked(script s) {\n  switch (s) {\n${cases}  }\n  return {};\n}\n
}  // namespace sluice::storage::machine\n")
  set(before "")
  if(EXISTS ${header})
    file(READ ${header} before)
  endif()
  if(NOT all STREQUAL before)
    file(WRITE ${header} "${all}")
  endif()
endfunction()
