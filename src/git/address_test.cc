#include "git/address.h"

#include <gtest/gtest.h>

namespace lockstep::git::address_test {
namespace {

TEST(RepositoryAddress, IsWrittenInOneWay) {
  const std::pair<const char*, const char*> cases[] = {
      {"https://git.example.com/team/matrix.git", "https://git.example.com/team/matrix.git"},
      {"HTTPS://Git.Example.COM:443/team/matrix.git/", "https://git.example.com/team/matrix.git"},
      {"https://git.example.com:8443/Team/Matrix", "https://git.example.com:8443/Team/Matrix"},
      {"https://[FD00::1]:8443/x", "https://[fd00::1]:8443/x"},
      {"ssh://git@git.example.com:22/x", "ssh://git@git.example.com/x"},
      {"ssh://git.example.com:2222/x", "ssh://git.example.com:2222/x"},
  };
  for (const auto& [text, written] : cases) {
    auto address = parse_address(text);
    ASSERT_TRUE(address) << text << ": " << address.error().text();
    EXPECT_EQ(address->text(), written);
    EXPECT_EQ(parse_address(written)->text(), written);
  }
}

TEST(RepositoryAddress, WhatIsAmbiguousIsRefused) {
  for (const char* bad : {"",
                          "-",
                          "--upload-pack=touch x",
                          "ext::sh -c touch% x",
                          "file:///srv/matrix.git",
                          "/srv/matrix.git",
                          "../matrix",
                          "matrix",
                          "git@host:team/matrix.git",
                          "host:matrix",
                          "git://host/matrix",
                          "http://host/matrix",
                          "http://127.0.0.1/matrix",
                          "git+ssh://host/x",
                          "https://user@host/x",
                          "https://user:secret@host/x",
                          "https://allowed.example.com@evil/x",
                          "https://allowed.example.com:443@evil/x",
                          "https://allowed.example.com\\@evil/x",
                          "https://allowed.example.com%2f@evil/x",
                          "https://allowed.example.com#@evil/x",
                          "https://allowed.example.com?@evil/x",
                          "https://allowed.example.com",
                          "https:///x",
                          "https://host/",
                          "https://host/../x",
                          "https://host/team/../x",
                          "https://host/./x",
                          "https://host//x",
                          "https://host/team/%2e%2e/x",
                          "https://host/x?service=y",
                          "https://host/x#y",
                          "https://host/x y",
                          "https://host./x",
                          "https://.host/x",
                          "https://-host/x",
                          "https://host/-x",
                          "https://host:0/x",
                          "https://host:65536/x",
                          "https://host:4 4/x",
                          "https://host:+443/x",
                          "https://host:/x",
                          "https://h\xc3\xb6st/x",
                          "https://[::1/x",
                          "https://[127.0.0.1]/x",
                          "https://[::1]evil/x",
                          "ssh://-oProxyCommand=x/y",
                          "ssh://git:secret@host/x",
                          "ssh://a@b@host/x",
                          "ssh://@host/x",
                          "https://host/a\nb"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
  EXPECT_FALSE(parse_address("https://host/" + std::string(3000, 'a')));
  EXPECT_FALSE(parse_address(std::string("https://host/a\0b", 16)));
}

TEST(RepositoryAddress, ErrorsNameTheAddressWithoutPasswords) {
  const std::string said = parse_address("https://user:secret@host/x").error().text();
  EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  EXPECT_NE(said.find("must not contain a user name or password"), std::string::npos) << said;
}

TEST(RepositoryAddress, LocalOnesOnlyWhereTheyAreAccepted) {
  EXPECT_EQ(parse_address("/srv/matrix.git", Local::accepted)->text(), "/srv/matrix.git");
  EXPECT_EQ(parse_address("file:///srv/matrix.git/", Local::accepted)->text(), "/srv/matrix.git");
  EXPECT_EQ(parse_address("http://127.0.0.1:80/x", Local::accepted)->text(), "http://127.0.0.1/x");
  EXPECT_TRUE(parse_address("http://localhost:8080/x", Local::accepted));
  for (const char* bad : {"http://127.example.com/x", "http://host/x", "file://host/x", "../x",
                          "/srv/../x", "ext::sh", "git://127.0.0.1/x"}) {
    EXPECT_FALSE(parse_address(bad, Local::accepted)) << bad;
  }
}

}  // namespace
}  // namespace lockstep::git::address_test
