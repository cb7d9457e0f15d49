// What the tests of schemas and CRDs share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "apiserver/schema/schema.h"
#include "apiserver/schema/status.h"
#include "data/json.h"

namespace lockstep::apiserver {

// JSON; single quotes will do for double ones where it has none of those.
inline Json json(std::string_view given) {
  std::string text(given);
  if (text.find('"') == std::string::npos) std::replace(text.begin(), text.end(), '\'', '"');
  Result<Json> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(*parsed) : Json();
}

// "field: message" per line, as an error would list them.
inline std::string text_of(const std::vector<StatusCause>& causes) {
  std::string text;
  for (const StatusCause& cause : causes) {
    if (!text.empty()) text += "\n";
    text += cause.field + ": " + cause.message;
  }
  return text;
}

class SchemaTest : public ::testing::Test {
 protected:
  static const BuiltinSchemas& builtin() {
    static const BuiltinSchemas schemas;
    return schemas;
  }
  static const Schema& pod() { return *builtin().of("", "v1", "Pod"); }
  static const Schema& daemon_set() { return *builtin().of("apps", "v1", "DaemonSet"); }

  const Schema& custom(std::string text) {
    auto schema =
        schema_from_crd(json(std::move(text)), set_,
                        builtin().find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), "s");
    if (!schema) ADD_FAILURE() << text_of(schema.error());
    return **schema;
  }

 private:
  SchemaSet set_;
};

}  // namespace lockstep::apiserver
