# lint: clang-format and clang-tidy over every source that a target of ours names.
#
# clang-tidy leaves a stamp for what it has read, which lives as long as the object files of that:
# what did not change, headers included, is not read again. The test reads the product, several
# sources as one where trees compile them so; what all of them include is then read once. The target
# `tidy`, in the tree of the preset dev, reads everything source by source, and lets the analyzer,
# which walks paths and takes longer than all else together, read the product as well: of what
# rapidcheck and GoogleTest expand to it says nothing of ours.
find_program(CLANG_FORMAT clang-format REQUIRED)
find_program(CLANG_TIDY clang-tidy REQUIRED)

set(rooms impl harness fault_scenarios property_tests bench)
list(TRANSFORM rooms PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE folders)
# Two checks that take a fifth of the test's time wait for the target, too.
set(all_but_analyzer --checks=-clang-analyzer-*)
set(quick ${all_but_analyzer},-bugprone-reserved-identifier,-bugprone-stringview-nullptr)
set(slow "--checks=-*,clang-analyzer-*,-clang-analyzer-deadcode.DeadStores")
string(APPEND slow ",-clang-analyzer-optin.performance.Padding")
string(APPEND slow ",bugprone-reserved-identifier,bugprone-stringview-nullptr")
set(stamps)
set(stamps_of_test)

# Checks a file that includes these sources of the product. misc-unused-using-decls says nothing of
# what is included; it waits for the target.
function(check_together name)
  set(file ${PROJECT_BINARY_DIR}/lint/together_${name}.cpp)
  set(text)
  set(objects)
  foreach(source IN LISTS ARGN)
    string(APPEND text "#include \"${PROJECT_SOURCE_DIR}/impl/${source}\"\n")
    list(APPEND objects
      "$<FILTER:$<TARGET_OBJECTS:lastref>,INCLUDE,/(${source}|unity_${name}_cxx\\.cxx)\\.o$>")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  add_custom_command(OUTPUT ${file}.stamp
    COMMAND ${CLANG_TIDY} --quiet ${quick},-bugprone-suspicious-include ${file} --
      -std=c++20 -w -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/impl/include
    COMMAND ${CMAKE_COMMAND} -E touch ${file}.stamp
    DEPENDS ${PROJECT_SOURCE_DIR}/.clang-tidy ${file} ${objects}
    COMMENT "clang-tidy impl: ${ARGN}"
    VERBATIM)
  set(stamps_of_test ${stamps_of_test} ${file}.stamp PARENT_SCOPE)
endfunction()

# The targets of a folder and of all below it.
function(targets_below folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS below)
    targets_below(${each} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

if(LASTREF_TOGETHER)
  get_target_property(sources lastref SOURCES)
  get_target_property(size lastref UNITY_BUILD_BATCH_SIZE)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(group)
  set(number 0)
  foreach(source IN LISTS sources)
    get_source_file_property(is_alone ${PROJECT_SOURCE_DIR}/impl/${source} TARGET_DIRECTORY lastref
      SKIP_UNITY_BUILD_INCLUSION)
    if(is_alone)
      check_together(${source} ${source})
      continue()
    endif()
    list(APPEND group ${source})
    list(LENGTH group length)
    if(length EQUAL size)
      check_together(${number} ${group})
      math(EXPR number "${number} + 1")
      set(group)
    endif()
  endforeach()
  if(group)
    check_together(${number} ${group})
  endif()
  set(rooms)
endif()

# The commands without the precompiled headers, for they are GCC's. So a source that includes too
# little by itself is found as well.
set(commands ${PROJECT_BINARY_DIR}/lint/compile_commands.json)
add_custom_command(OUTPUT ${commands}
  COMMAND sed -E "s| -Winvalid-pch -include [^ ]*/cmake_pch.hxx||"
    ${PROJECT_BINARY_DIR}/compile_commands.json > ${commands}
  DEPENDS ${PROJECT_BINARY_DIR}/compile_commands.json
  VERBATIM)
# A target, for stamps are to outlive the lists of sources.
add_custom_target(lint_commands DEPENDS ${commands})

foreach(room IN LISTS rooms)
  if(room STREQUAL bench AND NOT TARGET lastref_bench)
    continue()
  endif()
  set(checks ${all_but_analyzer})
  if(room STREQUAL impl)
    set(checks ${quick})
  endif()
  targets_below(${PROJECT_SOURCE_DIR}/${room} targets)
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
        COMMAND ${CLANG_TIDY} --quiet -p ${PROJECT_BINARY_DIR}/lint --extra-arg=-w
          ${checks} ${folder}/${source}
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS
          ${PROJECT_SOURCE_DIR}/.clang-tidy
          lint_commands
          "$<FILTER:$<TARGET_OBJECTS:${target}>,INCLUDE,/${source}.o$>"
        COMMENT "clang-tidy ${room}/${source}"
        VERBATIM)
      list(APPEND stamps ${stamp})
      if(room STREQUAL impl)
        list(APPEND stamps_of_test ${stamp})
        add_custom_command(OUTPUT ${stamp}.analyzer
          COMMAND ${CLANG_TIDY} --quiet -p ${PROJECT_BINARY_DIR}/lint --extra-arg=-w
            ${slow} ${folder}/${source}
          COMMAND ${CMAKE_COMMAND} -E touch ${stamp}.analyzer
          DEPENDS ${stamp}
          COMMENT "clang-tidy, slow checks ${room}/${source}"
          VERBATIM)
        list(APPEND stamps ${stamp}.analyzer)
      endif()
    endforeach()
  endforeach()
endforeach()

set(every_source find ${folders} -name "*.?pp" -exec ${CLANG_FORMAT})
add_custom_target(format COMMAND ${every_source} -i {} + VERBATIM)
add_custom_target(check_format COMMAND ${every_source} --dry-run -Werror {} + VERBATIM)
add_custom_target(check_clang_tidy DEPENDS ${stamps_of_test})
add_custom_target(tidy DEPENDS ${stamps})
add_dependencies(tidy check_format)

add_test(NAME lint.format COMMAND ${every_source} --dry-run -Werror {} +)
set_tests_properties(lint.format PROPERTIES LABELS lint TIMEOUT 600)
# In one tree only, and some minutes on two cores where nothing has been read yet.
if(CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo)
  add_test(NAME lint.clang_tidy
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target check_clang_tidy -- -k 0)
  set_tests_properties(lint.clang_tidy PROPERTIES
    LABELS lint TIMEOUT 1500 COST 300 PROCESSORS 2 RESOURCE_LOCK ninja)
endif()
