#include "http/codes.h"

#include <gtest/gtest.h>

namespace lockstep::http::codes_test {
namespace {

TEST(HttpCodes, AreKindsOfErrors) {
  struct Case {
    int code;
    ErrorKind kind;
  };
  for (const auto& [code, kind] : std::vector<Case>{{400, ErrorKind::invalid},
                                                    {401, ErrorKind::unauthorized},
                                                    {403, ErrorKind::forbidden},
                                                    {404, ErrorKind::not_found},
                                                    {405, ErrorKind::unsupported},
                                                    {409, ErrorKind::conflict},
                                                    {410, ErrorKind::expired},
                                                    {413, ErrorKind::too_large},
                                                    {418, ErrorKind::invalid},
                                                    {429, ErrorKind::throttled},
                                                    {500, ErrorKind::internal},
                                                    {502, ErrorKind::unreachable},
                                                    {504, ErrorKind::timed_out},
                                                    {302, ErrorKind::invalid}}) {
    EXPECT_EQ(kind_of_code(code), kind) << code;
  }
}

TEST(HttpCodes, ErrorsHaveTheirCode) {
  for (const int code : {400, 401, 403, 404, 409}) EXPECT_EQ(code_of(kind_of_code(code)), code);
  EXPECT_EQ(code_of(ErrorKind::unreachable), 502);
}

}  // namespace
}  // namespace lockstep::http::codes_test
