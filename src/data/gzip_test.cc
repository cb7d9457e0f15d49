#include "data/gzip.h"

#include <gtest/gtest.h>

namespace lockstep::gzip_test {
namespace {

TEST(Gzip, PiecesComeBackTogether) {
  Gzip gzip;
  std::string packed = gzip.add("hello ", false);
  std::string large(200'000, 'x');
  packed += gzip.add(large, false);
  packed += gzip.add("", true);
  EXPECT_EQ(gunzip(packed).value(), "hello " + large);
  EXPECT_LT(packed.size(), 5'000U);
}

TEST(Gzip, HasNoTimeInItsHeader) {
  EXPECT_EQ(Gzip(6).add("text", true).substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
}

TEST(Gunzip, RefusesWhatIsBrokenOrTooMuch) {
  const std::string packed = Gzip(9).add("some text to compress", true);
  EXPECT_EQ(gunzip(packed, 21).value(), "some text to compress");
  EXPECT_EQ(gunzip(packed, 20).error().kind, ErrorKind::too_large);
  for (const std::string& broken :
       {std::string(), std::string("text"), packed.substr(0, packed.size() - 1), packed + "more",
        packed.substr(0, 12) + "XYZ" + packed.substr(15)}) {
    EXPECT_EQ(gunzip(broken).error().kind, ErrorKind::invalid) << broken.size();
  }
}

}  // namespace
}  // namespace lockstep::gzip_test
