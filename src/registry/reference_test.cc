#include "registry/reference.h"

#include <gtest/gtest.h>

namespace lockstep::registry::reference_test {
namespace {

TEST(Reference, NamesARegistry) {
  struct Case {
    std::string text;
    Reference expected;
  };
  const std::vector<Case> cases = {
      {"oci://ghcr.io/team/bundles:v1.2", {"", "ghcr.io", "team/bundles", "v1.2"}},
      {"oci://ghcr.io/team/bundles", {"", "ghcr.io", "team/bundles", "latest"}},
      {"oci://localhost:5000/a", {"", "localhost:5000", "a", "latest"}},
      {"oci://GHCR.io/a/b__c.d-e--f:V_1", {"", "ghcr.io", "a/b__c.d-e--f", "V_1"}},
      {"OCI://registry/x:1", {"", "registry", "x", "1"}},
      {"oci://[::1]:5000/x:1", {"", "[::1]:5000", "x", "1"}},
      {"oci://[::1]/x", {"", "[::1]", "x", "latest"}},
  };
  for (const Case& c : cases) {
    const auto reference = parse_reference(c.text);
    ASSERT_TRUE(reference.has_value()) << reference.error().text();
    EXPECT_EQ(*reference, c.expected) << c.text;
    EXPECT_EQ(parse_reference(reference->text()).value(), *reference);
  }
}

TEST(Reference, NamesADirectory) {
  EXPECT_EQ(parse_reference("oci:///abs/dir:v1").value(), (Reference{"/abs/dir", "", "", "v1"}));
  EXPECT_EQ(parse_reference("oci://./dir:v1").value(), (Reference{"./dir", "", "", "v1"}));
  EXPECT_EQ(parse_reference("oci://../Dir").value(), (Reference{"../Dir", "", "", "latest"}));
  EXPECT_EQ(parse_reference("oci://./a:b/c").value(), (Reference{"./a:b/c", "", "", "latest"}));
  EXPECT_EQ(parse_reference("oci://.").value().directory, ".");
  EXPECT_EQ(parse_reference("oci://..:v1").value(), (Reference{"..", "", "", "v1"}));
  EXPECT_TRUE(parse_reference("oci:///x").value().is_directory());
  EXPECT_EQ(parse_reference("oci://./dir:v1").value().text(), "oci://./dir:v1");
}

TEST(Reference, SaysWhatIsWrong) {
  struct Case {
    std::string text;
    std::string wanted;
  };
  const std::vector<Case> cases = {
      {"ghcr.io/a:1", "must begin with oci://"},
      {"oci://", "not the name of a host"},
      {"oci://bundle", "for a directory, oci://./bundle"},
      {"oci://ghcr.io/", "repository is missing"},
      {"oci://ghcr.io/Team/Bundles:1", "must be in lower case: team/bundles"},
      {"oci://ghcr.io/a//b", "\"\" in the repository"},
      {"oci://ghcr.io/a/../b", "\"..\" in the repository"},
      {"oci://ghcr.io/a_.b", "is not a name"},
      {"oci://ghcr.io/a___b", "is not a name"},
      {"oci://ghcr.io/-a", "is not a name"},
      {"oci://ghcr.io/a b", "is not a name"},
      {"oci://ghcr.io/a?x=1", "is not a name"},
      {"oci://ghcr.io/a:", "is not a tag"},
      {"oci://ghcr.io/a:.x", "is not a tag"},
      {"oci://ghcr.io/a:" + std::string(129, 'x'), "is not a tag"},
      {"oci://ghcr.io/" + std::string(250, 'x'), "longer than 255"},
      {"oci://ghcr.io/a@sha256:00", "must not have a digest"},
      {"oci://user:secret@ghcr.io/a", "must not have a digest or a user"},
      {"oci://gh_cr.io/a", "not the name of a host"},
      {"oci://ghcr.io:99999/a", "not the name of a host"},
      {"oci://ghcr.io:x/a", "not the name of a host"},
      {"oci://-x/a", "not the name of a host"},
      {"oci://~/a", "not the name of a host"},
  };
  for (const Case& c : cases) {
    const auto reference = parse_reference(c.text);
    ASSERT_FALSE(reference.has_value()) << c.text;
    EXPECT_EQ(reference.error().kind, ErrorKind::invalid);
    EXPECT_NE(reference.error().text().find(c.wanted), std::string::npos)
        << reference.error().text();
  }
}

TEST(Reference, IsToldFromAPlainDirectory) {
  EXPECT_TRUE(looks_like_reference("oci://x"));
  EXPECT_FALSE(looks_like_reference("./oci"));
  EXPECT_FALSE(looks_like_reference("oci:/x"));
}

}  // namespace
}  // namespace lockstep::registry::reference_test
