# Compiler, linker and warnings, for every target.
find_program(LOCKSTEP_CCACHE ccache)
cmake_path(GET PROJECT_BINARY_DIR PARENT_PATH LOCKSTEP_BUILD_PARENT)
if(LOCKSTEP_CCACHE AND CMAKE_GENERATOR STREQUAL "Ninja" AND LOCKSTEP_BUILD_PARENT STREQUAL PROJECT_SOURCE_DIR)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/compile ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
elseif(LOCKSTEP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LOCKSTEP_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LOCKSTEP_CCACHE})
endif()
# Nothing that is compiled tells where the clone lies.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Or its precompiled headers tell when they were made, and no two are the same.
  add_compile_options(-Xclang -fno-pch-timestamp)
endif()

# An index out of bounds ends the program with a message, in every build: it must never go on with nonsense.
add_compile_definitions(_GLIBCXX_ASSERTIONS)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Werror=return-type)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside libstdc++ and Boost when it inlines; none is ours. The last three are one
  # false alarm about moved strings under three names.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overread
                      -Wno-stringop-overflow)
endif()

find_program(LOCKSTEP_MOLD mold)
if(LOCKSTEP_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
# A build id is made of the debug information too, which tells whether the compiler ran behind a cache: without it the same
# commit gives the same image.
add_link_options(-Wl,--as-needed -Wl,--build-id=none)

# The program also runs as root on GPU nodes. An overflow ends it, no table of addresses stays writable, and no library is
# searched for in a folder of the build. Fortified calls need an optimizing compiler, and would hide what a sanitizer sees.
# Position-independent executables are what Debian's compilers make by themselves (tests/deploy holds them to it).
set(CMAKE_SKIP_RPATH ON)
add_compile_options(-fstack-protector-strong -fcf-protection=full)
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
if(NOT LOCKSTEP_SANITIZE AND NOT LOCKSTEP_SANITIZE_THREADS AND NOT LOCKSTEP_FUZZ)
  add_compile_options(-U_FORTIFY_SOURCE $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
endif()

if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(LOCKSTEP_SANITIZE_THREADS)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(LOCKSTEP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# What the tests themselves do needs no optimizing, and compiling them is half of a build: what they test
# is in the libraries, which are optimized.
set(LOCKSTEP_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O0>)
