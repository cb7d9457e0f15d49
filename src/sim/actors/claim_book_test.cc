#include "sim/actors/claim_book.h"

#include <gtest/gtest.h>

namespace lockstep::sim::claim_book_test {
namespace {

using Pod = PrepareVerdict::Pod;

const ClaimRef gpu{"u-1", "gpu"};
const ClaimRef nic{"u-2", "nic"};

PrepareAnswers good(const ClaimRefs& claims) {
  PrepareAnswers answers;
  for (const ClaimRef& claim : claims) answers[claim.uid];
  return answers;
}
UnprepareAnswers undone(const ClaimRefs& claims) {
  UnprepareAnswers answers;
  for (const ClaimRef& claim : claims) answers[claim.uid];
  return answers;
}

TEST(ClaimBookTest, APreparedClaimIsNotPreparedAgainUntilItsPodIsOver) {
  ClaimBook book;
  ClaimRefs asked = book.begin("pod", {gpu, nic});
  EXPECT_EQ(asked, (ClaimRefs{gpu, nic}));
  EXPECT_EQ(book.take(asked, good(asked)).pod, Pod::runs);
  EXPECT_TRUE(book.is_prepared(gpu.uid));
  EXPECT_TRUE(book.begin("pod", {gpu, nic}).empty()) << "its container starts again";
  EXPECT_EQ(book.take({}, PrepareAnswers{}).pod, Pod::runs);
  asked = book.end("pod");
  EXPECT_EQ(asked, (ClaimRefs{gpu, nic}));
  EXPECT_TRUE(book.take_end(asked, undone(asked)));
  EXPECT_TRUE(book.empty());
  EXPECT_TRUE(book.end("pod").empty());
}

TEST(ClaimBookTest, AnErrorLeavesThePodWaitingAndAllOfItsClaimsAreAskedForAgain) {
  ClaimBook book;
  ClaimRefs asked = book.begin("pod", {gpu, nic});
  PrepareAnswers answers = good(asked);
  answers[nic.uid] = {"the cable is out", true};
  PrepareVerdict verdict = book.take(asked, answers);
  EXPECT_EQ(verdict.pod, Pod::waits) << "today's kubelets do not know what permanent is";
  EXPECT_EQ(verdict.message, "NodePrepareResources failed for ResourceClaim nic: the cable is out");
  EXPECT_FALSE(book.is_prepared(gpu.uid));
  EXPECT_EQ(book.begin("pod", {gpu, nic}), asked);
  EXPECT_EQ(book.take(asked, good(asked)).pod, Pod::runs);
}

TEST(ClaimBookTest, WithKep5322APermanentErrorEndsThePodWhereverItStands) {
  ClaimBook book(true);
  ClaimRefs asked = book.begin("pod", {gpu, nic});
  PrepareAnswers answers{{gpu.uid, {"not yet", false}}, {nic.uid, {"no such setting", true}}};
  PrepareVerdict verdict = book.take(asked, answers);
  EXPECT_EQ(verdict.pod, Pod::fails);
  EXPECT_EQ(verdict.message, "NodePrepareResources failed for ResourceClaim nic: no such setting");
  EXPECT_EQ(book.end("pod"), asked) << "what failed is undone too";
  answers[nic.uid].permanent = false;
  EXPECT_EQ(book.take(asked, answers).pod, Pod::waits);
}

TEST(ClaimBookTest, ACallThatFailsAndAnAnswerThatIsNotWholeLeaveThePodWaiting) {
  ClaimBook book(true);
  ClaimRefs asked = book.begin("pod", {gpu, nic});
  PrepareVerdict away = book.take(asked, fail(ErrorKind::timed_out, "deadline exceeded"));
  EXPECT_EQ(away.pod, Pod::waits);
  EXPECT_EQ(away.message, "deadline exceeded");
  EXPECT_EQ(book.take(asked, good({gpu})).message, "NodePrepareResources skipped 1 ResourceClaims");
  PrepareAnswers strange = good(asked);
  strange["u-3"];
  EXPECT_EQ(book.take(asked, strange).message,
            "NodePrepareResources returned result for unknown claim UID u-3");
  EXPECT_FALSE(book.is_prepared(gpu.uid));
}

TEST(ClaimBookTest, ASharedClaimIsPreparedOnceAndUnpreparedWithItsLastPod) {
  ClaimBook book;
  ClaimRefs asked = book.begin("first", {gpu});
  book.take(asked, good(asked));
  EXPECT_TRUE(book.begin("second", {gpu}).empty());
  EXPECT_TRUE(book.end("first").empty());
  EXPECT_TRUE(book.is_prepared(gpu.uid));
  EXPECT_EQ(book.end("second"), ClaimRefs{gpu});
}

TEST(ClaimBookTest, WhatCannotBeUnpreparedIsAskedForAgain) {
  ClaimBook book;
  ClaimRefs asked = book.begin("pod", {gpu});
  book.take(asked, good(asked));
  EXPECT_FALSE(book.take_end(asked, fail(ErrorKind::unreachable, "no plugin")));
  auto refused = book.take_end(asked, UnprepareAnswers{{gpu.uid, "the disk is full"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "NodeUnprepareResources failed for ResourceClaim gpu: the disk is full");
  EXPECT_FALSE(book.take_end(asked, UnprepareAnswers{}));
  EXPECT_EQ(book.end("pod"), asked);
  EXPECT_TRUE(book.take_end(asked, undone(asked)));
  EXPECT_TRUE(book.empty());
}

TEST(ClaimBookTest, AKubeletThatStartsAnewPreparesAgainAndStillKnowsWhatToUndo) {
  ClaimBook book;
  ClaimRefs asked = book.begin("pod", {gpu});
  book.take(asked, good(asked));
  book.restart();
  EXPECT_FALSE(book.is_prepared(gpu.uid));
  EXPECT_EQ(book.end("pod"), asked);
  EXPECT_EQ(book.begin("pod", {gpu}), asked);
}

}  // namespace
}  // namespace lockstep::sim::claim_book_test
