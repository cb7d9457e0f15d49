#include "objects/names.h"

#include <gtest/gtest.h>

namespace lockstep::names_test {
namespace {

using Check = Complaints (*)(std::string_view);

struct Case {
  Check check;
  std::string value;
  Complaints complaints;
};

const std::string label_message =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const std::string subdomain_message =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const std::string name_part_message =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const std::string value_message =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

TEST(Names, AreJudgedAsKubernetesDoes) {
  const std::vector<Case> cases = {
      {check_dns_label, "gpu-7", {}},
      {check_dns_label, "7", {}},
      {check_dns_label, "", {label_message}},
      {check_dns_label, "GPU", {label_message}},
      {check_dns_label, "-a", {label_message}},
      {check_dns_label, "a-", {label_message}},
      {check_dns_label, "a.b", {"must not contain dots"}},
      {check_dns_label, "a_b", {label_message}},
      {check_dns_label, std::string(63, 'a'), {}},
      {check_dns_label, std::string(64, 'a'), {"must be no more than 63 characters"}},
      {check_dns1035_label, "a7", {}},
      {check_dns_subdomain, "example.com", {}},
      {check_dns_subdomain, "gpu-7", {}},
      {check_dns_subdomain, "", {subdomain_message}},
      {check_dns_subdomain, "a..b", {subdomain_message}},
      {check_dns_subdomain, ".a", {subdomain_message}},
      {check_dns_subdomain, "a.", {subdomain_message}},
      {check_dns_subdomain, "a/b", {subdomain_message}},
      {check_dns_subdomain, std::string(253, 'a'), {}},
      {check_dns_subdomain, std::string(254, 'a'), {"must be no more than 253 characters"}},
      {check_qualified_name, "app", {}},
      {check_qualified_name, "nvidia.com/gpu.deploy.driver", {}},
      {check_qualified_name, "a_b.C-d", {}},
      {check_qualified_name, "", {"name part must be non-empty", "name part " + name_part_message}},
      {check_qualified_name, "/a", {"prefix part must be non-empty"}},
      {check_qualified_name,
       "a/",
       {"name part must be non-empty", "name part " + name_part_message}},
      {check_qualified_name, "A/b", {"prefix part " + subdomain_message}},
      {check_qualified_name, "a b", {"name part " + name_part_message}},
      {check_qualified_name,
       "a/b/c",
       {"a qualified name " + name_part_message +
        " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}},
      {check_qualified_name,
       "a/" + std::string(64, 'a'),
       {"name part must be no more than 63 characters"}},
      {check_annotation_key, "Example.COM/key", {}},
      {check_label_value, "", {}},
      {check_label_value, "NVIDIA-H100_80GB.HBM3", {}},
      {check_label_value, "a b", {value_message}},
      {check_label_value, "-", {value_message}},
      {check_label_value, std::string(64, 'a'), {"must be no more than 63 characters"}},
      {check_config_map_key, "a.b_c-D", {}},
      {check_config_map_key, "..", {"must not be '..'"}},
      {check_config_map_key, "..a", {"must not start with '..'"}},
      {check_percent, "25%", {}},
      {check_percent, "100000%", {}},
      {check_path_segment, "system:node", {}},
      {check_path_segment, "..", {"may not be '..'"}},
      {check_path_segment, "a/b%", {"may not contain '/'", "may not contain '%'"}},
  };
  for (const Case& each : cases) EXPECT_EQ(each.check(each.value), each.complaints) << each.value;
}

TEST(Names, RefusesWhatIsNoPercentage) {
  for (std::string_view value : {"", "%", "25", "-1%", "2.5%", "25%%", " 25%"}) {
    EXPECT_EQ(check_percent(value).size(), 1U) << value;
  }
  EXPECT_EQ(
      check_percent("x").front(),
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  "
      "or '93%', regex used for validation is '[0-9]+%')");
}

TEST(Names, Refuses1035LabelsThatBeginWithADigit) {
  for (std::string_view value : {"7a", "", "-a", "a.b"}) {
    EXPECT_EQ(check_dns1035_label(value).size(), 1U) << value;
  }
}

TEST(Names, RefusesBadConfigMapKeys) {
  for (std::string_view value : {"", "a/b", "a b"}) {
    EXPECT_EQ(check_config_map_key(value).size(), 1U) << value;
  }
}

TEST(Names, JoinsComplaints) { EXPECT_EQ(join_complaints({"a", "b"}), "a; b"); }

}  // namespace
}  // namespace lockstep::names_test
