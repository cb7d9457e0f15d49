#include "fleet/key_domain.h"

#include <gtest/gtest.h>

namespace lockstep::fleet::key_domain_test {
namespace {

TEST(KeyDomain, IsTheOneThatTheControllerPublishes) {
  EXPECT_EQ(choose_key_domain({}).domain, "nvidia.com");
  KeyDomain chosen = choose_key_domain({"", "lockstep.dev", {}});
  EXPECT_EQ(chosen.domain, "lockstep.dev");
  EXPECT_EQ(chosen.conflict, "");
  // Labels that another controller has left behind do not matter then.
  EXPECT_EQ(choose_key_domain({"", "lockstep.dev", {"nvidia.com"}}).conflict, "");
}

TEST(KeyDomain, AskedForGoesBeforePublishedAndIsAConflictWhereTheyDiffer) {
  EXPECT_EQ(choose_key_domain({"lockstep.dev", "lockstep.dev", {}}).conflict, "");
  KeyDomain chosen = choose_key_domain({"nvidia.com", "lockstep.dev", {}});
  EXPECT_EQ(chosen.domain, "nvidia.com");
  EXPECT_NE(chosen.conflict.find("works with the key domain lockstep.dev"), std::string::npos);
  EXPECT_NE(chosen.remedy.find("LOCKSTEP_KEY_DOMAIN"), std::string::npos);
}

// A controller in another namespace, beside NVIDIA's: one of the two reads what a command writes.
TEST(KeyDomain, LabelsOfTwoAreAConflictUntilTheUserNamesOne) {
  const KeyDomainFacts both{"", "", {"nvidia.com", "lockstep.dev"}};
  const KeyDomain chosen = choose_key_domain(both);
  EXPECT_NE(chosen.conflict.find("nvidia.com and lockstep.dev"), std::string::npos);
  EXPECT_NE(chosen.remedy.find("--key-domain"), std::string::npos);
  for (const char* asked : {"nvidia.com", "lockstep.dev"}) {
    const KeyDomain named = choose_key_domain({asked, "", both.labelled});
    EXPECT_EQ(named.domain, asked);
    EXPECT_EQ(named.conflict, "");
  }
}

TEST(KeyDomain, LabelsOfAnotherOneAreAConflictWhereNothingIsPublished) {
  EXPECT_EQ(choose_key_domain({"", "", {"nvidia.com"}}).conflict, "");
  KeyDomain chosen = choose_key_domain({"", "", {"lockstep.dev"}});
  EXPECT_EQ(chosen.domain, "nvidia.com");
  EXPECT_NE(chosen.conflict.find("labels of the key domain lockstep.dev"), std::string::npos);
  EXPECT_EQ(chosen.remedy, "add --key-domain lockstep.dev");
  EXPECT_EQ(choose_key_domain({"lockstep.dev", "", {"lockstep.dev"}}).conflict, "");
}

}  // namespace
}  // namespace lockstep::fleet::key_domain_test
