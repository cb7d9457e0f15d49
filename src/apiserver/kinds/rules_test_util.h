// Objects with defaults, checked against the rules of their kind.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver {

class BuiltinRulesTest : public ::testing::Test {
 protected:
  const ResourceInfo& info(std::string_view kind) const {
    for (const ResourceInfo* each : table_.all()) {
      if (each->type.kind == kind) return *each;
    }
    ADD_FAILURE() << "no kind " << kind;
    return *table_.all().front();
  }

  // The object with a name and, where it needs one, a namespace; with defaults.
  Json object(std::string_view kind, std::string text) const {
    Json result = json(std::move(text));
    JsonObject& metadata = ensure_object(result.get_object(), "metadata");
    if (!metadata.contains("name")) metadata["name"] = "x";
    if (info(kind).type.namespaced && !metadata.contains("namespace"))
      metadata["namespace"] = "default";
    if (!metadata.contains("uid")) metadata["uid"] = "u1";
    default_builtin(info(kind), result);
    return result;
  }

  std::string check(std::string_view kind, std::string text) const {
    return text_of(validate_builtin(info(kind), object(kind, std::move(text)), nullptr));
  }

  std::string check_change(std::string_view kind, std::string before, std::string after) const {
    Json old = object(kind, std::move(before));
    return text_of(validate_builtin(info(kind), object(kind, std::move(after)), &old));
  }

  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

struct RuleCase {
  const char* kind;
  const char* object;
  const char* complaints;
};

}  // namespace lockstep::apiserver
