#include "apiserver/present/protobuf.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"
#include "base/strings.h"

namespace lockstep::apiserver::protobuf_test {
namespace {

struct Body {
  const char* base64;
  const char* json;
};

// What kubectl 1.34.5 sent for create namespace, secret, deployment (--replicas=0 --port=80),
// service, pdb and quota, for auth can-i and auth whoami.
const Body genuine_bodies[] = {
    {"azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhsKEwoDZm9vEgAaACIAKgAyADgAQgASABoCCgAaACIA",
     "{'kind':'Namespace','apiVersion':'v1','metadata':{'name':'foo'}}"},
    {"azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAXUSAXYaABoAIgA=",
     "{'kind':'Secret','apiVersion':'v1','metadata':{'name':'s'},'data':{'u':'dg=='}}"},
    {"azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErIBChsKAWQSABoAIgAqADIAOABCAFoICgNhcHASAWQS"
     "hAEIABIKCggKA2FwcBIBZBpsChoKABIAGgAiACoAMgA4AEIAWggKA2FwcBIBZBJOEjAKBW5naW54Egdu"
     "Z2lueDoxKgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEA"
     "mgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA=",
     "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d','labels':{'ap"
     "p':'d'}},'spec':{'replicas':0,'selector':{'matchLabels':{'app':'d'}},'template':"
     "{'metadata':{'labels':{'app':'d'}},'spec':{'containers':[{'name':'nginx','image'"
     ":'nginx:1','ports':[{'containerPort':80}]}]}}}}"},
    {"azhzAAoNCgJ2MRIHU2VydmljZRJjChsKAXMSABoAIgAqADIAOABCAFoICgNhcHASAXMSQAobCgc4MC04"
     "MDgwEgNUQ1AYUCIHCAAQkD8aACgAEggKA2FwcBIBcxoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoA"
     "GgAiAA==",
     "{'kind':'Service','apiVersion':'v1','metadata':{'name':'s','labels':{'app':'s'}}"
     ",'spec':{'ports':[{'name':'80-8080','protocol':'TCP','port':80,'targetPort':8080"
     "}],'selector':{'app':'s'},'type':'ClusterIP'}}"},
    {"azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSNgoRCgFiEgAaACIAKgAyADgAQgAS"
     "FQoJCAEQABoDNTAlEggKBgoBYRIBYhoKCAAYACAAKAAwABoAIgA=",
     "{'kind':'PodDisruptionBudget','apiVersion':'policy/v1','metadata':{'name':'b'},'"
     "spec':{'minAvailable':'50%','selector':{'matchLabels':{'a':'b'}}}}"},
    {"azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRIwChEKAXESABoAIgAqADIAOABCABIZCgoKA2NwdRIDCgEy"
     "CgsKBHBvZHMSAwoBNRoAGgAiAA==",
     "{'kind':'ResourceQuota','apiVersion':'v1','metadata':{'name':'q'},'spec':{'hard'"
     ":{'cpu':'2','pods':'5'}}}"},
    {"azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPAoQ"
     "CgASABoAIgAqADIAOABCABIeChwKB2RlZmF1bHQSA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoA"
     "IgA=",
     "{'kind':'SelfSubjectAccessReview','apiVersion':'authorization.k8s.io/v1','spec':"
     "{'resourceAttributes':{'namespace':'default','verb':'get','resource':'pods'}}}"},
    {"azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAa"
     "ACIAKgAyADgAQgASBgoECgASABoAIgA=",
     "{'kind':'SelfSubjectReview','apiVersion':'authentication.k8s.io/v1'}"},
};

class ProtobufTest : public SchemaTest {
 protected:
  static std::string bytes(std::string_view base64) { return *base64_decode(base64); }
  static std::string field(int number, std::string_view content) {
    std::string result;
    result += static_cast<char>(number << 3 | 2);
    result += static_cast<char>(content.size());
    return result + std::string(content);
  }
  static std::string envelope(std::string_view api_version, std::string_view kind,
                              std::string_view raw) {
    return std::string("k8s\0", 4) + field(1, field(1, api_version) + field(2, kind)) +
           field(2, raw);
  }
};

TEST_F(ProtobufTest, ReadsWhatKubectlSends) {
  for (const Body& body : genuine_bodies) {
    Outcome<Json> object = read_protobuf(bytes(body.base64), builtin());
    ASSERT_TRUE(object) << body.json << object.error().message;
    EXPECT_TRUE(json_equal(*object, json(body.json))) << print_json(*object);
  }
}

TEST_F(ProtobufTest, InlineMessagesPointersAndTimes) {
  // spec.volumes[0] = {name: v, emptyDir: {}}: the source is a message that JSON has inline.
  std::string volume = field(1, "v") + field(2, field(2, ""));
  Outcome<Json> pod = read_protobuf(envelope("v1", "Pod", field(2, field(1, volume))), builtin());
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(print_json(*find(*pod, "spec", "volumes")), R"([{"name":"v","emptyDir":{}}])");

  // spec.renewTime = 1 s and 5 us.
  std::string renew("\x08\x01\x10\x88\x27", 5);
  Outcome<Json> lease = read_protobuf(
      envelope("coordination.k8s.io/v1", "Lease", field(2, field(4, renew))), builtin());
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(text_at(*lease, "spec", "renewTime"), "1970-01-01T00:00:01.000005Z");

  // DeleteOptions of any group; gracePeriodSeconds = 0 is a pointer and stays.
  Outcome<Json> options =
      read_protobuf(envelope("apps/v1", "DeleteOptions", std::string("\x08\x00", 2)), builtin());
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(*find(*options, "gracePeriodSeconds"), Json(0));
}

TEST_F(ProtobufTest, FieldsOfNewerVersionsAreSkipped) {
  Outcome<Json> object = read_protobuf(
      envelope("v1", "Namespace", field(15, "\xff\xff") + field(1, field(1, "a"))), builtin());
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(text_at(*object, "metadata", "name"), "a");
}

TEST_F(ProtobufTest, RefusesOtherKindsAndBrokenBytes) {
  EXPECT_EQ(read_protobuf("{}", builtin()).error().code, 400);
  EXPECT_EQ(read_protobuf("", builtin()).error().code, 400);
  EXPECT_EQ(read_protobuf(envelope("v1", "Nosuch", ""), builtin()).error().code, 415);
  EXPECT_EQ(
      read_protobuf(envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""), builtin())
          .error()
          .code,
      415);
  EXPECT_EQ(read_protobuf(envelope("v1", "Namespace", "\x0a\x7f"), builtin()).error().code, 400);
}

// Whatever the bytes: an answer, and no access beyond them (the sanitizers would report it).
TEST_F(ProtobufTest, SurvivesDamage) {
  for (const Body& body : genuine_bodies) {
    std::string good = bytes(body.base64);
    for (size_t i = 0; i < good.size(); ++i) {
      (void)read_protobuf(good.substr(0, i), builtin());
      for (int change : {1, 0x80, 0xff}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ change);
        Outcome<Json> object = read_protobuf(bad, builtin());
        EXPECT_TRUE(object || object.error().code == 400 || object.error().code == 415);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::apiserver::protobuf_test
