#include "apiserver/door/request_guard.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::request_guard_test {
namespace {

int code_of(const RequestGuard& guard, const RequestSource& source) {
  const auto checked = check_source(guard, source);
  return checked ? 200 : checked.error().code;
}

const RequestGuard guard{{"build.example", "10.0.0.7"}, 8080, false};

TEST(RequestGuard, OnlyItsOwnNamesWithItsPort) {
  for (const char* host : {"localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080", "127.1.2.3:8080",
                           "[::1]:8080", "build.example:8080", "10.0.0.7:8080"}) {
    EXPECT_EQ(code_of(guard, {.host = host}), 200) << host;
  }
  for (const char* host :
       {"", "localhost", "localhost:8081", "evil.example:8080", "127.evil.example:8080",
        "127.0.0.1.evil.example:8080", "localhost.evil.example:8080", "127.0.0.256:8080",
        "localhost:8080x", "localhost:", "[::1", "[::1]8080", "@localhost:8080", "10.0.0.8:8080"}) {
    EXPECT_EQ(code_of(guard, {.host = host}), 421) << host;
  }
  EXPECT_EQ(code_of({{}, 80, false}, {.host = "localhost"}), 200) << "the port of http";
  EXPECT_EQ(code_of({{}, 8080, true}, {.host = "any.example"}), 200) << "TLS names the server";
}

TEST(RequestGuard, NoPageOfAnotherOrigin) {
  for (const char* origin : {"http://localhost:8080", "http://127.0.0.1:8080"}) {
    EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .origin = origin}), 200) << origin;
  }
  for (const char* origin : {"null", "http://evil.example", "http://localhost:8081",
                             "http://localhost", "file://", "http://evil.example:8080"}) {
    EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .origin = origin}), 403) << origin;
  }
  EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .fetch_site = "cross-site"}), 403);
  EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .fetch_site = "same-site"}), 403);
  EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .fetch_site = "none"}), 200);
  const RequestGuard tls{{}, 8443, true};
  EXPECT_EQ(code_of(tls, {.host = "a:8443", .origin = "https://a:8443"}), 200);
  EXPECT_EQ(code_of(tls, {.host = "a:8443", .origin = "https://b:8443"}), 403);
}

TEST(RequestGuard, NoBodyThatAFormCouldSend) {
  for (const char* type : {"application/json", "application/JSON; charset=utf-8",
                           "application/merge-patch+json", "application/apply-patch+yaml"}) {
    EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .content_type = type, .has_body = true}),
              200)
        << type;
  }
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data", "text/plain; application/json"}) {
    EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .content_type = type, .has_body = true}),
              415)
        << type;
    EXPECT_EQ(code_of(guard, {.host = "localhost:8080", .content_type = type}), 200) << type;
  }
}

}  // namespace
}  // namespace lockstep::apiserver::request_guard_test
