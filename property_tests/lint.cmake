# lint: clang-format and clang-tidy over every source that a target of ours names.
#
# clang-tidy leaves a stamp for each source, which lives as long as the object file of that source:
# what did not change, headers included, is not read again.
find_program(CLANG_FORMAT clang-format REQUIRED)
find_program(CLANG_TIDY clang-tidy REQUIRED)

set(rooms impl harness fault_scenarios property_tests bench)
set(stamps)
foreach(room IN LISTS rooms)
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${room} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(source IN LISTS sources)
      set(stamp ${PROJECT_BINARY_DIR}/lint/${target}/${source}.stamp)
      cmake_path(GET stamp PARENT_PATH stamp_folder)
      file(MAKE_DIRECTORY ${stamp_folder})
      # What clang warns of and GCC does not is no business of ours.
      add_custom_command(OUTPUT ${stamp}
        COMMAND ${CLANG_TIDY} --quiet -p ${PROJECT_BINARY_DIR} --extra-arg=-w ${folder}/${source}
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS
          ${PROJECT_SOURCE_DIR}/.clang-tidy
          "$<FILTER:$<TARGET_OBJECTS:${target}>,INCLUDE,/(${source}|unity_0_cxx.cxx).o$>"
        COMMENT "clang-tidy ${room}/${source}"
        VERBATIM)
      list(APPEND stamps ${stamp})
    endforeach()
  endforeach()
endforeach()

list(TRANSFORM rooms PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE folders)
set(every_source find ${folders} -name "*.?pp" -exec ${CLANG_FORMAT})
add_custom_target(format COMMAND ${every_source} -i {} + VERBATIM)
add_custom_target(check_format COMMAND ${every_source} --dry-run -Werror {} + VERBATIM)
add_custom_target(check_clang_tidy DEPENDS ${stamps})
add_custom_target(tidy)
add_dependencies(tidy check_format check_clang_tidy)

# In one tree only, the one with compile commands that clang understands.
if(NOT LASTREF_SANITIZE)
  add_test(NAME lint.format COMMAND ${every_source} --dry-run -Werror {} +)
  set_tests_properties(lint.format PROPERTIES LABELS lint TIMEOUT 60)
endif()
# A quarter of an hour on two cores: asked for, with -DLASTREF_CLANG_TIDY=ON or the target `tidy`.
option(LASTREF_CLANG_TIDY "Run clang-tidy as a test" OFF)
if(LASTREF_CLANG_TIDY AND NOT LASTREF_SANITIZE)
  add_test(NAME lint.clang_tidy
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target check_clang_tidy -- -k 0)
  set_tests_properties(lint.clang_tidy PROPERTIES
    LABELS lint TIMEOUT 1500 RUN_SERIAL ON RESOURCE_LOCK ninja)
endif()
