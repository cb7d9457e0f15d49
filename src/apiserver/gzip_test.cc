#include "apiserver/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace lockstep::apiserver {
namespace {

std::string unpacked(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out(1 << 20, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(Gzip, PiecesComeBackTogether) {
  Gzip gzip;
  std::string packed = gzip.add("hello ", false);
  std::string large(200'000, 'x');
  packed += gzip.add(large, false);
  packed += gzip.add("", true);
  EXPECT_EQ(unpacked(packed), "hello " + large);
  EXPECT_LT(packed.size(), 5'000U);
}

}  // namespace
}  // namespace lockstep::apiserver
