#include "world/huge_pages.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace lockstep::huge_pages_test {
namespace {

// What the test below runs as a process of its own.
TEST(HugePages, DISABLED_Said) {
  begin_again_with_huge_pages();
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  std::printf("said %s\n", tunables == nullptr ? "nothing" : tunables);
}

std::string said_by_child(const std::string& environment) {
  const std::string command =
      "env -u GLIBC_TUNABLES " + environment + " '" +
      std::filesystem::read_symlink("/proc/self/exe").string() +
      "' --gtest_also_run_disabled_tests --gtest_filter=HugePages.DISABLED_Said";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return "not started";
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, output) != nullptr) text += part;
  EXPECT_EQ(pclose(output), 0) << text;
  size_t begin = text.find("said ");
  if (begin == std::string::npos) return text;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(HugePages, AProcessBeginsAgainOnceWithTheSameArguments) {
  EXPECT_EQ(said_by_child(""), "said glibc.malloc.hugetlb=1");
}

TEST(HugePages, WhatWasSaidBeforeIsKept) {
  EXPECT_EQ(said_by_child("GLIBC_TUNABLES=glibc.malloc.arena_max=1"),
            "said glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1");
  EXPECT_EQ(said_by_child("GLIBC_TUNABLES=glibc.malloc.hugetlb=0"), "said glibc.malloc.hugetlb=0");
}

}  // namespace
}  // namespace lockstep::huge_pages_test
