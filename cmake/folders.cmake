# Files of a target are compiled `size` at a time, as one: most of what the compiler reads for a file are headers that the
# next one reads too. A name in an anonymous namespace therefore has to be the only one of its kind in the folder.
function(lockstep_unity target size)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITY} UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# One library per folder of src/. A folder sees the headers of a folder that it names under USES and
# of no other: each folder's headers are reached through an include directory of its own that holds a
# single link, and links are PRIVATE, so nothing leaks from one folder to the next.
#
#   lockstep_folder(kube USES base data objects world PARTS OpenSSL::Crypto)
#
# Every x.cc in the folder is compiled, but for those under EXCEPT; every x_test.cc becomes part of
# the test <folder>_test.
function(lockstep_folder name)
  cmake_parse_arguments(ARG "" "" "USES;PARTS;TEST_USES;TEST_PARTS;EXCEPT" ${ARGN})
  foreach(used ${ARG_USES})
    if(NOT TARGET ${used})
      message(FATAL_ERROR "src/${name} uses ${used}, which does not stand above it in src/CMakeLists.txt")
    endif()
  endforeach()
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(file ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${folder}/${file})
  endforeach()
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(view ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${folder} ${view}/${name} SYMBOLIC)

  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${view})
  target_link_libraries(${name} PRIVATE ${ARG_USES} ${ARG_PARTS})
  lockstep_precompile(${name} headers)
  lockstep_unity(${name} 12)

  if(LOCKSTEP_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_USES} ${ARG_TEST_USES} ${ARG_PARTS}
                          ${ARG_TEST_PARTS} rapidcheck GTest::gtest_main)
    lockstep_precompile(${name}_test test_headers)
    lockstep_unity(${name}_test 16)
    target_compile_options(${name}_test PRIVATE ${LOCKSTEP_TEST_OPTIONS})
    add_test(NAME ${name} COMMAND ${name}_test)
    # One seed for the property tests: the same run for everybody. RC_PARAMS="" explores.
    set_tests_properties(${name} PROPERTIES LABELS unit ENVIRONMENT "RC_PARAMS=seed=20261115")
    add_dependencies(unit_tests ${name}_test)
  endif()
endfunction()
