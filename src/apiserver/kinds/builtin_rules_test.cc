#include "apiserver/kinds/builtin_rules.h"

#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::builtin_rules_test {
namespace {

TEST(BuiltinRules, IntOrPercent) {
  struct Case {
    Json value;
    int64_t number;
    std::string complaints;
  };
  const Case cases[] = {
      {3, 3, ""},
      {"30%", 30, ""},
      {-1, -1, "p: Invalid value: -1: must be greater than or equal to 0"},
      {"101%", 101, "p: Invalid value: \"101%\": must not be greater than 100%"},
  };
  for (const Case& each : cases) {
    Causes causes;
    check_int_or_percent(each.value, "p", causes);
    EXPECT_EQ(text_of(causes), each.complaints);
    EXPECT_EQ(int_or_percent(&each.value), each.number);
  }
  EXPECT_EQ(int_or_percent(nullptr), 0);
}

TEST_F(BuiltinRulesTest, CustomResourcesAreCheckedForTheirMetadataOnly) {
  ResourceInfo widget;
  widget.type = {"example.com", "v1", "Widget", "widgets", false};
  widget.custom = true;
  EXPECT_EQ(text_of(validate_builtin(widget, json("{'metadata':{'name':'a'},'spec':1}"), nullptr)),
            "");
  EXPECT_EQ(
      text_of(validate_builtin(widget, json("{'metadata':{'name':'a','namespace':'b'}}"), nullptr)),
      "metadata.namespace: Forbidden: not allowed on this type");
}

}  // namespace
}  // namespace lockstep::apiserver::builtin_rules_test
