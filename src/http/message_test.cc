#include "http/message.h"

#include <gtest/gtest.h>

namespace lockstep::http::message_test {
namespace {

Request to(const std::string& target) {
  Request request;
  request.method = "GET";
  request.target = target;
  return request;
}

TEST(HttpMessage, TakesTargetsApart) {
  struct Case {
    const char* target;
    const char* path;
    const char* query;
  };
  for (const auto& [target, path, query] : std::vector<Case>{{"/metrics", "/metrics", ""},
                                                             {"/a?b=c&d#e", "/a", "b=c&d"},
                                                             {"/a#b?c", "/a", ""},
                                                             {"http://host:80/a?b", "/a", "b"},
                                                             {"https://host", "/", ""},
                                                             {"host:443", "host:443", ""}}) {
    EXPECT_EQ(to(target).path(), path) << target;
    EXPECT_EQ(to(target).query(), query) << target;
  }
}

TEST(HttpMessage, DecodesParametersAndFindsHeaders) {
  Request request = to("/api/events?a=1&after=ab%3A7&b");
  request.headers = {{"accept-encoding", "br, gzip"}, {"x", "1"}, {"x", "2"}};
  EXPECT_EQ(request.parameter("after"), "ab:7");
  EXPECT_EQ(request.parameter("b"), "");
  EXPECT_EQ(request.parameter("c"), "");
  EXPECT_EQ(request.header("x"), "1");
  EXPECT_EQ(request.header("y"), "");
  EXPECT_TRUE(request.accepts_gzip());
  EXPECT_FALSE(to("/").accepts_gzip());
}

TEST(HttpMessage, DatesAreThoseOfHttp) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpMessage, APlainAnswerSaysWhatItsCodeMeans) {
  EXPECT_EQ(plain_answer(404).body, "Not Found\n");
  EXPECT_EQ(plain_answer(503, "waits for nodes").body, "waits for nodes\n");
}

}  // namespace
}  // namespace lockstep::http::message_test
