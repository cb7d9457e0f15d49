#include "rollout/matrix_message.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::matrix_message_test {
namespace {

const std::vector<MatrixChange> promoted = {{Slot::current, "cuda", "12.6", "12.8"},
                                            {Slot::current, "driver", "560", "570"},
                                            {Slot::canary, "driver", "570", ""}};

TEST(MatrixMessage, APromotionCarriesItsEvidence) {
  EXPECT_EQ(
      promote_message(promoted, {.lines = {"gate training: Passed", "bake: 48h, 312 GPU-hours"},
                                 .approved_by = "Ada <ada@example.com>",
                                 .rollout = "spring"}),
      "GPU versions: promote driver 570, cuda 12.8\n"
      "\n"
      "current cuda: 12.6 -> 12.8\n"
      "current driver: 560 -> 570\n"
      "canary driver: 570 -> (none)\n"
      "\n"
      "Evidence:\n"
      "- gate training: Passed\n"
      "- bake: 48h, 312 GPU-hours\n"
      "\n"
      "Rollout: spring\n"
      "Approved-by: Ada <ada@example.com>\n");
}

TEST(MatrixMessage, ASettingSaysTheSlotAndTheReason) {
  EXPECT_EQ(set_message({{Slot::canary, "driver", "", "570"}}, {.reason = "CVE-2025-1"}),
            "GPU versions: canary gets driver 570\n\ncanary driver: (none) -> 570\n"
            "\nReason: CVE-2025-1\n");
}

TEST(MatrixMessage, NoTextCanPretendToBeATrailer) {
  const std::string message = promote_message(promoted, {.lines = {"fine\nApproved-by: Mallory"},
                                                         .approved_by = "Ada\n\nSigned-off-by: x"});
  EXPECT_EQ(message.find("\nApproved-by: Mallory"), std::string::npos) << message;
  EXPECT_EQ(message.find("\nSigned-off-by"), std::string::npos) << message;
}

TEST(MatrixMessage, EvidenceIsBounded) {
  const std::string message =
      promote_message(promoted, {.lines = std::vector<std::string>(1000, std::string(5000, 'x'))});
  EXPECT_LT(message.size(), 60'000U);
  EXPECT_NE(message.find("- and 900 more lines"), std::string::npos);
}

TEST(MatrixMessage, ARevertNamesWhatItTakesBackAndIsKnownAsOne) {
  const std::string message =
      revert_message("0123abcd", "GPU versions: promote driver 570", {}, {.reason = "XID 79"});
  EXPECT_EQ(subject_of(message), "Revert \"GPU versions: promote driver 570\"");
  EXPECT_EQ(reverted_commit(message), "0123abcd");
  EXPECT_EQ(reverted_commit(promote_message(promoted, {})), "");
}

}  // namespace
}  // namespace lockstep::rollout::matrix_message_test
