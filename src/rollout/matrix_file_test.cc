#include "rollout/matrix_file.h"

#include <gtest/gtest.h>

#include "rollout/matrix_test_util.h"

namespace lockstep::rollout::matrix_file_test {
namespace {

TEST(MatrixFile, ReadsTheSeedsFormat) {
  const Matrix matrix = parse_matrix(seed_matrix, "m.yaml").value();
  EXPECT_EQ(matrix.value(Slot::current, "driver"), "560.35.03");
  EXPECT_EQ(matrix.value(Slot::canary, "driver"), "565.57.01");
  EXPECT_EQ(matrix.value(Slot::canary, "status"), "testing");
  EXPECT_EQ(matrix.current.size(), matrix_keys().size());
  EXPECT_FALSE(matrix.is_empty(Slot::canary));
  EXPECT_TRUE(matrix.gpus.empty());
}

TEST(MatrixFile, VersionsAreTextsAsTheyAreWritten) {
  const Matrix matrix =
      parse_matrix("versions:\n  current: {cuda: 12.10, driver: 0570, sriov: on, firmware: ~}\n",
                   "m.yaml")
          .value();
  EXPECT_EQ(matrix.value(Slot::current, "cuda"), "12.10");
  EXPECT_EQ(matrix.value(Slot::current, "driver"), "0570");
  EXPECT_EQ(matrix.value(Slot::current, "sriov"), "on");
  EXPECT_EQ(matrix.value(Slot::current, "firmware"), "");
  EXPECT_TRUE(matrix.has(Slot::current, "firmware"));
  EXPECT_FALSE(matrix.has(Slot::current, "openshift"));
}

TEST(MatrixFile, TheCanaryMayBeMissingEmptyOrNull) {
  for (const char* canary : {"", "  canary:\n", "  canary: {}\n", "  canary: ~\n",
                             "  canary: {driver: \"\", status: ''}\n"}) {
    const auto matrix =
        parse_matrix(std::string("versions:\n  current: {driver: \"1\"}\n") + canary, "m.yaml");
    ASSERT_TRUE(matrix) << canary << matrix.error().text();
    EXPECT_TRUE(matrix->is_empty(Slot::canary)) << canary;
  }
}

TEST(MatrixFile, AnAliasIsItsValueAndFurtherKeysMayBeAnything) {
  const Matrix matrix = parse_matrix(R"(gpus: [H100, NVIDIA-B200]
versions:
  current: {driver: &d "570.26", notes: [a, b], owner: me}
  canary: {driver: *d}
)",
                                     "m.yaml")
                            .value();
  EXPECT_EQ(matrix.value(Slot::canary, "driver"), "570.26");
  EXPECT_EQ(matrix.value(Slot::current, "owner"), "me");
  EXPECT_FALSE(matrix.has(Slot::current, "notes"));
  EXPECT_EQ(matrix.gpus, (std::vector<std::string>{"H100", "NVIDIA-B200"}));
}

TEST(MatrixFile, WhatIsWrongIsSaidWithItsPlace) {
  struct Row {
    const char* text;
    const char* said;
  };
  for (const Row& row : std::vector<Row>{
           {"", "must be a map"},
           {"- a\n", "must be a map"},
           {"versions: 1\n", "m.yaml:1:11: the map \"versions\" is missing"},
           {"other: {}\n", "the map \"versions\" is missing"},
           {"versions:\n  canary: {}\n", "the map \"versions.current\" is missing"},
           {"versions:\n  current: {driver: [1]}\n", "driver must be a single value"},
           {"versions:\n  current: {}\n  canary: [1]\n", "versions.canary must be a map"},
           {"versions:\n  current:\n    driver: \"1\"\n    driver: \"2\"\n", "m.yaml:4"},
           {"versions:\n  current: {}\n---\nversions: {}\n", "m.yaml"},
           {"versions:\n  current: {driver: \"1\n", "m.yaml"},
           {"a: &a {driver: \"1\"}\nversions:\n  current:\n    <<: *a\n", "write the values out"},
           {"gpus: H100\nversions:\n  current: {}\n", "gpus must be a list"}}) {
    const auto matrix = parse_matrix(row.text, "m.yaml");
    ASSERT_FALSE(matrix) << row.text;
    EXPECT_EQ(matrix.error().kind, ErrorKind::invalid) << matrix.error().text();
    EXPECT_NE(matrix.error().text().find(row.said), std::string::npos)
        << row.text << ": " << matrix.error().text();
  }
}

TEST(MatrixFile, EachKeyOnceThoseOfTheFormatFirst) {
  const auto matrix = parse_matrix(
      "versions:\n  current: {house: a, driver: \"560\"}\n  canary: {driver: \"\", toolkit: b}\n",
      "m");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->keys(), (std::vector<std::string>{"driver", "house", "toolkit"}));
}

TEST(MatrixFile, ChangesAreByKeyAndSlot) {
  const Matrix before = parse_matrix(seed_matrix, "m").value();
  Matrix after = before;
  EXPECT_TRUE(changes_between(before, after).empty());
  after.canary[2].second = "570.26";
  after.current.pop_back();
  EXPECT_EQ(changes_between(before, after),
            (std::vector<MatrixChange>{{Slot::current, "status", "production", ""},
                                       {Slot::canary, "driver", "565.57.01", "570.26"}}));
}

}  // namespace
}  // namespace lockstep::rollout::matrix_file_test
