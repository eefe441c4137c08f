# package_test: makes the Debian packages, and runs the program of one where it was unpacked.
#   -DBUILD=FOLDER  of the tree
#   -DFOLDER=FOLDER  to be emptied
#   -DCPACK=PROGRAM
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CPACK} -B ${FOLDER}
  WORKING_DIRECTORY ${BUILD} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(name lastref liblastref-dev)
  file(GLOB package ${FOLDER}/${name}_*.deb)
  execute_process(COMMAND dpkg-deb -x "${package}" ${FOLDER}/${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(file lastref/usr/bin/lastref lastref/usr/libexec/lastref-worker
    lastref/usr/share/man/man1/lastref.1 lastref/usr/share/lastref/report.schema.json)
  if(NOT EXISTS ${FOLDER}/${file})
    message(SEND_ERROR "the packages have no ${file}")
  endif()
endforeach()
file(GLOB_RECURSE found ${FOLDER}/liblastref-dev/*/lastrefConfig.cmake)
if(NOT found OR EXISTS ${FOLDER}/liblastref-dev/usr/bin)
  message(SEND_ERROR "liblastref-dev is not the library alone")
endif()
# asks(PATTERN ARGUMENT...)
function(asks pattern)
  execute_process(COMMAND ${FOLDER}/lastref/usr/bin/lastref ${ARGN}
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE told)
  if(NOT code EQUAL 0 OR NOT "${said}${told}" MATCHES "${pattern}")
    message(SEND_ERROR "the unpacked program ends with ${code}: ${said}${told}")
  endif()
endfunction()
asks("^lastref [0-9]+[.][0-9]+[.][0-9]+\n$" --version)
asks("clean" run -- true)
