# Third-party parts, all from Debian 12 (scripts/packages). Small ones are linked statically, as each
# shared library costs every start of the program; libcurl is loaded when it is needed (http/lazy_curl.cc).
set(Boost_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(tl-expected REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
find_library(LOCKSTEP_YAML libyaml.a REQUIRED)
set_target_properties(PkgConfig::YAML PROPERTIES INTERFACE_LINK_LIBRARIES ${LOCKSTEP_YAML})

# fmt comes from Debian as a shared library, which would bring the shared C++ library with it.
add_library(fmt_static STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt/fmt.cc)
set_target_properties(fmt::fmt PROPERTIES
  INTERFACE_COMPILE_DEFINITIONS "" IMPORTED_SONAME_NONE ""
  IMPORTED_LOCATION_NONE ${PROJECT_BINARY_DIR}/libfmt_static.a)
add_dependencies(fmt::fmt fmt_static)
if(LOCKSTEP_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck QUIET)
endif()
if(LOCKSTEP_BENCH)
  find_package(benchmark REQUIRED)
endif()
