# Runs a sample in a fresh folder and checks what it prints: PROGRAM, FOLDER, and a file of what must be found,
# one regular expression a line (EXPECTED).
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE printed ERROR_VARIABLE logged
  RESULT_VARIABLE code TIMEOUT 60)
message("${logged}${printed}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${code}")
endif()
file(STRINGS ${EXPECTED} expected)
foreach(line IN LISTS expected)
  if(NOT printed MATCHES "${line}")
    message(FATAL_ERROR "its output has nothing like: ${line}")
  endif()
endforeach()
