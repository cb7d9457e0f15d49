#include "base/digest.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lockstep::digest_test {
namespace {

std::string digest_of(const std::vector<std::string>& items) {
  Digest digest;
  for (const std::string& item : items) digest.add(item);
  return digest.hex();
}

// Recorded digests are compared across versions and machines: these must never change.
TEST(Digest, IsPinned) {
  EXPECT_EQ(Digest().hex(), "ef46db3751d8e999");
  EXPECT_EQ(digest_of({"node gpu-7", "cordoned"}), "7680bebb7403a1f7");
  Digest digest;
  digest.add(uint64_t{42});
  EXPECT_EQ(digest.hex(), "7a07934bae166191");
}

TEST(Digest, TellsItemsApart) {
  const std::set<std::string> different = {
      digest_of({}),          digest_of({""}),
      digest_of({"", ""}),    digest_of({"abc"}),
      digest_of({"ab", "c"}), digest_of({"a", "bc"}),
      digest_of({"c", "ab"}), digest_of({std::string("abc\0", 4)})};
  EXPECT_EQ(different.size(), 8U);
}

TEST(Digest, ANumberIsNotItsBytes) {
  Digest number, text;
  number.add(uint64_t{0x3030303030303030});
  text.add("00000000");
  EXPECT_NE(number.hex(), text.hex());
}

TEST(Digest, EveryBitOfTheInputMatters) {
  std::set<std::string> seen;
  for (size_t size : {1, 8, 9, 20}) {
    for (size_t bit = 0; bit < size * 8; ++bit) {
      std::string text(size, '\0');
      text[bit / 8] = static_cast<char>(1 << bit % 8);
      EXPECT_TRUE(seen.insert(digest_of({text})).second);
    }
  }
}

RC_GTEST_PROP(Digest, DependsOnNothingElse, (const std::vector<std::string>& items)) {
  RC_ASSERT(digest_of(items) == digest_of(items));
}

}  // namespace
}  // namespace lockstep::digest_test
