#include "data/json_lines.h"

#include <gtest/gtest.h>

namespace lockstep::json_lines_test {
namespace {

Result<std::string> read(std::string_view text) {
  std::string seen;
  LOCKSTEP_CHECK(read_json_lines(
      text,
      [&](const Json& line) -> Result<void> {
        seen += "header " + print_json(line);
        return {};
      },
      [&](const Json& line) -> Result<void> {
        if (line.is_null()) return fail(ErrorKind::invalid, "must not be null");
        seen += ", " + print_json(line);
        return {};
      }));
  return seen;
}

TEST(JsonLines, TheFirstIsTheHeader) {
  EXPECT_EQ(read("{\"a\":1}\n\n2\n  \n[3]\n"), R"(header {"a":1}, 2, [3])");
  EXPECT_EQ(read(json_line(JsonObject{{"a", 1}}) + json_line(2)), R"(header {"a":1}, 2)");
}

TEST(JsonLines, AnErrorNamesItsLine) {
  EXPECT_EQ(read("1\n\nnull\n").error().text(), "line 3: must not be null");
  EXPECT_TRUE(read("1\n{\n").error().text().starts_with("line 2: ")) << "no JSON";
  EXPECT_EQ(read(" \n").error().text(), "is empty");
}

}  // namespace
}  // namespace lockstep::json_lines_test
