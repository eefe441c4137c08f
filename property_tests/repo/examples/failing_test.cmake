# failing_test: runs a program where nothing works, and looks that it ends with a sentence and the
# exit code of an error, never by a signal.
cmake_minimum_required(VERSION 3.25)

# Not below the build tree: the name of a socket has room for 107 characters. unix(7).
string(RANDOM LENGTH 12 name)
set(folder /tmp/lastref-example-${name})
file(WRITE ${folder}/file "in the way of every folder below it")

# Runs it with variables, below a limit on its addresses in KiB. `codes` are the exit codes that it
# may have.
function(expect codes limit)
  file(MAKE_DIRECTORY ${folder}/runtime ${folder}/temp ${folder}/cache)
  file(CHMOD ${folder}/runtime PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env
      LASTREF_RUNTIME_FOLDER=${folder}/runtime LASTREF_TEMP_FOLDER=${folder}/temp
      XDG_CACHE_HOME=${folder}/cache ${ARGN}
      sh -c "ulimit -v ${limit} && exec \"$1\"" sh ${PROGRAM}
    TIMEOUT 300
    RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT result IN_LIST codes)
    message(SEND_ERROR "${ARGN} ${limit}: exit ${result}, and it said:\n${said}${complained}")
  endif()
  if(result STREQUAL 1 AND NOT "${said}${complained}" MATCHES "no [a-z]+: [^\n]+")
    message(SEND_ERROR "${ARGN} ${limit}: it does not say why:\n${said}${complained}")
  endif()
endfunction()

# As in a program that starts workers where it should not: every call fails.
expect("1" unlimited __LASTREF_SPAWNED_PARALLEL__=1)
expect("1" unlimited LASTREF_RUNTIME_FOLDER=${folder}/file/runtime)
# Whoever needs none of them goes on.
expect("0;1" unlimited LASTREF_TEMP_FOLDER=${folder}/file/temp)
expect("0;1" unlimited XDG_CACHE_HOME=${folder}/file/cache)
expect("0;1" ${LIMIT})
file(REMOVE_RECURSE ${folder})
