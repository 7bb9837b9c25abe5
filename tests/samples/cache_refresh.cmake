# Runs the main sample in its three ways and compares what it measured.
#   cmake -DPROGRAM=build/bin/cache_refresh -DFOLDER=scratch -P cache_refresh.cmake
# FOLDER is made anew: leftovers of an earlier run would be work of this one.
cmake_minimum_required(VERSION 3.25)

# Long enough for the seven heavy jobs that are due at the start, with what may end afterwards.
set(seconds 8)

function(measure pools seconds out)
  execute_process(COMMAND ${PROGRAM} --pools ${pools} --seconds ${seconds} --json
    WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE line ERROR_VARIABLE log RESULT_VARIABLE code TIMEOUT 60)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "--pools ${pools} ended with ${code}:\n${line}${log}")
  endif()
  message(STATUS "${line}")
  set(${out} "${line}" PARENT_SCOPE)
endfunction()

function(expect what)
  if(NOT (${ARGN}))
    message(SEND_ERROR "not so: ${what} (${ARGN})")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
measure(one ${seconds} one)
measure(isolated ${seconds} isolated)
measure(throttled ${seconds} throttled)
# Twenty workers for the light jobs are more than the provider takes before it answers 503; the semaphore is in between.
set(ENV{SLUICE_QUEUES__DEFAULT__WORKERS} 20)
measure(throttled 3 crowded)
unset(ENV{SLUICE_QUEUES__DEFAULT__WORKERS})

string(JSON heavy_peak GET "${one}" provider heavy_peak_in_flight)
expect("one pool runs heavy jobs beside each other" ${heavy_peak} GREATER 1)

string(JSON heavy_peak GET "${isolated}" provider heavy_peak_in_flight)
expect("heavy jobs on a queue with one worker run one at a time" ${heavy_peak} EQUAL 1)
string(JSON rejected GET "${isolated}" provider rejected)
expect("the provider rejects nothing" ${rejected} EQUAL 0)

string(JSON jobs GET "${isolated}" jobs)
string(JSON count LENGTH "${jobs}")
expect("there are thirty jobs" ${count} EQUAL 30)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON name MEMBER "${jobs}" ${i})
  string(JSON runs GET "${jobs}" ${name} runs)
  expect("${name} has run" ${runs} GREATER 0)
endforeach()

# A free machine shows ten times; a busy one must not fail the test.
string(JSON p99_one GET "${one}" light_wait_ms p99)
string(JSON p99_isolated GET "${isolated}" light_wait_ms p99)
string(REGEX REPLACE "\\..*" "" whole "${p99_isolated}")
math(EXPR twice "2 * (${whole} + 1)")
expect("light jobs wait less than half as long" ${p99_one} GREATER ${twice})

foreach(report IN ITEMS "${throttled}" "${crowded}")
  string(JSON peak GET "${report}" provider peak_in_flight)
  expect("the provider never has more calls than the semaphore has permits" ${peak} LESS_EQUAL 6)
  string(JSON rejected GET "${report}" provider rejected)
  expect("the provider rejects nothing" ${rejected} EQUAL 0)
  string(JSON enqueued GET "${report}" enqueued)
  string(JSON succeeded GET "${report}" succeeded)
  expect("all jobs have succeeded" ${succeeded} EQUAL ${enqueued})
endforeach()
string(JSON p99_throttled GET "${throttled}" light_wait_ms p99)
string(REGEX REPLACE "\\..*" "" whole "${p99_throttled}")
math(EXPR five_times "5 * (${whole} + 1)")
expect("light jobs wait less than a fifth as long under the semaphore" ${p99_one} GREATER ${five_times})
