#include "rollout/rollout_matrix.h"

#include <gtest/gtest.h>

#include "rollout/matrix_test_util.h"

namespace lockstep::rollout::rollout_matrix_test {
namespace {

// A branch in memory, the oldest commit first.
struct Branch {
  std::vector<std::string> texts;
  std::vector<MatrixCommit> log;

  void commit(std::string text, std::string message) {
    texts.push_back(std::move(text));
    log.insert(log.begin(), {fmt::format("{:040x}", texts.size()), std::move(message)});
  }
  // The subject of the commit to revert.
  Result<std::string> revert(std::string_view version) const {
    auto read = [&](const MatrixCommit& commit) -> Result<MatrixTexts> {
      for (size_t i = 0; i < texts.size(); ++i) {
        if (commit.id != fmt::format("{:040x}", i + 1)) continue;
        return MatrixTexts{i == 0 ? "" : texts[i - 1], texts[i]};
      }
      return fail(ErrorKind::not_found, "no such commit");
    };
    LOCKSTEP_TRY(const Matrix matrix, parse_matrix(texts.back(), "matrix"));
    LOCKSTEP_TRY(const BringingCommit found,
                 find_commit_to_revert(matrix, log, read, driver_version(version)));
    return std::string(subject_of(found.commit.message));
  }
};

std::string matrix(const std::string& current, const std::string& canary) {
  return fmt::format("versions:\n  current: {{driver: \"{}\"}}\n  canary: {{driver: \"{}\"}}\n",
                     current, canary);
}

TEST(RolloutMatrix, PromotesTheCanaryThatRunsAndNothingElse) {
  const auto edit = promote_driver(seed_matrix, "matrix", "565.57.01").value();
  const Matrix after = parse_matrix(edit.text, "matrix").value();
  EXPECT_EQ(after.value(Slot::current, "driver"), "565.57.01");
  EXPECT_EQ(after.value(Slot::current, "status"), "production");
  EXPECT_TRUE(after.is_empty(Slot::canary));
  EXPECT_TRUE(promote_driver(edit.text, "matrix", "565.57.01").value().changes.empty())
      << "asked again";
  const auto other = promote_driver(seed_matrix, "matrix", "999.1");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::conflict);
  EXPECT_NE(other.error().message.find("current is 560.35.03, canary is 565.57.01"),
            std::string::npos);
}

TEST(RolloutMatrix, TheCommitThatBroughtTheVersionIsReverted) {
  Branch branch;
  branch.commit(matrix("560", ""), "first");
  branch.commit(matrix("560", "570"), "canary");
  branch.commit(matrix("560", "570") + "owner: me\n", "another line");
  EXPECT_EQ(branch.revert("570").value(), "canary");
  branch.commit(matrix("570", ""), "promotion");
  EXPECT_EQ(branch.revert("570").value(), "promotion");
}

TEST(RolloutMatrix, NeitherARevertNorWhatItRevertedIsReverted) {
  Branch branch;
  branch.commit(matrix("560", ""), "first");
  branch.commit(matrix("560", "570"), "canary");
  const std::string set = branch.log.front().id;
  branch.commit(matrix("560", ""), "Revert\n\nThis reverts commit " + set + ".\n");
  branch.commit(matrix("560", "570"), "again");
  EXPECT_EQ(branch.revert("570").value(), "again");
  branch.commit(matrix("570", ""), "promotion");
  // As `git revert` would do it: the canary has the version again.
  branch.commit(matrix("560", "570"),
                "Revert\n\nThis reverts commit " + branch.log.front().id + ".");
  EXPECT_EQ(branch.revert("570").value(), "again")
      << "never the revert: 570 would be current again";
  // A user reverts the revert: 570 is current again, by the commit that promoted it.
  branch.commit(matrix("570", ""), "Revert\n\nThis reverts commit " + branch.log.front().id + ".");
  EXPECT_EQ(branch.revert("570").value(), "promotion");
}

TEST(RolloutMatrix, AVersionThatNoCommitBroughtCannotBeReverted) {
  Branch branch;
  branch.commit(matrix("560", "570"), "Merge\n\nThis reverts commit 1234567.");
  const auto nothing = branch.revert("570");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::not_found);
}

TEST(RolloutMatrix, ARejectedDriverIsTakenOutOfBothSlots) {
  EXPECT_EQ(take_out_driver(matrix("560", "570"), "matrix", "570").value(), matrix("560", ""));
  EXPECT_EQ(take_out_driver(matrix("560", ""), "matrix", "570").value(), matrix("560", ""));
  // 565 was tried before 570: the fleet rolls back to what it ran, not to 565.
  EXPECT_EQ(take_out_driver(matrix("560", "565"), "matrix", "570").value(), matrix("560", ""));
  EXPECT_EQ(take_out_driver(matrix("570", ""), "matrix", "570").error().kind, ErrorKind::conflict);
}

TEST(RolloutMatrix, TheEvidenceSaysWavesGatesBakesAndWhoApproved) {
  RolloutStatus status;
  WaveStatus canary;
  canary.name = "canary";
  canary.opened = Time::from_unix(1000);
  canary.nodes = canary.done = 4;
  canary.verdict = Outcome::passed;
  canary.gates = {{"training", Outcome::passed, "4 nodes", false},
                  {"new", Outcome::failed, "gpu-1", true}};
  canary.bake = "48h, 312 GPU-hours";
  canary.detectable = "a rate 30 times as high";
  canary.approved_by = "alice";
  WaveStatus rest;
  rest.name = "rest";
  status.waves = {canary, rest};
  const Evidence evidence = evidence_of("driver", status);
  EXPECT_EQ(
      evidence.lines,
      (std::vector<std::string>{
          "wave canary: Passed, 4 of 4 nodes done", "gate training of canary: Passed, 4 nodes",
          "gate new of canary: Failed (dry run), gpu-1", "bake of canary: 48h, 312 GPU-hours",
          "detectable effect: a rate 30 times as high"}));
  EXPECT_EQ(evidence.approved_by, "alice");
  EXPECT_EQ(evidence.rollout, "driver");
}

TEST(OneWayStep, IsAFirmwareOfTheCanaryThatSaysSo) {
  auto why = [](const std::string& current, const std::string& canary, const char* version) {
    auto matrix = parse_matrix(
        "versions:\n  current: {" + current + "}\n  canary: {" + canary + "}\n", "matrix");
    EXPECT_TRUE(matrix);
    return matrix ? one_way_step(*matrix, version) : "";
  };
  const std::string before = "driver: \"570\", firmware: \"28.40\"";
  const std::string step = "driver: \"580\", firmware: \"28.42\"";
  EXPECT_EQ(why(before, step, "580"), "") << "a step back is possible where nobody says otherwise";
  EXPECT_EQ(why(before, step + ", firmware_one_way: \"true\"", "580"),
            "driver 580 installs firmware 28.42, which is irreversible: no rollback to 28.40 "
            "(firmware_one_way in the matrix)");
  EXPECT_EQ(why(before, step + ", firmware_one_way: \"false\"", "580"), "");
  // It is there already, or belongs to another driver.
  EXPECT_EQ(why(before, "driver: \"580\", firmware: \"28.40\", firmware_one_way: \"true\"", "580"),
            "");
  EXPECT_EQ(why(before, step + ", firmware_one_way: \"true\"", "590"), "");
}

}  // namespace
}  // namespace lockstep::rollout::rollout_matrix_test
