#include "http/request_parser.h"

#include <gtest/gtest.h>

namespace lockstep::http::request_parser_test {
namespace {

constexpr RequestParser::Limits limits = {.head = 200, .body = 20};

// Hands over the text in pieces of this size, with what was not taken before.
int read(RequestParser& parser, std::string_view text, size_t piece) {
  std::string waiting;
  while (!text.empty() && parser.refusal() == 0 && !parser.is_done()) {
    const std::string_view next = text.substr(0, piece);
    text.remove_prefix(next.size());
    waiting += next;
    waiting.erase(0, parser.take(waiting));
    EXPECT_LE(waiting.size(), limits.head + piece);
  }
  return parser.refusal();
}

TEST(RequestParser, ReadsARequestHoweverItIsCut) {
  const std::string text =
      "POST /p?q HTTP/1.1\r\nHost: a\r\nX-Two:  b c \r\nContent-Length: 5\r\n\r\n"
      "abcdeGET / HTTP/1.1";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    RequestParser parser(limits);
    EXPECT_EQ(read(parser, text, piece), 0) << piece;
    ASSERT_TRUE(parser.is_done()) << piece;
    EXPECT_TRUE(parser.keeps_alive());
    const Request request = parser.take_request();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path(), "/p");
    EXPECT_EQ(request.header("x-two"), "b c");
    EXPECT_EQ(request.body, "abcde");
  }
}

TEST(RequestParser, ReadsChunksAndNoFieldsAfterThem) {
  const std::string text =
      "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nAuthorization: Bearer late\r\n\r\n";
  for (size_t piece : {size_t{1}, size_t{7}, text.size()}) {
    RequestParser parser(limits);
    EXPECT_EQ(read(parser, text, piece), 0) << parser.why();
    ASSERT_TRUE(parser.is_done());
    const Request request = parser.take_request();
    EXPECT_EQ(request.body, "abcde");
    EXPECT_EQ(request.header("authorization"), "") << "the head was judged before";
  }
}

TEST(RequestParser, WhatIsMalformedIsRefused) {
  struct Case {
    std::string text;
    int code;
  };
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const auto& [text, code] : std::vector<Case>{
           {"rubbish\r\n\r\n", 400},
           {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"GET / HTTP/3\r\n\r\n", 505},
           {"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505},
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},
           {"GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           {"CONNECT host:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
           // Two that disagree on where a body ends.
           {post + "Content-Length: abc\r\n\r\n", 400},
           {post + "Content-Length: -1\r\n\r\n", 400},
           {post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
           {post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
           {post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400},
           {post + "Transfer-Encoding: gzip\r\n\r\n", 400},
           {post + "Transfer-Encoding: chunked, gzip\r\n\r\n", 400},
           {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
           {post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
           {post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdefgh\r\n", 400},
       }) {
    for (size_t piece : {size_t{1}, text.size()}) {
      RequestParser parser(limits);
      EXPECT_EQ(read(parser, text, piece), code) << text << parser.why();
      EXPECT_FALSE(parser.is_done()) << text;
    }
  }
}

TEST(RequestParser, LinesWithoutTheirReturnAreNoRequest) {
  for (size_t piece : {size_t{1}, size_t{1000}}) {
    RequestParser parser(limits);
    read(parser, "GET / HTTP/1.1\nHost: a\n\n", piece);
    EXPECT_FALSE(parser.is_done());
  }
}

TEST(RequestParser, AHeadHasItsLimitHoweverManyFieldsItHas) {
  const auto of_size = [](size_t size) {
    std::string text = "GET / HTTP/1.0\r\n";
    while (text.size() + 12 < size) text += "X: y\r\n";
    return text + "Y:" + std::string(size - text.size() - 6, 'y') + "\r\n\r\n";
  };
  for (size_t piece : {size_t{1}, size_t{64}, size_t{1000}}) {
    RequestParser whole(limits);
    EXPECT_EQ(read(whole, of_size(200), piece), 0);
    EXPECT_TRUE(whole.is_done());
    RequestParser over(limits);
    EXPECT_EQ(read(over, of_size(201), piece), 431);
    RequestParser endless(limits);
    std::string fields = "GET / HTTP/1.0\r\n";
    for (int i = 0; i < 1000; ++i) fields += "X: y\r\n";
    EXPECT_EQ(read(endless, fields, piece), 431);
    RequestParser line(limits);
    EXPECT_EQ(read(line, "GET /" + std::string(1000, 'a'), piece), 431);
  }
}

TEST(RequestParser, ABodyHasItsLimit) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const std::string& text :
       {post + "Content-Length: 21\r\n\r\n", post + "Content-Length: 99999999999\r\n\r\n",
        post + "Transfer-Encoding: chunked\r\n\r\n15\r\nab",
        post + "Transfer-Encoding: chunked\r\n\r\n14\r\n" + std::string(20, 'a') + "\r\n1\r\n"}) {
    for (size_t piece : {size_t{1}, text.size()}) {
      RequestParser parser(limits);
      EXPECT_EQ(read(parser, text, piece), 413) << text;
    }
  }
}

// The bytes between the chunks are not the body, and have their limit too.
TEST(RequestParser, AChunksHeadHasItsLimit) {
  for (const std::string& end : {"1;" + std::string(5000, 'x'), "0\r\n" + std::string(5000, 'x')}) {
    RequestParser parser(limits);
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(read(parser, head + end, 64), 400);
  }
}

TEST(RequestParser, IsReadyForTheNextAfterReset) {
  RequestParser parser(limits);
  EXPECT_FALSE(parser.has_begun());
  EXPECT_EQ(read(parser, "rubbish\r\n\r\n", 100), 400);
  parser.reset();
  EXPECT_FALSE(parser.has_begun());
  EXPECT_EQ(read(parser, "GET / HTTP/1.0\r\n\r\n", 100), 0);
  EXPECT_TRUE(parser.is_done());
  EXPECT_TRUE(parser.is_http_1_0());
  EXPECT_FALSE(parser.keeps_alive());
}

}  // namespace
}  // namespace lockstep::http::request_parser_test
