#include "kube/kubeconfig_fields.h"

#include <gtest/gtest.h>

namespace lockstep::kube::kubeconfig_fields_test {
namespace {

Json user() {
  return *parse_json(R"({"token":"t","count":3,"yes":true,"key":"aGVsbG8=","args":["a","b"],
                         "file":"certs/ca.pem","exec":{"command":"x"},"list":[{"name":"n"}]})");
}

TEST(ConfigFields, MissingFieldsAreEmptyAndUnknownOnesNobodysBusiness) {
  Json value = user();
  ConfigFields fields(value, "config: users[0]");
  EXPECT_EQ(fields.text("nothing"), "");
  EXPECT_FALSE(fields.flag("nothing"));
  EXPECT_TRUE(fields.texts("nothing").empty());
  EXPECT_EQ(fields.object("nothing").text("command"), "");
  EXPECT_TRUE(fields.check());
}

TEST(ConfigFields, EveryTypeIsRead) {
  Json value = user();
  ConfigFields fields(value, "config");
  EXPECT_EQ(fields.text("token"), "t");
  EXPECT_TRUE(fields.flag("yes"));
  EXPECT_EQ(fields.data("key"), "hello");
  EXPECT_EQ(fields.texts("args"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fields.path("file", "/home/ann/.kube"), "/home/ann/.kube/certs/ca.pem");
  EXPECT_EQ(fields.object("exec").text("command"), "x");
  ASSERT_EQ(fields.objects("list").size(), 1U);
  EXPECT_TRUE(fields.check());
}

TEST(ConfigFields, AnotherTypeIsAnErrorThatNamesTheField) {
  Json value = user();
  ConfigFields fields(value, "config: users[0]");
  (void)fields.text("args");
  auto checked = fields.check();
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().text().find("args"), std::string::npos) << checked.error().text();
  EXPECT_NE(checked.error().text().find("config: users[0]"), std::string::npos)
      << checked.error().text();
  ConfigFields broken(value, "config");
  (void)broken.data("token-with-no-base64");
  (void)broken.flag("token");
  EXPECT_FALSE(broken.check());
}

TEST(ConfigFields, PathsAreSeenFromTheFilesFolder) {
  EXPECT_EQ(resolve_path("", "/a"), "");
  EXPECT_EQ(resolve_path("/x/y", "/a"), "/x/y");
  EXPECT_EQ(resolve_path("y", "/a"), "/a/y");
  EXPECT_EQ(folder_of("/a/b/config"), "/a/b");
}

}  // namespace
}  // namespace lockstep::kube::kubeconfig_fields_test
