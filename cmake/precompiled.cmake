# The standard library, fmt and GoogleTest are most of what the compiler reads for a file of ours: read them once.
# Two sets, shared by all targets: with and without the test libraries. Neither holds a part that a folder must name
# under PARTS to use it.
set(LOCKSTEP_COMMON_HEADERS <algorithm> <functional> <map> <memory> <optional> <set> <string> <string_view>
    <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)

if(LOCKSTEP_PCH)
  add_compile_options(-Winvalid-pch)
  # Written only if it is missing: a new one would be compiled again.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")
  foreach(set headers test_headers)
    add_library(precompiled_${set} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cc)
    target_link_libraries(precompiled_${set} PRIVATE fmt::fmt tl::expected)
    target_precompile_headers(precompiled_${set} PRIVATE ${LOCKSTEP_COMMON_HEADERS})
  endforeach()
  if(LOCKSTEP_TESTS)
    target_link_libraries(precompiled_test_headers PRIVATE rapidcheck GTest::gtest_main)
    target_precompile_headers(precompiled_test_headers PRIVATE <gtest/gtest.h> <rapidcheck/gtest.h>)
    target_compile_options(precompiled_test_headers PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  endif()
endif()

function(lockstep_precompile target set)
  if(LOCKSTEP_PCH)
    target_precompile_headers(${target} REUSE_FROM precompiled_${set})
  endif()
endfunction()
