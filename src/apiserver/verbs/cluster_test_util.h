// A cluster for tests: the backend with its background controllers, in virtual time.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/housekeeping.h"
#include "world/random.h"
#include "world/virtual_loop.h"

namespace lockstep::apiserver {

inline Json from_text(std::string_view text) {
  auto parsed = parse_json(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text()) << "\n" << text;
  return parsed ? *parsed : Json();
}

struct TestCluster {
  explicit TestCluster(Options options = {})
      : backend(loop, random, options), housekeeping(backend) {
    housekeeping.make_namespaces();
  }

  Outcome<Answer> send(const kube::Request& request) { return handle(backend, request, caller); }
  // The object that a request answers with; fails the test when it is refused.
  Json ok(const kube::Request& request) {
    auto answer = send(request);
    if (!answer) {
      ADD_FAILURE() << request.describe() << ": " << answer.error().code << " "
                    << answer.error().message;
      return JsonObject{};
    }
    if (auto* stored = std::get_if<StoredPtr>(&answer->body)) return (*stored)->json();
    if (auto* value = std::get_if<Json>(&answer->body)) return *value;
    return JsonObject{};
  }
  StatusError refused(const kube::Request& request) {
    auto answer = send(request);
    if (answer) {
      ADD_FAILURE() << request.describe() << " was not refused";
      return {};
    }
    return answer.error();
  }
  Json create(const ResourceType& type, const std::string& ns, std::string_view text) {
    return ok(kube::create(type, ns, from_text(text)));
  }
  Json get(const ResourceType& type, const ObjectKey& key) { return ok(kube::get(type, key)); }
  bool exists(const ResourceType& type, const ObjectKey& key) {
    return send(kube::get(type, key)).has_value();
  }
  // Lets the background controllers finish.
  void settle() { loop.run_for(seconds(1)); }

  std::string add_pod(const std::string& name, std::string_view labels = "{}",
                      std::string_view node = "gpu-1", bool ready = true) {
    ok(kube::create(resource::pods, "default",
                    from_text(fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}},
                      "spec":{{"nodeName":"{}","containers":[{{"name":"c","image":"i"}}]}}}})",
                                          name, labels, node))));
    kube::Request status = kube::patch(
        resource::pods, {"default", name}, kube::PatchType::merge,
        from_text(fmt::format(
            R"({{"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
            ready ? "True" : "False")));
    status.subresource = "status";
    ok(status);
    return name;
  }

  VirtualLoop loop{1};
  SeededRandom random{1};
  Backend backend;
  Housekeeping housekeeping;
  Caller caller{"tester", {}, "test/1.0"};
};

}  // namespace lockstep::apiserver
