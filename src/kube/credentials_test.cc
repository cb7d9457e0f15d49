#include "kube/credentials.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::kube::credentials_test {
namespace {

struct Fixture {
  Result<Identity> current() { return FileCredentials(user, files, loop).current(); }
  VirtualLoop loop{1};
  MemoryFiles files;
  UserConfig user;
};

TEST(CredentialsTest, AuthorizationOfEachKind) {
  Fixture f;
  EXPECT_EQ(f.current()->authorization, "");
  f.user.username = "me";
  f.user.password = "secret";
  EXPECT_EQ(f.current()->authorization, "Basic bWU6c2VjcmV0");
  f.user = UserConfig();
  f.user.token = "abc";
  EXPECT_EQ(f.current()->authorization, "Bearer abc");
  f.user.token_file = "/token";
  f.files.contents["/token"] = " from-file\n";
  EXPECT_EQ(f.current()->authorization, "Bearer from-file");
}

TEST(CredentialsTest, ATokenCannotBreakOutOfItsHeader) {
  Fixture f;
  f.user.token_file = "/token";
  f.files.contents["/token"] = "a\r\nX-Evil: 1";
  EXPECT_EQ(f.current().error().kind, ErrorKind::invalid);
  f.files.contents["/token"] = "\n";
  EXPECT_EQ(f.current().error().kind, ErrorKind::invalid);
}

TEST(CredentialsTest, CertificatesFromDataAndFiles) {
  Fixture f;
  f.user.client_certificate.data = "cert";
  f.user.client_key.file = "/key";
  EXPECT_EQ(f.current().error().place, "/key");
  f.files.contents["/key"] = "key";
  EXPECT_EQ(*f.current()->certificate, "cert");
  EXPECT_EQ(*f.current()->key, "key");
}

TEST(CredentialsTest, OnlyFilesCanChangeAfterARefusal) {
  Fixture f;
  f.user.token = "abc";
  FileCredentials fixed(f.user, f.files, f.loop);
  EXPECT_FALSE(fixed.refused(*fixed.current()));
  f.user.token_file = "/token";
  f.files.contents["/token"] = "one";
  FileCredentials changing(f.user, f.files, f.loop);
  const Identity first = *changing.current();
  f.files.contents["/token"] = "two";
  EXPECT_TRUE(changing.refused(first));
  EXPECT_EQ(changing.current()->authorization, "Bearer two");
}

TEST(CredentialsTest, IdentitiesAreEqualByContent) {
  Identity a;
  Identity b;
  EXPECT_EQ(a, b);
  a.certificate = std::make_shared<const std::string>("x");
  EXPECT_FALSE(a == b);
  b.certificate = std::make_shared<const std::string>("x");
  EXPECT_EQ(a, b);
  b.key = std::make_shared<const std::string>("k");
  EXPECT_FALSE(a == b);
}

TEST(CredentialsTest, ImpersonationHeaders) {
  UserConfig user;
  EXPECT_TRUE(impersonation_headers(user)->empty());
  user.impersonate_user = "alice";
  user.impersonate_uid = "7";
  user.impersonate_groups = {"dev", "ops"};
  user.impersonate_extra = {{"Acme.com/Scope", {"a", "b"}}};
  EXPECT_EQ(*impersonation_headers(user),
            (std::vector<std::string>{"Impersonate-User: alice", "Impersonate-Uid: 7",
                                      "Impersonate-Group: dev", "Impersonate-Group: ops",
                                      "Impersonate-Extra-acme.com%2Fscope: a",
                                      "Impersonate-Extra-acme.com%2Fscope: b"}));
  user.impersonate_groups = {"dev\r\nX-Evil: 1"};
  EXPECT_FALSE(impersonation_headers(user).has_value());
}

}  // namespace
}  // namespace lockstep::kube::credentials_test
