#include "dra/checkpoint.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "dra/dra_test_util.h"

namespace lockstep::dra::checkpoint_test {
namespace {

const std::string path = "/plugin/checkpoint";

CheckpointEntries two_claims() {
  return {{"a", entry_of_claim("a", "gpu-0")},
          {"b", entry_of_claim("b", "gpu-1", ClaimPhase::preparing)}};
}

TEST(Checkpoint, WhatIsWrittenIsRead) {
  CheckpointEntries entries = two_claims();
  entries["a"].devices[0].admin_access = true;
  entries["a"].devices[0].share_id = "share";
  entries["a"].devices[0].time_slice = "Short";
  entries["a"].name = "a name with \"quotes\" and\nlines";
  auto reading = decode_checkpoint(encode_checkpoint(entries, "boot"), "boot");
  EXPECT_TRUE(reading.problems.empty());
  EXPECT_EQ(reading.entries, entries);
}

TEST(Checkpoint, AnotherBootForgetsEverything) {
  auto reading = decode_checkpoint(encode_checkpoint(two_claims(), "boot"), "another");
  EXPECT_TRUE(reading.entries.empty());
  EXPECT_TRUE(reading.problems.empty());
  EXPECT_EQ(reading.from_before, 2u);
}

TEST(Checkpoint, ADamagedLineCostsItsClaimAndNoOther) {
  std::string text = encode_checkpoint(two_claims(), "boot");
  std::string damaged = text;
  damaged[text.find("gpu-0")] = 'G';
  auto reading = decode_checkpoint(damaged, "boot");
  ASSERT_EQ(reading.problems.size(), 1u);
  EXPECT_EQ(reading.problems[0], "line 2: its checksum does not match");
  EXPECT_EQ(reading.bad_lines.size(), 1u);
  EXPECT_EQ(reading.entries.size(), 1u);
  EXPECT_TRUE(reading.entries.contains("b"));
}

// The same value with another space in it is other bytes.
TEST(Checkpoint, TheChecksumIsOverTheBytes) {
  std::string text = encode_checkpoint(two_claims(), "boot");
  std::string spaced = text;
  spaced.insert(spaced.find("{\"bootId\"") + 1, " ");
  EXPECT_EQ(decode_checkpoint(spaced, "boot").problems.size(), 1u);
}

TEST(Checkpoint, CutOffAnywhereItIsReadAsFarAsItGoes) {
  std::string text = encode_checkpoint(two_claims(), "boot");
  size_t first_end = text.find('\n', text.find('\n') + 1);
  for (size_t length = 0; length < text.size(); ++length) {
    auto reading = decode_checkpoint(text.substr(0, length), "boot");
    EXPECT_EQ(reading.entries.contains("a"), length >= first_end) << length;
    for (const auto& [uid, entry] : reading.entries) EXPECT_EQ(entry, two_claims()[uid]);
  }
}

TEST(Checkpoint, EveryByteThatChangesIsNoticed) {
  std::string text = encode_checkpoint({{"a", entry_of_claim("a", "gpu-0")}}, "boot");
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    auto reading = decode_checkpoint(damaged, "boot");
    EXPECT_TRUE(reading.entries.empty()) << at;
    EXPECT_FALSE(reading.problems.empty()) << at;
  }
}

TEST(Checkpoint, AnotherFileIsSetAsideAsAWhole) {
  auto reading = decode_checkpoint("{\"v1\":{}}", "boot");
  EXPECT_EQ(reading.problems.size(), 1u);
  EXPECT_EQ(reading.bad_lines, (std::vector<std::string>{"{\"v1\":{}}"}));
}

struct CheckpointFile : ::testing::Test {
  Checkpoint open(const std::string& boot = "boot") {
    auto opened = Checkpoint::open(files, path, boot, log);
    EXPECT_TRUE(opened) << opened.error().text();
    return std::move(*opened);
  }
  MemoryFiles disk;
  CrashingFiles files{disk};
  MemoryLog log;
};

TEST_F(CheckpointFile, RemembersOverItsEnd) {
  Checkpoint first = open();
  ASSERT_TRUE(first.put(entry_of_claim("a", "gpu-0")));
  ASSERT_TRUE(first.put(entry_of_claim("b", "gpu-1")));
  ASSERT_TRUE(first.erase("a"));
  ASSERT_TRUE(first.erase("never there"));
  Checkpoint second = open();
  EXPECT_EQ(second.entries(), first.entries());
  EXPECT_EQ(second.find("a"), nullptr);
  ASSERT_NE(second.find("b"), nullptr);
  EXPECT_EQ(second.find("b")->devices[0].device, "gpu-1");
  EXPECT_TRUE(open("another boot").entries().empty());
  EXPECT_TRUE(open("boot").entries().empty()) << "what was forgotten does not come back";
}

TEST_F(CheckpointFile, ADamagedEntryIsKeptBesideAndReportedAndTheRestServes) {
  Checkpoint first = open();
  ASSERT_TRUE(first.put(entry_of_claim("a", "gpu-0")));
  ASSERT_TRUE(first.put(entry_of_claim("b", "gpu-1")));
  std::string& text = disk.contents[path];
  text[text.find("gpu-0")] = 'G';
  Checkpoint second = open();
  EXPECT_EQ(second.entries().size(), 1u);
  EXPECT_NE(disk.contents[path + ".set-aside"].find("Gpu-0"), std::string::npos);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("its checksum does not match"), std::string::npos) << log.lines[0];
  log.lines.clear();
  EXPECT_EQ(open().entries().size(), 1u);
  EXPECT_TRUE(log.lines.empty()) << "once is enough";
}

