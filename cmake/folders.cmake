# Files of a target are compiled `size` at a time, as one: most of what the compiler reads for a file are headers that the
# next one reads too. A name in an anonymous namespace therefore has to be the only one of its kind in the folder.
function(lockstep_unity target size)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITY} UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# A folder's name as its target: sim/actors is sim_actors.
function(lockstep_targets result path)
  set(targets)
  foreach(used ${ARGN})
    string(REPLACE "/" "_" target ${used})
    if(NOT TARGET ${target})
      message(FATAL_ERROR "src/${path} uses ${used}, which does not stand above it in src/CMakeLists.txt")
    endif()
    list(APPEND targets ${target})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# The test <name>_test of the files under SOURCES.
function(lockstep_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(NOT LOCKSTEP_TESTS OR NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_LINKS} rapidcheck GTest::gtest_main)
  lockstep_precompile(${name}_test test_headers)
  lockstep_unity(${name}_test 16)
  target_compile_options(${name}_test PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  add_test(NAME ${name} COMMAND ${name}_test)
  # One seed for the property tests: the same run for everybody. RC_PARAMS="" explores.
  set_tests_properties(${name} PROPERTIES LABELS unit ENVIRONMENT "RC_PARAMS=seed=20261115")
  add_dependencies(unit_tests ${name}_test)
endfunction()

# One library per folder of src/. A folder sees the headers of a folder that it names under USES and
# of no other: each folder's headers are reached through an include directory of its own that holds a
# single link, and links are PRIVATE, so nothing leaks from one folder to the next.
#
#   lockstep_folder(kube USES base data objects world PARTS OpenSSL::Crypto)
#
# Every x.cc in the folder is compiled, but for those under EXCEPT; every x_test.cc becomes part of
# the test <folder>_test.
#
# A sub-folder follows the same rule. The name of its folder, under USES, means all of its sub-folders.
# Their tests are one program, which lockstep_folder_tests makes below the last of them.
#
#   lockstep_folder(sim/oracle USES base data sim/actors)
function(lockstep_folder path)
  cmake_parse_arguments(ARG "" "" "USES;PARTS;TEST_USES;TEST_PARTS;EXCEPT" ${ARGN})
  lockstep_targets(uses ${path} ${ARG_USES})
  lockstep_targets(test_uses ${path} ${ARG_TEST_USES})
  string(REPLACE "/" "_" name ${path})
  cmake_path(GET path PARENT_PATH top)
  set(folder ${PROJECT_SOURCE_DIR}/src/${path})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(file ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${folder}/${file})
  endforeach()
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(view ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view}/${top})
  file(CREATE_LINK ${folder} ${view}/${path} SYMBOLIC)

  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${view})
  target_link_libraries(${name} PRIVATE ${uses} ${ARG_PARTS})
  lockstep_precompile(${name} headers)
  lockstep_unity(${name} 12)

  if(top)
    if(NOT TARGET ${top})
      add_library(${top} INTERFACE)
    endif()
    target_link_libraries(${top} INTERFACE ${name})
    set_property(TARGET ${top} APPEND PROPERTY LOCKSTEP_TESTS ${tests})
  else()
    lockstep_test(${name} SOURCES ${tests} LINKS ${name} ${uses} ${test_uses} ${ARG_PARTS} ${ARG_TEST_PARTS})
  endif()
endfunction()

function(lockstep_folder_tests name)
  cmake_parse_arguments(ARG "" "" "USES;PARTS" ${ARGN})
  lockstep_targets(uses ${name} ${ARG_USES})
  get_target_property(tests ${name} LOCKSTEP_TESTS)
  lockstep_test(${name} SOURCES ${tests} LINKS ${name} ${uses} ${ARG_PARTS})
endfunction()
