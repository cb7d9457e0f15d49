#include "apiserver/present/openapi_protobuf.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::openapi_protobuf_test {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

TEST(OpenapiProtobuf, KnowsItsMediaType) {
  EXPECT_TRUE(is_openapi_protobuf("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"));
  EXPECT_TRUE(is_openapi_protobuf("application/com.github.proto-openapi.spec.v2.v1.0+protobuf"));
  EXPECT_FALSE(is_openapi_protobuf("application/json"));
}

TEST(OpenapiProtobuf, WritesTheFieldsOfTheDocument) {
  EXPECT_EQ(hex(openapi_protobuf(json("{'swagger':'2.0'}"))),
            "0a03322e30"
            "4200");
  EXPECT_EQ(hex(openapi_protobuf(json("{'info':{'title':'T','version':'v'}}"))),
            "12060a0154120176"
            "4200");
}

TEST(OpenapiProtobuf, WritesDefinitions) {
  // definitions { named { "A", schema { type { "object" } } } }
  EXPECT_EQ(hex(openapi_protobuf(json("{'definitions':{'A':{'type':'object'}}}"))),
            "4200"
            "4a12"
            "0a10"
            "0a0141"
            "120b"
            "b20108"
            "0a066f626a656374");
  // An extension is YAML in an Any.
  EXPECT_EQ(hex(openapi_protobuf(json("{'definitions':{'A':{'x-a':1}}}"))),
            "4200"
            "4a14"
            "0a12"
            "0a0141"
            "120d"
            "fa010a"
            "0a03782d61"
            "12031201"
            "31");
  EXPECT_EQ(hex(openapi_protobuf(json("{'definitions':{'A':{'additionalProperties':true}}}"))),
            "4200"
            "4a0c"
            "0a0a"
            "0a0141"
            "1205"
            "aa0102"
            "1001");
}

}  // namespace
}  // namespace lockstep::apiserver::openapi_protobuf_test
