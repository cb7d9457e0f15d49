#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_policy_test {
namespace {

constexpr std::string_view rbac = "rbac.authorization.k8s.io";
constexpr std::string_view admission = "admissionregistration.k8s.io";

TEST(TablePolicy, Columns) {
  const std::vector<ColumnCase> cases = {
      {rbac, "RoleBinding", "Name,Role,Age|Users,Groups,ServiceAccounts"},
      {rbac, "ClusterRoleBinding", "Name,Role,Age|Users,Groups,ServiceAccounts"},
      // These have no printer in Kubernetes either.
      {rbac, "Role", "Name,Created At"},
      {rbac, "ClusterRole", "Name,Created At"},
      {admission, "MutatingWebhookConfiguration", "Name,Webhooks,Age"},
      {admission, "ValidatingWebhookConfiguration", "Name,Webhooks,Age"},
      {admission, "ValidatingAdmissionPolicy", "Name,Validations,ParamKind,Age"},
      {admission, "ValidatingAdmissionPolicyBinding", "Name,PolicyName,ParamRef,Age"},
      {admission, "MutatingAdmissionPolicy", "Name,Mutations,ParamKind,Age"},
      {admission, "MutatingAdmissionPolicyBinding", "Name,PolicyName,ParamRef,Age"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TablePolicy, Rows) {
  const std::vector<RowCase> cases = {
      {"", rbac, "RoleBinding",
       R"("roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"Group","name":"g"},
          {"kind":"User","name":"v"},{"kind":"ServiceAccount","namespace":"n","name":"s"}])",
       R"(["x","Role/r","24h","u, v","g","n/s"])"},
      {"", admission, "MutatingWebhookConfiguration", R"("webhooks":[{},{}])", R"(["x",2,"24h"])"},
      {"", admission, "ValidatingAdmissionPolicy",
       R"("spec":{"validations":[{}],"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}})",
       R"(["x",1,"v1/ConfigMap","24h"])"},
      {"no parameters", admission, "ValidatingAdmissionPolicy", "", R"(["x",0,"<unset>","24h"])"},
      {"", admission, "MutatingAdmissionPolicy", R"("spec":{"mutations":[{},{},{}]})",
       R"(["x",3,"<unset>","24h"])"},
      {"anywhere", admission, "ValidatingAdmissionPolicyBinding",
       R"("spec":{"policyName":"p","paramRef":{"name":"c"}})", R"(["x","p","*/c","24h"])"},
      {"somewhere", admission, "ValidatingAdmissionPolicyBinding",
       R"("spec":{"policyName":"p","paramRef":{"name":"c","namespace":"n"}})",
       R"(["x","p","n/c","24h"])"},
      {"selected", admission, "ValidatingAdmissionPolicyBinding",
       R"("spec":{"policyName":"p","paramRef":{"selector":{"matchLabels":{"a":"b"}}}})",
       R"(["x","p","&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}","24h"])"},
      {"none", admission, "MutatingAdmissionPolicyBinding", R"("spec":{"policyName":"p"})",
       R"(["x","p","<unset>","24h"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

}  // namespace
}  // namespace lockstep::apiserver::table_policy_test
