#include "data/json_scan.h"

#include <string>

#include <gtest/gtest.h>

namespace lockstep::json_scan_test {
namespace {

// Sixteen bytes at a time or one by one: the place of the special byte must not matter.
TEST(JsonScan, FindsTheSpecialByteWhereverItIs) {
  for (const char special : {'"', '\\', '\n', '\0', '\x1f', '\x80', '\xff'}) {
    for (size_t size = 1; size < 50; ++size) {
      for (size_t place = 0; place < size; ++place) {
        std::string text(size, 'x');
        text[place] = special;
        const char* end = text.data() + size;
        ASSERT_EQ(find_special(text.data(), end) - text.data(), static_cast<ptrdiff_t>(place));
        const bool beyond_ascii = static_cast<unsigned char>(special) >= 0x80;
        ASSERT_EQ(find_special<true>(text.data(), end), beyond_ascii ? end : text.data() + place);
      }
    }
  }
  const std::string plain = "all of this is plain text \x7f ~ ! ' / and long enough";
  EXPECT_EQ(find_special(plain.data(), plain.data() + plain.size()), plain.data() + plain.size());
}

TEST(JsonScan, Numbers) {
  const auto end_of = [](std::string_view text) {
    const NumberEnd end = end_of_json_number(text.data(), text.data() + text.size());
    return end.problem == nullptr ? end.at - text.data() : -1;
  };
  EXPECT_EQ(end_of("12,"), 2);
  EXPECT_EQ(end_of("01"), 1);  // the caller, which expects a comma there, reads the rest
  EXPECT_EQ(end_of("-1.50e+3]"), 8);
  for (const char* wrong : {"-", "-a", "1.", "1.e5", "1e", "1e+", "1e999"}) {
    EXPECT_EQ(end_of(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace lockstep::json_scan_test
