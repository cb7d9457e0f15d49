#include "controller/http_request_head.h"

#include <gtest/gtest.h>

namespace lockstep::controller::http_request_head_test {
namespace {

TEST(RequestHead, EndsWithAnEmptyLine) {
  EXPECT_EQ(end_of_head(""), std::nullopt);
  EXPECT_EQ(end_of_head("GET / HTTP/1.1\r\nHost: a\r\n"), std::nullopt);
  EXPECT_EQ(end_of_head("GET / HTTP/1.1\r\nHost: a\r\n\r"), std::nullopt);
  EXPECT_EQ(end_of_head("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody"), 27U);
  EXPECT_EQ(end_of_head("GET / HTTP/1.0\n\n"), 16U);
}

TEST(RequestHead, GivesMethodAndPath) {
  struct Case {
    std::string text, method, path;
  };
  for (const auto& [text, method, path] : std::vector<Case>{
           {"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/metrics"},
           {"HEAD /healthz?verbose=1#x HTTP/1.1\r\nhost:a\r\nX-Empty:\r\n\r\n", "HEAD", "/healthz"},
           {"GET http://a:1/readyz HTTP/1.1\r\nHost: a:1\r\n\r\n", "GET", "/readyz"},
           {"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/"},
           {"GET / HTTP/1.0\r\n\r\n", "GET", "/"},
           {"GET / HTTP/1.0\n\n", "GET", "/"},
       }) {
    RequestHead head = parse_request_head(text);
    EXPECT_EQ(head.refusal, 0) << text;
    EXPECT_EQ(head.method, method) << text;
    EXPECT_EQ(head.path, path) << text;
  }
}

TEST(RequestHead, RefusesWhatIsNoRequest) {
  struct Case {
    std::string text;
    int refusal;
  };
  for (const auto& [text, refusal] : std::vector<Case>{
           {"", 400},
           {"\r\n\r\n", 400},
           {"GET\r\n\r\n", 400},
           {"GET /\r\n\r\n", 400},
           {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"GET metrics HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"GET ?a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"GET / FTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n", 400},
       }) {
    EXPECT_EQ(parse_request_head(text).refusal, refusal) << text;
  }
}

TEST(RequestHead, KeepsTheQueryAndTheHeaders) {
  RequestHead head =
      parse_request_head("GET /a?b=c&d#e HTTP/1.1\r\nHost: h\r\nX-Two:  1 \r\nx-two: 2\r\n\r\n");
  ASSERT_EQ(head.refusal, 0);
  EXPECT_EQ(head.path, "/a");
  EXPECT_EQ(head.query, "b=c&d");
  EXPECT_EQ(head.header("x-two"), "1") << "the first of that name";
  EXPECT_EQ(head.header("x-three"), "");
  EXPECT_EQ(parse_request_head("GET /a#b?c HTTP/1.0\r\n\r\n").query, "");
}

}  // namespace
}  // namespace lockstep::controller::http_request_head_test
