// Objects before and after default_builtin.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/schema/resources.h"
#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver {

class BuiltinDefaultsTest : public ::testing::Test {
 protected:
  Json with_defaults(std::string_view group, std::string_view plural, std::string text) {
    Json object = json(std::move(text));
    const ResourceInfo* info = table_.find(group, "v1", plural);
    if (info == nullptr) {
      ADD_FAILURE() << plural;
      return {};
    }
    default_builtin(*info, object);
    // Twice is once.
    Json again = object;
    default_builtin(*info, again);
    EXPECT_TRUE(json_equal(object, again)) << print_json(again);
    // Whatever is filled in must be known to the type.
    EXPECT_TRUE(unknown_fields(*info->schema, object).empty()) << print_json(object);
    EXPECT_EQ(decode_error(*info->schema, object).value_or(""), "");
    return object;
  }

  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

}  // namespace lockstep::apiserver
