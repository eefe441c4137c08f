# example_test: runs a program, compares what it prints with a file, and looks for what it left.
#
# In the file <pid> stands for any number, and <tasks> for a task, alone or with others of its
# batch.
cmake_minimum_required(VERSION 3.25)

# Not below the build tree: the name of a socket has room for 107 characters. unix(7).
string(RANDOM LENGTH 12 name)
set(folder /tmp/lastref-example-${name})
file(MAKE_DIRECTORY ${folder}/runtime ${folder}/temp ${folder}/cache)
file(CHMOD ${folder}/runtime PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(ENV{LASTREF_RUNTIME_FOLDER} ${folder}/runtime)
set(ENV{LASTREF_TEMP_FOLDER} ${folder}/temp)
set(ENV{XDG_CACHE_HOME} ${folder}/cache)
execute_process(COMMAND ${PROGRAM}
  TIMEOUT 300
  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE complained)

file(READ ${EXPECTED} expected)
string(REPLACE "<pid>" "[0-9]+" expected "${expected}")
string(REPLACE "<tasks>" "(one of [0-9]+ tasks, )?[a-z]+" expected "${expected}")
if(NOT result STREQUAL 0 OR NOT complained STREQUAL "" OR NOT said MATCHES "^${expected}$")
  message(SEND_ERROR "${PROGRAM}: exit ${result}, and it said:\n${said}${complained}")
endif()

# The tracker ends by itself, a little later than the program.
string(TIMESTAMP now "%s")
math(EXPR deadline "${now} + 20")
set(left ${folder})
while(left AND now LESS deadline)
  # The folder for caches stays, for the next one, and so do caches with a name.
  file(GLOB_RECURSE left LIST_DIRECTORIES true ${folder}/runtime/* ${folder}/temp/*)
  file(GLOB_RECURSE files ${folder}/cache/lastref/*-*)
  list(APPEND left ${files})
  string(TIMESTAMP now "%s")
endwhile()
if(left)
  message(SEND_ERROR "${PROGRAM} left ${left}")
endif()
file(REMOVE_RECURSE ${folder})