TEST_F(CheckpointFile, ADiskThatIsFullChangesNothing) {
  Checkpoint checkpoint = open();
  ASSERT_TRUE(checkpoint.put(entry_of_claim("a", "gpu-0")));
  files.refuse_writes = true;
  EXPECT_FALSE(checkpoint.put(entry_of_claim("b", "gpu-1")));
  EXPECT_FALSE(checkpoint.erase("a"));
  EXPECT_EQ(checkpoint.entries().size(), 1u);
  EXPECT_NE(checkpoint.find("a"), nullptr);
  disk.contents.clear();
  EXPECT_FALSE(Checkpoint::open(files, path, "boot", log)) << "told at the start";
}

// Before it, with its first byte, with half of it, without its last byte, after it.
TEST_F(CheckpointFile, KilledAroundOrInAnyWriteItHasTheOldStateOrTheNew) {
  constexpr int moments = 5;
  for (int moment = 0; moment < moments; ++moment) {
    disk.contents.clear();
    {
      Checkpoint checkpoint = open();
      ASSERT_TRUE(checkpoint.put(entry_of_claim("a", "gpu-0")));
      files.steps_left = moment;
      EXPECT_THROW((void)checkpoint.put(entry_of_claim("b", "gpu-1")), Crash);
      files.steps_left.reset();
    }
    // A line that lacks only its end counts as written or not: no caller was told either way.
    EXPECT_EQ(open().entries().size(), moment < 3 ? 1u : 2u) << moment;
    Checkpoint next = open();
    ASSERT_TRUE(next.put(entry_of_claim("c", "gpu-2"))) << moment;
    EXPECT_EQ(open().entries(), next.entries()) << moment;
    EXPECT_FALSE(disk.contents.contains(path + ".set-aside")) << "nothing was damaged";
  }
}

TEST_F(CheckpointFile, ManyAreOneWriteAndTheLastLineOfAClaimCounts) {
  Checkpoint checkpoint = open();
  int before = files.steps;
  std::vector<CheckpointEntry> three = {entry_of_claim("a", "gpu-0"), entry_of_claim("b", "gpu-1"),
                                        entry_of_claim("c", "gpu-2")};
  ASSERT_TRUE(checkpoint.put(three));
  EXPECT_EQ(files.steps - before, 5) << "one append";
  ASSERT_TRUE(checkpoint.erase(std::vector<std::string>{"a", "never there", "b"}));
  ASSERT_TRUE(checkpoint.put(entry_of_claim("a", "gpu-7")));
  before = files.steps;
  ASSERT_TRUE(checkpoint.erase(std::vector<std::string>{"never there"}));
  ASSERT_TRUE(checkpoint.put(std::vector<CheckpointEntry>{}));
  EXPECT_EQ(files.steps, before) << "nothing to write";
  Checkpoint second = open();
  EXPECT_EQ(second.entries(), checkpoint.entries());
  ASSERT_EQ(second.entries().size(), 2u);
  EXPECT_EQ(second.find("a")->devices[0].device, "gpu-7");
}

TEST_F(CheckpointFile, DoesNotGrowForEver) {
  Checkpoint checkpoint = open();
  ASSERT_TRUE(checkpoint.put(entry_of_claim("stays", "gpu-1")));
  size_t longest = 0;
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(checkpoint.put(entry_of_claim("a", "gpu-0")));
    ASSERT_TRUE(checkpoint.erase("a"));
    longest = std::max(longest, disk.contents[path].size());
  }
  EXPECT_LT(longest, 150'000u);
  EXPECT_EQ(open().entries().size(), 1u);
}

TEST_F(CheckpointFile, AfterAWriteThatFailedItsWholeIsWrittenAnew) {
  Checkpoint checkpoint = open();
  ASSERT_TRUE(checkpoint.put(entry_of_claim("a", "gpu-0")));
  files.refuse_writes = true;
  EXPECT_FALSE(checkpoint.put(entry_of_claim("b", "gpu-1")));
  files.refuse_writes = false;
  // What a disk that was full may have left.
  disk.contents[path] += "half a li";
  ASSERT_TRUE(checkpoint.put(entry_of_claim("c", "gpu-2")));
  EXPECT_EQ(open().entries(), checkpoint.entries());
  EXPECT_EQ(checkpoint.entries().size(), 2u);
}

TEST_F(CheckpointFile, OneOfTheFirstVersionIsTakenOver) {
  std::string text = encode_checkpoint(two_claims(), "boot");
  text.replace(text.find(" 2\n"), 3, " 1\n");
  disk.contents[path] = text;
  Checkpoint checkpoint = open();
  EXPECT_EQ(checkpoint.entries(), two_claims());
  EXPECT_EQ(disk.contents[path], encode_checkpoint(two_claims(), "boot"));
}

}  // namespace
}  // namespace lockstep::dra::checkpoint_test
