#include "doctor/redact.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "doctor/kept_fields.h"

namespace lockstep::doctor::redact_test {
namespace {

std::string redacted(std::string_view resource, std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? print_json(redact_object(resource, *json)) : "";
}

TEST(Redact, AFieldThatIsNotListedIsDropped) {
  EXPECT_EQ(
      redacted("nodes", R"x({"kind":"Node","metadata":{"name":"gpu-1","managedFields":[1]},)x"
                        R"x("spec":{"unschedulable":true,"providerID":"aws:///x"},"new":1})x"),
      R"x({"kind":"Node","metadata":{"name":"gpu-1","(removed)":"1 field"},)x"
      R"x("spec":{"unschedulable":true,"(removed)":"1 field"},"(removed)":"1 field"})x");
}

TEST(Redact, AResourceThatIsNotCollectedKeepsNothing) {
  const std::string text = redacted("secrets", R"x({"kind":"Secret","data":{"a":"HIDDEN"}})x");
  EXPECT_EQ(text.find("HIDDEN"), std::string::npos) << text;
}

TEST(Redact, AKeptFieldOfAnotherShapeHasItsLengthOnly) {
  EXPECT_EQ(redacted("nodes", R"x({"metadata":{"name":"Not A Name"},"spec":{"unschedulable":"x"},)x"
                              R"x("status":{"conditions":[{"type":{"a":"HIDDEN"}}]}})x"),
            R"x({"metadata":{"name":"(removed, 10 characters)"},)x"
            R"x("spec":{"unschedulable":"(removed, 1 characters)"},)x"
            R"x("status":{"conditions":[{"type":"(removed, a map)"}]}})x");
}

TEST(Redact, OfContainersTheNamesOfArgumentsAndVariables) {
  EXPECT_EQ(redacted("pods", R"x({"spec":{"containers":[{"name":"main","image":"nvcr.io/a:1",)x"
                             R"x("args":["--level=2","--token","HIDDEN","serve"],)x"
                             R"x("env":[{"name":"DB_PASS","value":"HIDDEN"}]}]}})x"),
            R"x({"spec":{"containers":[{"name":"main","image":"nvcr.io/a:1",)x"
            R"x("args":["--level=(removed)","--token","(removed, 6 characters)",)x"
            R"x("(removed, 5 characters)"],)x"
            R"x("env":[{"name":"DB_PASS","(removed)":"1 field"}]}]}})x");
}

TEST(Redact, LabelsAndAnnotationsOfKnownKeysOnly) {
  EXPECT_EQ(
      redacted("nodes", R"x({"metadata":{"labels":{"nvidia.com/gpu.product":"H100","vault":"x"},)x"
                        R"x("annotations":{"lockstep.dev/paused":"by a: token=HIDDEN",)x"
                        R"x("nvidia.com/gpu-driver-upgrade-requested":"true",)x"
                        R"x("argocd.argoproj.io/repo":"HIDDEN"}}})x"),
      R"x({"metadata":{"labels":{"nvidia.com/gpu.product":"H100","(removed)":"1 field"},)x"
      R"x("annotations":{"lockstep.dev/paused":"by a: token=(removed)",)x"
      R"x("nvidia.com/gpu-driver-upgrade-requested":"true","(removed)":"1 field"}}})x");
}

TEST(Redact, OnlyLockstepsConfigMapsKeepTheirData) {
  EXPECT_EQ(redacted("configmaps", R"x({"metadata":{"name":"app"},"data":{"a":"HIDDEN"}})x"),
            R"x({"metadata":{"name":"app"},"data":{"(removed)":"1 field"}})x");
  EXPECT_EQ(redacted("configmaps", R"x({"metadata":{"name":"lockstep-notes"},"data":{"a":"b"}})x"),
            R"x({"metadata":{"name":"lockstep-notes"},"data":{"a":"b"}})x");
}

// --- Wherever a secret is planted, it does not survive. ---

std::string letters_of(std::string_view alphabet, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += alphabet[*rc::gen::inRange<size_t>(0, alphabet.size())];
  }
  return text;
}

constexpr std::string_view base62 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

// The core of it, which must not be seen, and how it is written. A core says by itself that it is
// a secret, or the text around it does.
struct Planted {
  std::string core;
  std::string text;
};

Planted arbitrary_secret() {
  // With a digit among them, as every token of this length has.
  const std::string random = letters_of(base62, 12) + "7" + letters_of(base62, 12) + "Qz3";
  const std::string hex = "4b" + letters_of("0123456789abcdef", 38);
  const std::string word = "hunter" + letters_of("0123456789", 2);
  const std::string key = *rc::gen::element<std::string>(
      "password", "DB_PASSWORD", "api-token", "clientSecret", "passphrase", "X-Amz-Signature");
  switch (*rc::gen::inRange(0, 16)) {
    case 0:
      return {random, random};
    case 1:
      return {hex, hex};
    case 2:
      return {random, "ghp_" + random};
    case 3:
      return {word, "glpat-" + word + "abcd"};
    case 4:
      return {random, "eyJhbGciOiJSUzI1NiJ9." + random + ".c2lnbmF0dXJl"};
    case 5:
      return {word, "https://user:" + word + "@git.example.com/repo"};
    case 6:
      return {word, "https://s3.example.com/file?X-Amz-Signature=" + word};
    case 7:
      return {word, "https://hooks.example.com/services/" + word};
    case 8:
      return {word, "-----BEGIN PRIVATE KEY-----\n" + word + "\n-----END PRIVATE KEY-----"};
    case 9:
      return {word, key + ": " + word};
    case 10:
      return {word, key + "=" + word};
    case 11:
      return {word, "{\"" + key + "\":\"" + word + "\",\"a\":1}"};
    case 12:
      return {word, "run --" + key + " " + word};
    case 13:
      return {word, "spec:\n  " + key + ": |\n    " + word + "\n  a: b"};
    case 14:
      return {word, key + "s:\n- " + word + "\n- x"};
    default:
      return {word, "{\"httpHeaders\":[{\"name\":\"X-Key\",\"value\":\"" + word + "\"}]}"};
  }
}

bool is_of_map(Shape shape) {
  return shape == Shape::labels || shape == Shape::notes || shape == Shape::amounts ||
         shape == Shape::settings;
}

// `leaf` where the path says, in objects and lists that are made on the way.
void put(Json& object, std::string_view path, const Json& leaf) {
  const size_t dot = path.find('.');
  std::string_view key = path.substr(0, dot);
  const bool list = key.ends_with("[]");
  if (list) key.remove_suffix(2);
  if (!object.is_object()) object = JsonObject{};
  Json& field = object.as_object()[key];
  if (list && !field.is_array()) field = JsonArray{Json(nullptr)};
  Json& place = list ? field.as_array()[0] : field;
  if (dot == std::string_view::npos) {
    place = leaf;
  } else {
    put(place, path.substr(dot + 1), leaf);
  }
}

std::vector<std::string> paths_of(std::string_view resource) {
  std::vector<std::string> paths;
  for (const KeptPart& part : kept_parts(resource)) {
    for (const KeptField& field : part.fields) {
      const std::string path = std::string(part.at) + std::string(field.path);
      if (!is_of_map(field.shape)) {
        paths.push_back(path);
        continue;
      }
      for (const char* key : {"nvidia,com/gpu", "lockstep,dev/paused", "vault,example/key", "app"})
        paths.push_back(path + "." + key);
    }
  }
  return paths;
}

// In a path a dot separates; keys of maps have theirs as a comma until they are planted.
Json with_dots(const Json& value) {
  if (value.is_array()) {
    JsonArray items;
    for (const Json& item : value.as_array()) items.push_back(with_dots(item));
    return items;
  }
  if (!value.is_object()) return value;
  JsonObject object;
  for (const auto& [key, field] : value.as_object()) {
    std::string name(key);
    std::replace(name.begin(), name.end(), ',', '.');
    object[name] = with_dots(field);
  }
  return object;
}

std::string arbitrary_resource() {
  const auto all = kept_resources();
  return std::string(all[*rc::gen::inRange<size_t>(0, all.size())]);
}

RC_GTEST_PROP(Redact, ASecretNeverSurvivesInAFieldThatIsKept, ()) {
  const std::string resource = arbitrary_resource();
  const auto paths = paths_of(resource);
  Json object = JsonObject{{"metadata", JsonObject{{"name", "lockstep-x"}}}};
  std::vector<Planted> planted;
  for (int i = 0; i < 8; ++i) {
    const Planted secret = arbitrary_secret();
    const std::string path = paths[*rc::gen::inRange<size_t>(0, paths.size())];
    const std::string before = *rc::gen::element<std::string>("", "failed with ", "{\"m\":\"");
    put(object, path, Json(before + secret.text));
    planted.push_back(secret);
  }
  const std::string text = print_json(redact_object(resource, with_dots(object)));
  for (const Planted& secret : planted) {
    RC_LOG() << resource << "\n" << secret.text << "\n" << text << "\n";
    RC_ASSERT(text.find(secret.core) == std::string::npos);
  }
}

// What no shape and no filter would find: a short word, as a value or a key, in fields that are not
// listed, beside and below those that are.
RC_GTEST_PROP(Redact, AWordInAFieldThatIsNotListedNeverSurvives, ()) {
  const std::string resource = arbitrary_resource();
  const auto paths = paths_of(resource);
  Json object = JsonObject{};
  for (int i = 0; i < 8; ++i) {
    std::string path = paths[*rc::gen::inRange<size_t>(0, paths.size())];
    const size_t dot = path.rfind('.');
    path = dot == std::string::npos ? "" : path.substr(0, dot + 1);
    path += *rc::gen::element<std::string>("data", "value", "command[]", "httpHeaders[].value",
                                           "auths.registry", "stringData.key", "webhook,url",
                                           "plainword.deep.value", "args[]", "last,applied/x");
    put(object, path, Json("plainword"));
  }
  const std::string text = print_json(redact_object(resource, with_dots(object)));
  RC_LOG() << resource << "\n" << print_json(object) << "\n" << text << "\n";
  RC_ASSERT(text.find("plainword") == std::string::npos);
}

RC_GTEST_PROP(Redact, ASecretNeverSurvivesInALogOrAReport, ()) {
  std::string log;
  std::vector<Planted> planted;
  for (int i = 0; i < 6; ++i) {
    planted.push_back(arbitrary_secret());
    log += *rc::gen::element<std::string>("", "I1119 12:40:39 main.go:12] ",
                                          "{\"level\":\"info\"} ", "time=12:40 msg=");
    log += planted.back().text + "\n";
  }
  const std::string text = redact_text(log);
  const std::string report = print_json(redact_report(JsonObject{{"evidence", JsonArray{log}}}));
  for (const Planted& secret : planted) {
    RC_LOG() << log << "\n" << text << "\n";
    RC_ASSERT(text.find(secret.core) == std::string::npos);
    RC_ASSERT(report.find(secret.core) == std::string::npos);
  }
}

// What an engineer asks for first.
TEST(Redact, WhatHelpsIsStillThere) {
  const std::string node = redacted(
      "nodes",
      R"x({"metadata":{"name":"gpu-7","labels":{"nvidia.com/gpu-driver-upgrade-state":)x"
      R"x("drain-required","nvidia.com/gpu.product":"NVIDIA-H100-80GB-HBM3"},"annotations":)x"
      R"x({"lockstep.dev/upgrade-failure":"DriverPodCrashes: exit code 1"}},"spec":{"unschedulable":)x"
      R"x(true},"status":{"conditions":[{"type":"Ready","status":"False","reason":)x"
      R"x("KubeletNotReady","message":"container runtime network not ready"}],"nodeInfo":)x"
      R"x({"kernelVersion":"5.15.0-105-generic","kubeletVersion":"v1.33.1"},)x"
      R"x("allocatable":{"nvidia.com/gpu":"8"}}})x");
  const std::string pod = redacted(
      "pods",
      R"x({"metadata":{"name":"nvidia-driver-daemonset-x2x4z"},"spec":{"nodeName":"gpu-7"},"status":)x"
      R"x({"phase":"Pending","containerStatuses":[{"name":"driver","restartCount":3,"image":)x"
      R"x("nvcr.io/nvidia/driver:580.126.20-ubuntu22.04","state":{"waiting":{"reason":)x"
      R"x("ImagePullBackOff","message":"Back-off pulling image"}}}]}})x");
  const std::string event = redacted(
      "events",
      R"x({"reason":"BlockedByDisruptionBudget","type":"Warning","message":)x"
      R"x("budget web allows no disruption","involvedObject":{"kind":"Node","name":"gpu-7"}})x");
  const std::string all = node + pod + event;
  for (const char* part :
       {"drain-required", "NVIDIA-H100-80GB-HBM3", "DriverPodCrashes: exit code 1",
        "KubeletNotReady", "container runtime network not ready", "5.15.0-105-generic",
        "\"nvidia.com/gpu\":\"8\"", "Pending", "ImagePullBackOff", "580.126.20-ubuntu22.04",
        "BlockedByDisruptionBudget", "budget web allows no disruption", "gpu-7"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

}  // namespace
}  // namespace lockstep::doctor::redact_test
