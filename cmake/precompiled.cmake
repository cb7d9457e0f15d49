# The standard library, fmt and GoogleTest are most of what the compiler reads for a file of ours: read them once.
# Two sets, shared by all folders: with and without the test libraries.
set(LOCKSTEP_COMMON_HEADERS <algorithm> <functional> <map> <memory> <optional> <set> <string> <string_view>
    <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)

if(LOCKSTEP_PCH)
  add_compile_options(-Winvalid-pch)
  # Not written anew by every configuration: it would be compiled again.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")
  foreach(set headers test_headers)
    add_library(precompiled_${set} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
    target_link_libraries(precompiled_${set} PRIVATE fmt::fmt tl::expected Boost::json)
    target_precompile_headers(precompiled_${set} PRIVATE ${LOCKSTEP_COMMON_HEADERS})
  endforeach()
  if(LOCKSTEP_TESTS)
    target_link_libraries(precompiled_test_headers PRIVATE rapidcheck GTest::gtest_main)
    target_precompile_headers(precompiled_test_headers PRIVATE <gtest/gtest.h> <rapidcheck/gtest.h>)
    target_compile_options(precompiled_test_headers PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  endif()
endif()

# Only folders that use Boost.JSON take part: the others could otherwise include it unnoticed.
function(lockstep_precompile target set parts)
  if(LOCKSTEP_PCH AND "Boost::json" IN_LIST parts)
    target_precompile_headers(${target} REUSE_FROM precompiled_${set})
  endif()
endfunction()
