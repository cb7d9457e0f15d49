#include "bundle/tar.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::bundle::tar_test {
namespace {

const BundleFiles some = {{"001-a/install.sh", {"#!/bin/sh\n", true}},
                          {"001-a/values.yaml", {"a: 1\n", false}},
                          {"empty", {"", false}}};

// Long enough for the prefix, for neither field, and not ASCII.
BundleFiles awkward() {
  const std::string folder = std::string(90, 'f');
  return {{folder + "/" + std::string(100, 'n'), {"prefix", false}},
          {folder + "/" + folder + "/" + folder + "/name", {"pax", false}},
          {std::string(101, 'n'), {"pax", true}},
          {"grün.yaml", {"pax", false}},
          {"block", {std::string(512, 'x'), false}},
          {"more", {std::string(513, 'x'), false}}};
}

TEST(Tar, IsWrittenAsTheStandardSays) {
  const std::string archive = write_tar({{"deploy.sh", {"echo\n", true}}});
  ASSERT_EQ(archive.size(), 4 * 512U);
  EXPECT_EQ(archive.substr(0, 10), std::string("deploy.sh\0", 10));
  EXPECT_EQ(archive.substr(100, 8), std::string("0000755\0", 8));
  EXPECT_EQ(archive.substr(108, 16), std::string("0000000\0"
                                                 "0000000\0",
                                                 16));
  EXPECT_EQ(archive.substr(124, 24), std::string("00000000005\0"
                                                 "00000000000\0",
                                                 24));
  EXPECT_EQ(archive.substr(148, 8), std::string("011033\0 ", 8));
  EXPECT_EQ(archive.substr(156, 1), "0");
  EXPECT_EQ(archive.substr(257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(archive.substr(512, 5), "echo\n");
  EXPECT_EQ(archive.find_first_not_of('\0', 517), std::string::npos);
}

TEST(Tar, ComesBackAsItWas) {
  EXPECT_EQ(read_tar(write_tar(some)).value(), some);
  EXPECT_EQ(read_tar(write_tar(awkward())).value(), awkward());
  EXPECT_EQ(read_tar(write_tar({})).value(), BundleFiles{});
}

RC_GTEST_PROP(Tar, AnyContentComesBack, (const std::map<uint8_t, std::string>& contents)) {
  BundleFiles files;
  for (const auto& [number, content] : contents) {
    files["f/" + std::string(number, 'x') + "y"] = {content, number % 2 == 0};
  }
  RC_ASSERT(read_tar(write_tar(files)).value() == files);
}

TEST(Tar, ADamagedOneIsRefused) {
  const std::string archive = write_tar(some);
  for (const size_t at : {0U, 100U, 124U, 148U, 300U}) {
    std::string damaged = archive;
    damaged[at] ^= 1;
    EXPECT_FALSE(read_tar(damaged).has_value()) << at;
  }
  for (const size_t size : {0U, 100U, 512U, 515U, 1024U}) {
    EXPECT_EQ(read_tar(archive.substr(0, size)).error().message, "the tar archive is cut off");
  }
  EXPECT_FALSE(read_tar(std::string(1024, 'x')).has_value());
}

TEST(Tar, NoPathLeadsOut) {
  // On disk, the name of the last would end before its zero byte.
  const std::string zero = std::string(120, 'a') + '\0' + "b";
  for (const std::string& path :
       std::vector<std::string>{"../x", "/etc/x", "a/../x", "a//x", "./x", zero}) {
    const auto read = read_tar(write_tar({{path, {"", false}}}));
    ASSERT_FALSE(read.has_value()) << path;
    EXPECT_NE(read.error().message.find("leads out"), std::string::npos);
  }
}

// Changes the type of the first entry and makes its checksum right again.
std::string with_type(std::string archive, char type) {
  const int difference = type - archive[156];
  archive[156] = type;
  const int sum = std::stoi(archive.substr(148, 6), nullptr, 8) + difference;
  archive.replace(148, 6, fmt::format("{:06o}", sum));
  return archive;
}

TEST(Tar, LinksAndTwinsAreRefusedAndDirectoriesPassedOver) {
  const std::string archive = write_tar({{"a", {"", false}}});
  EXPECT_FALSE(read_tar(with_type(archive, '2')).has_value());
  EXPECT_FALSE(read_tar(with_type(archive, '1')).has_value());
  EXPECT_EQ(read_tar(with_type(archive, '5')).value(), BundleFiles{});
  EXPECT_NE(read_tar(archive.substr(0, 512) + archive).error().message.find("twice"),
            std::string::npos);
}

TEST(Tar, ABrokenPaxHeaderIsRefused) {
  std::string archive = write_tar({{"grün", {"", false}}});
  ASSERT_EQ(archive.substr(512, 3), "14 ");
  for (const char* start : {"99 ", "13 ", "xx ", "2  "}) {
    archive.replace(512, 3, start);
    EXPECT_EQ(read_tar(archive).error().message, "a broken pax header") << start;
  }
}

}  // namespace
}  // namespace lockstep::bundle::tar_test
