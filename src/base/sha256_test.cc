#include "base/sha256.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::sha256_test {
namespace {

// The examples of FIPS 180-4 and of NIST's CAVP files.
TEST(Sha256, AgreesWithThePublishedExamples) {
  struct Case {
    std::string input;
    std::string expected;
  };
  const Case cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmn"
       "o"
       "pqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(sha256_hex(test.input), test.expected) << test.input.size() << " bytes";
  }
}

// Where the padding just fits, and where it needs one block more. Taken from sha256sum.
TEST(Sha256, PadsAtTheEdgesOfABlock) {
  EXPECT_EQ(sha256_hex(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256_hex(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256_hex(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(sha256_hex(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

RC_GTEST_PROP(Sha256, DoesNotDependOnHowTheBytesAreCut, (const std::vector<std::string>& pieces)) {
  Sha256 digest;
  std::string whole;
  for (const std::string& piece : pieces) {
    // Many times over, so that pieces cross blocks.
    for (int i = 0; i < 7; ++i) {
      digest.add(piece);
      whole += piece;
    }
  }
  RC_ASSERT(digest.hex() == sha256_hex(whole));
}

TEST(Sha256, MayBeReadInBetween) {
  Sha256 digest;
  digest.add("a");
  EXPECT_EQ(digest.hex(), sha256_hex("a"));
  digest.add("bc");
  EXPECT_EQ(digest.hex(), sha256_hex("abc"));
  EXPECT_EQ(digest.bytes()[0], 0xba);
}

}  // namespace
}  // namespace lockstep::sha256_test
