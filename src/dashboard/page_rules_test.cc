#include "dashboard/page_rules.h"

#include <gtest/gtest.h>

#include "http/raw_client_test_util.h"
#include "http/request_parser.h"

namespace lockstep::dashboard::page_rules_test {
namespace {

http::Request request(const std::string& text) {
  http::RequestParser parser({});
  parser.take(text);
  EXPECT_TRUE(parser.is_done()) << parser.why();
  return parser.take_request();
}

TEST(PageRules, OnLoopbackOnlyOurOwnNamesAreAnswered) {
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
    http::Request got = request(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n");
    EXPECT_EQ(refusal_of(got, true), loopback) << host;
    EXPECT_EQ(refusal_of(got, false), anywhere) << host;
  }
}

TEST(PageRules, AChangeMustComeFromOurOwnPage) {
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
}

TEST(PageRules, FindTheTokenOfABearer) {
  const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(token_of(request(begin + "Authorization: bearer  abc.def \r\n\r\n")), "abc.def");
  EXPECT_EQ(token_of(request(begin + "Authorization: Basic eA==\r\n\r\n")), "");
  EXPECT_EQ(token_of(request(begin + "\r\n")), "");
}

TEST(PageRules, EveryAnswerIsProtected) {
  EventLoop loop;
  SilentLog log;
  auto server = http::Server::listen(
      loop, log, "127.0.0.1:0",
      [](const http::Request& request, const http::Server::Respond& respond) {
        respond(request.path() == "/no" ? refuse_page(403, "no") : json_answer("{}"));
      },
      page_server_options());
  ASSERT_TRUE(server);
  for (const char* request : {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                              "GET /no HTTP/1.1\r\nHost: a\r\n\r\n", "rubbish\r\n\r\n"}) {
    const std::string answer = http::testing::RawClient::ask(loop, (*server)->port(), request);
    for (const char* header :
         {"Content-Security-Policy: default-src 'none'; script-src 'self'", "X-Frame-Options: DENY",
          "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
          "frame-ancestors 'none'", "Cache-Control: no-store", "Connection: close",
          "Content-Type: application/json"}) {
      EXPECT_NE(answer.find(header), std::string::npos) << header;
    }
    EXPECT_EQ(answer.find("unsafe"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::dashboard::page_rules_test
