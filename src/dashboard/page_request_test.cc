#include "dashboard/page_request.h"

#include <gtest/gtest.h>

namespace lockstep::dashboard::page_request_test {
namespace {

PageRequest request(const std::string& text) {
  PageRequest request;
  request.head = controller::parse_request_head(text);
  return request;
}

TEST(PageRequest, OnLoopbackOnlyOurOwnNamesAreAnswered) {
  struct Case {
    const char* host;
    int loopback;
    int anywhere;
  };
  for (const auto& [host, loopback, anywhere] :
       std::vector<Case>{{"localhost:8640", 0, 0},
                         {"LOCALHOST", 0, 0},
                         {"127.0.0.1:8640", 0, 0},
                         {"[::1]:8640", 0, 0},
                         {"[::1]", 0, 0},
                         {"evil.example:8640", 421, 0},
                         {"127.0.0.1.evil.example", 421, 0},
                         {"localhost.evil.example", 421, 0}}) {
    PageRequest got = request(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n");
    EXPECT_EQ(refusal_of(got, true), loopback) << host;
    EXPECT_EQ(refusal_of(got, false), anywhere) << host;
  }
}

TEST(PageRequest, AChangeMustComeFromOurOwnPage) {
  const std::string begin = "POST /api/actions HTTP/1.1\r\nHost: localhost:8640\r\n";
  const std::string intent = "X-Lockstep-Request: 1\r\n";
  struct Case {
    std::string headers;
    int code;
  };
  for (const auto& [headers, code] : std::vector<Case>{
           {"", 403},
           {intent, 0},
           {intent + "Origin: http://localhost:8640\r\n", 0},
           {intent + "Origin: http://evil.example\r\n", 403},
           {intent + "Origin: null\r\n", 403},
           {intent + "Origin: http://localhost:8641\r\n", 403},
           {intent + "Sec-Fetch-Site: same-origin\r\n", 0},
           {intent + "Sec-Fetch-Site: cross-site\r\n", 403},
           {intent + "Sec-Fetch-Site: same-site\r\n", 403},
       }) {
    EXPECT_EQ(refusal_of(request(begin + headers + "\r\n"), true), code) << headers;
  }
  EXPECT_EQ(refusal_of(request("DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n"), true), 405);
  EXPECT_EQ(refusal_of(request("nonsense\r\n\r\n"), true), 400);
}

TEST(PageRequest, TakesParametersAndTokensApart) {
  PageRequest got = request(
      "GET /api/events?a=1&after=ab%3A7&b HTTP/1.1\r\nHost: localhost\r\n"
      "Authorization: bearer  abc.def \r\nAccept-Encoding: br, gzip\r\n\r\n");
  EXPECT_EQ(got.parameter("after"), "ab:7");
  EXPECT_EQ(got.parameter("b"), "");
  EXPECT_EQ(got.parameter("c"), "");
  EXPECT_EQ(got.token(), "abc.def");
  EXPECT_TRUE(got.takes_gzip());
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic eA==\r\n\r\n").token(), "");
}

TEST(PageRequest, EveryAnswerIsProtected) {
  size_t length = 2;
  for (const std::string& head :
       {print_head(PageAnswer::json("{}"), &length),
        print_head(PageAnswer::refuse(403, "no"), &length), print_head(PageAnswer(), nullptr)}) {
    for (const char* header :
         {"Content-Security-Policy: default-src 'none'; script-src 'self'", "X-Frame-Options: DENY",
          "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
          "frame-ancestors 'none'", "Cache-Control: no-store"}) {
      EXPECT_NE(head.find(header), std::string::npos) << header;
    }
    EXPECT_EQ(head.find("unsafe"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::dashboard::page_request_test
