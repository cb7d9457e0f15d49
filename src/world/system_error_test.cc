#include "world/system_error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace lockstep::system_error_test {
namespace {

TEST(SystemError, AFullDiskIsNoMissingFile) {
  EXPECT_EQ(kind_of_system_error(ENOSPC), ErrorKind::internal);
  EXPECT_EQ(kind_of_system_error(ENOENT), ErrorKind::not_found);
  EXPECT_EQ(kind_of_system_error(EACCES), ErrorKind::forbidden);
  EXPECT_EQ(kind_of_system_error(EEXIST), ErrorKind::exists);
  EXPECT_EQ(kind_of_system_error(EIO), ErrorKind::internal);
}

TEST(SystemError, SaysWhatAndWhere) {
  const Unexpected failure = system_failure("write", "/out/x", ENOSPC);
  EXPECT_EQ(failure.value().text(), "cannot write /out/x: No space left on device");
}

}  // namespace
}  // namespace lockstep::system_error_test
