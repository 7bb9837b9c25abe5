# Runs the main sample as two processes on one store and checks that both of them worked and nothing was lost.
#   cmake -DPROGRAM=build/bin/cache_refresh -DBENCH=build/bin/cache_refresh_bench -DFOLDER=scratch [-DSTORE=URL] -P cache_refresh_processes.cmake
# FOLDER is made anew; without STORE the jobs live in a file there.
cmake_minimum_required(VERSION 3.25)

if(NOT STORE)
  set(STORE sqlite:${FOLDER}/jobs.db)
endif()

function(expect what)
  if(NOT (${ARGN}))
    message(SEND_ERROR "not so: ${what} (${ARGN})")
  endif()
endfunction()

# The words are wrong, and what is said about them names each of these.
function(refuses program words)
  separate_arguments(words)
  execute_process(COMMAND ${program} ${words} WORKING_DIRECTORY ${FOLDER}
    OUTPUT_QUIET ERROR_VARIABLE said RESULT_VARIABLE code TIMEOUT 60)
  expect("${words} is refused" "${code}" EQUAL 2)
  string(REGEX REPLACE "\n.*" "" said "${said}")  # the rest is the usage
  foreach(word IN LISTS ARGN)
    string(FIND "${said}" "${word}" at)
    expect("'${said}' names ${word}" ${at} GREATER_EQUAL 0)
  endforeach()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

refuses(${PROGRAM} "--queues slow" --queues slow game-cache-queue)
refuses(${PROGRAM} "--dashboard here" --dashboard 65535)
refuses(${PROGRAM} "--dashboard 65536" --dashboard 65535)
refuses(${PROGRAM} "--seconds -1" --seconds 86400)
refuses(${PROGRAM} "--role work" --role)
refuses(${PROGRAM} "--store" --store value)
refuses(${BENCH} "--no-server" --no-server --store)
refuses(${BENCH} "--no-server --store sqlite::memory:" --store sqlite:jobs.db)
refuses(${BENCH} "--provider-port 65536" --provider-port 65535)
refuses(${BENCH} "--pools two" --pools staggered all)
refuses(${BENCH} "--pools all --store sqlite:jobs.db" "--pools all" --store)

execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/cache_refresh_processes.sh ${PROGRAM} ${BENCH} ${STORE} ${CMAKE_COMMAND}
  WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE said ERROR_VARIABLE log RESULT_VARIABLE code TIMEOUT 120)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the processes ended with ${code}:\n${said}${log}")
endif()
file(READ ${FOLDER}/page.html page)
expect("the dashboard is a page" "${page}" MATCHES "<title>Sluice")
file(READ ${FOLDER}/queues.json queues)
string(JSON first GET "${queues}" queues 0 queue)
expect("the dashboard shows the queues of the run" "${first}" STREQUAL "default")
file(READ ${FOLDER}/report.json report)
message(STATUS "${report}")

string(JSON enqueued GET "${report}" enqueued)
string(JSON succeeded GET "${report}" succeeded)
string(JSON unfinished GET "${report}" unfinished)
expect("jobs were enqueued" ${enqueued} GREATER 0)
expect("all of them have succeeded" ${succeeded} EQUAL ${enqueued})
expect("none waits" ${unfinished} EQUAL 0)

# Any of the servers fires any schedule; the one that was stopped took none with it.
string(JSON fired GET "${report}" recurring fired)
expect("schedules have fired" ${fired} GREATER 20)
string(JSON missed GET "${report}" recurring missed)
expect("no occurrence was missed" ${missed} EQUAL 0)
string(JSON doubled GET "${report}" recurring doubled)
expect("no occurrence fired twice" ${doubled} EQUAL 0)

string(JSON servers GET "${report}" runs_of_servers)
string(JSON count LENGTH "${servers}")
expect("two processes ran jobs" ${count} EQUAL 2)
string(STRIP "${said}" pids)
separate_arguments(pids)
foreach(pid IN LISTS pids)
  expect("process ${pid} ran some" "${servers}" MATCHES "-${pid}:")
endforeach()

string(JSON heavy_peak GET "${report}" provider heavy_peak_in_flight)
expect("a second worker for the heavy jobs ran them beside the first" ${heavy_peak} EQUAL 2)
