#include "apiserver/verbs/writing.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::writing_test {
namespace {

constexpr std::string_view a_node = R"({"metadata":{"name":"gpu-1","labels":{"a":"1"}},"spec":{}})";

kube::Request patch_node(kube::PatchType type, std::string_view text) {
  return kube::patch(resource::nodes, {"", "gpu-1"}, type, from_text(text));
}

TEST(Writing, CreateFillsInWhatOnlyTheServerKnows) {
  TestCluster cluster;
  Json node = cluster.create(resource::nodes, "", a_node);
  EXPECT_EQ(text_at(node, "kind"), "Node");
  EXPECT_EQ(text_at(node, "apiVersion"), "v1");
  EXPECT_EQ(text_at(node, "metadata", "uid").size(), 36U);
  EXPECT_FALSE(text_at(node, "metadata", "creationTimestamp").empty());
  EXPECT_FALSE(text_at(node, "metadata", "resourceVersion").empty());
}

TEST(Writing, GenerateNameMakesANameAndNoNameIsRefused) {
  TestCluster cluster;
  Json made =
      cluster.create(resource::config_maps, "default", R"({"metadata":{"generateName":"web-"}})");
  EXPECT_EQ(text_at(made, "metadata", "name").substr(0, 4), "web-");
  EXPECT_EQ(text_at(made, "metadata", "name").size(), 9U);
  auto error = cluster.refused(kube::create(resource::config_maps, "default", from_text("{}")));
  EXPECT_EQ(error.code, 422);
}

TEST(Writing, TheSameNameTwiceAlreadyExists) {
  TestCluster cluster;
  cluster.create(resource::nodes, "", a_node);
  auto error = cluster.refused(kube::create(resource::nodes, "", from_text(a_node)));
  EXPECT_EQ(error.code, 409);
  EXPECT_EQ(error.reason, "AlreadyExists");
}

TEST(Writing, ANamespaceMustExist) {
  TestCluster cluster;
  auto error = cluster.refused(
      kube::create(resource::config_maps, "nowhere", from_text(R"({"metadata":{"name":"x"}})")));
  EXPECT_EQ(error.code, 404);
  EXPECT_EQ(error.message, "namespaces \"nowhere\" not found");
}

TEST(Writing, AnUpdateFromAnOldVersionConflicts) {
  TestCluster cluster;
  Json old = cluster.create(resource::nodes, "", a_node);
  cluster.ok(patch_node(kube::PatchType::merge, R"({"metadata":{"labels":{"b":"2"}}})"));
  auto error = cluster.refused(kube::update(resource::nodes, {"", "gpu-1"}, old));
  EXPECT_EQ(error.code, 409);
  EXPECT_EQ(error.reason, "Conflict");
  EXPECT_NE(error.message.find("the object has been modified"), std::string::npos);
}

TEST(Writing, APatchMayCarryTheVersionItIsBasedOn) {
  TestCluster cluster;
  Json node = cluster.create(resource::nodes, "", a_node);
  std::string version(text_at(node, "metadata", "resourceVersion"));
  std::string patch =
      fmt::format(R"({{"metadata":{{"resourceVersion":"{}","labels":{{"b":"2"}}}}}})", version);
  cluster.ok(patch_node(kube::PatchType::merge, patch));
  EXPECT_EQ(cluster.refused(patch_node(kube::PatchType::merge, patch)).code, 409);
}

TEST(Writing, AWriteThatChangesNothingMakesNoVersion) {
  TestCluster cluster;
  Json node = cluster.create(resource::nodes, "", a_node);
  Json same =
      cluster.ok(patch_node(kube::PatchType::merge, R"({"metadata":{"labels":{"a":"1"}}})"));
  EXPECT_EQ(text_at(node, "metadata", "resourceVersion"),
            text_at(same, "metadata", "resourceVersion"));
}

TEST(Writing, AllFourPatches) {
  TestCluster cluster;
  cluster.create(resource::nodes, "", a_node);
  Json node = cluster.ok(patch_node(kube::PatchType::json,
                                    R"([{"op":"add","path":"/spec/unschedulable","value":true}])"));
  EXPECT_TRUE(as_bool(find(node, "spec", "unschedulable")));
  node = cluster.ok(patch_node(kube::PatchType::merge, R"({"spec":{"unschedulable":null}})"));
  EXPECT_EQ(find(node, "spec", "unschedulable"), nullptr);
  node = cluster.ok(patch_node(kube::PatchType::strategic,
                               R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})"));
  node = cluster.ok(patch_node(kube::PatchType::strategic,
                               R"({"spec":{"taints":[{"key":"b","effect":"NoSchedule"}]}})"));
  EXPECT_EQ(find(node, "spec", "taints")->as_array().size(), 1U)
      << "taints are replaced, as the real API does";
  node = cluster.ok(patch_node(kube::PatchType::apply, R"({"metadata":{"labels":{"owned":"yes"}}})")
                        .with("fieldManager", "tests"));
  EXPECT_EQ(text_at(node, "metadata", "labels", "owned"), "yes");
}

TEST(Writing, StrategicPatchMergesContainersByName) {
  TestCluster cluster;
  cluster.create(
      resource::pods, "default",
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})");
  Json pod =
      cluster.ok(kube::patch(resource::pods, {"default", "p"}, kube::PatchType::strategic,
                             from_text(R"({"spec":{"containers":[{"name":"b","image":"2"}]}})")));
  const auto& containers = find(pod, "spec", "containers")->as_array();
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(text_at(containers[0], "image"), "1");
  EXPECT_EQ(text_at(containers[1], "image"), "2");
}

TEST(Writing, ABrokenPatchIsRefusedAndChangesNothing) {
  TestCluster cluster;
  Json node = cluster.create(resource::nodes, "", a_node);
  EXPECT_EQ(
      cluster.refused(patch_node(kube::PatchType::json, R"([{"op":"remove","path":"/no/such"}])"))
          .code,
      422);
  EXPECT_EQ(cluster.refused(patch_node(kube::PatchType::merge, "[]")).code, 400);
  EXPECT_EQ(cluster
                .refused(patch_node(kube::PatchType::json,
                                    R"([{"op":"replace","path":"/metadata","value":3}])"))
                .code,
            400);
  EXPECT_EQ(text_at(cluster.get(resource::nodes, {"", "gpu-1"}), "metadata", "resourceVersion"),
            text_at(node, "metadata", "resourceVersion"));
}

TEST(Writing, ABrokenPatchIsRefusedInTheWordsOfTheRealServer) {
  TestCluster cluster;
  cluster.create(resource::nodes, "", a_node);
  auto message = [&](kube::PatchType type, std::string_view patch) {
    return cluster.refused(patch_node(type, patch)).message;
  };
  EXPECT_EQ(message(kube::PatchType::json, R"([{"op":"remove","path":"/no/such"}])"),
            "the server rejected our request due to an error in our request");
  EXPECT_EQ(message(kube::PatchType::merge, "3"), "Invalid JSON Patch");
  EXPECT_EQ(message(kube::PatchType::strategic, R"("text")"),
            "json: cannot unmarshal string into Go value of type map[string]interface {}");
  EXPECT_EQ(message(kube::PatchType::strategic, R"({"spec":{"unschedulable":"yes"}})"),
            " \"\" is invalid: patch: Invalid value: \"map[spec:map[unschedulable:yes]]\": cannot "
            "convert "
            "string to bool");
  EXPECT_EQ(message(kube::PatchType::strategic, R"({"spec":{"podCIDR":5}})"),
            " \"\" is invalid: patch: Invalid value: \"map[spec:map[podCIDR:5]]\": cannot convert "
            "int64 to string");
  EXPECT_EQ(message(kube::PatchType::merge, R"({"spec":{"podCIDR":5}})").find("cannot convert"),
            std::string::npos)
      << "that is read as JSON";
}

TEST(Writing, WhoCreatesAnObjectDoesNotOwnItsStatus) {
  TestCluster cluster;
  Json pod = cluster.create(resource::pods, "default", R"({"metadata":{"name":"p"},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(text_at(pod, "status", "phase"), "Pending");
  EXPECT_EQ(text_at(pod, "status", "qosClass"), "BestEffort");
  const Json& entry = find(pod, "metadata", "managedFields")->as_array().at(0);
  EXPECT_NE(find(entry, "fieldsV1", "f:spec"), nullptr);
  EXPECT_EQ(find(entry, "fieldsV1", "f:status"), nullptr);
}

TEST(Writing, ApplyWithoutAManagerIsRefused) {
  TestCluster cluster;
  EXPECT_EQ(cluster.refused(patch_node(kube::PatchType::apply, a_node)).code, 422);
}

TEST(Writing, ApplyCreatesWhatIsNotThere) {
  TestCluster cluster;
  auto answer =
      cluster.send(patch_node(kube::PatchType::apply, a_node).with("fieldManager", "tests"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->code, 201);
}

TEST(Writing, DryRunChecksEverythingAndKeepsNothing) {
  TestCluster cluster;
  cluster.ok(kube::create(resource::nodes, "", from_text(a_node)).with("dryRun", "All"));
  EXPECT_FALSE(cluster.exists(resource::nodes, {"", "gpu-1"}));
  EXPECT_EQ(
      cluster.refused(kube::create(resource::nodes, "", from_text(a_node)).with("dryRun", "Some"))
          .code,
      422);
}

TEST(Writing, AnUnknownFieldIsRefusedWhenStrictAndWarnedOfOtherwise) {
  TestCluster cluster;
  constexpr std::string_view text = R"({"metadata":{"name":"n"},"spec":{"unschedulabel":true}})";
  auto strict = cluster.refused(
      kube::create(resource::nodes, "", from_text(text)).with("fieldValidation", "Strict"));
  EXPECT_EQ(strict.code, 400);
  EXPECT_NE(strict.message.find("unknown field \"spec.unschedulabel\""), std::string::npos)
      << strict.message;
  auto warned = cluster.send(kube::create(resource::nodes, "", from_text(text)));
  ASSERT_TRUE(warned);
  ASSERT_EQ(warned->warnings.size(), 1U);
  EXPECT_EQ(find(std::get<StoredPtr>(warned->body)->json(), "spec", "unschedulabel"), nullptr);
}

TEST(Writing, StatusAndSpecAreWrittenThroughTheirOwnDoors) {
  TestCluster cluster;
  cluster.add_pod("p");
  Json pod = cluster.ok(
      kube::patch(resource::pods, {"default", "p"}, kube::PatchType::merge,
                  from_text(R"({"metadata":{"labels":{"x":"y"}},"status":{"phase":"Failed"}})")));
  EXPECT_EQ(text_at(pod, "status", "phase"), "Running");
  EXPECT_EQ(text_at(pod, "metadata", "labels", "x"), "y");
  kube::Request status =
      kube::patch(resource::pods, {"default", "p"}, kube::PatchType::merge,
                  from_text(R"({"spec":{"nodeName":"other"},"status":{"phase":"Failed"}})"));
  status.subresource = "status";
  pod = cluster.ok(status);
  EXPECT_EQ(text_at(pod, "status", "phase"), "Failed");
  EXPECT_EQ(text_at(pod, "spec", "nodeName"), "gpu-1");
}

TEST(Writing, GenerationCountsChangesOfTheSpecOnly) {
  TestCluster cluster;
  Json set =
      cluster.create(resource::daemon_sets, "default",
                     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"1"}]}}}})");
  EXPECT_EQ(as_integer(find(set, "metadata", "generation")), 1);
  set = cluster.ok(kube::patch(resource::daemon_sets, {"default", "d"}, kube::PatchType::merge,
                               from_text(R"({"metadata":{"labels":{"x":"y"}}})")));
  EXPECT_EQ(as_integer(find(set, "metadata", "generation")), 1);
  set = cluster.ok(kube::patch(
      resource::daemon_sets, {"default", "d"}, kube::PatchType::strategic,
      from_text(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"2"}]}}}})")));
  EXPECT_EQ(as_integer(find(set, "metadata", "generation")), 2);
}

TEST(Writing, APodIsBoundOnce) {
  TestCluster cluster;
  cluster.create(resource::pods, "default",
                 R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  kube::Request bind =
      kube::create(resource::pods, "default",
                   from_text(R"({"kind":"Binding","target":{"kind":"Node","name":"gpu-1"}})"));
  bind.name = "p";
  bind.subresource = "binding";
  cluster.ok(bind);
  EXPECT_EQ(text_at(cluster.get(resource::pods, {"default", "p"}), "spec", "nodeName"), "gpu-1");
  EXPECT_EQ(cluster.refused(bind).code, 409);
}

TEST(Writing, ABoundPodNoLongerSaysWhyItCouldNotBePlaced) {
  TestCluster cluster;
  cluster.create(resource::pods, "default",
                 R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  kube::Request status =
      kube::patch(resource::pods, {"default", "p"}, kube::PatchType::merge,
                  from_text(R"({"status":{"conditions":[{"type":"PodScheduled","status":"False",
                    "reason":"Unschedulable","message":"no node"}]}})"));
  status.subresource = "status";
  cluster.ok(status);
  kube::Request bind =
      kube::create(resource::pods, "default",
                   from_text(R"({"kind":"Binding","target":{"kind":"Node","name":"gpu-1"}})"));
  bind.name = "p";
  bind.subresource = "binding";
  cluster.ok(bind);
  Json pod = cluster.get(resource::pods, {"default", "p"});
  const JsonArray& conditions = pod.at("status").at("conditions").as_array();
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(text_at(conditions[0], "status"), "True");
  EXPECT_EQ(text_at(conditions[0], "reason"), "");
}

TEST(Writing, GenerationsOfResourceSlicesAreCounted) {
  TestCluster cluster;
  Json slice = cluster.create(resource::resource_slices, "",
                              R"({"metadata":{"name":"s"},"spec":{"driver":"d","nodeName":"n",
      "pool":{"name":"n","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"}]}})");
  EXPECT_EQ(as_integer(find(slice, "metadata", "generation")), 1);
  slice = cluster.ok(kube::patch(resource::resource_slices, {"", "s"}, kube::PatchType::merge,
                                 from_text(R"({"spec":{"pool":{"generation":2}}})")));
  EXPECT_EQ(as_integer(find(slice, "metadata", "generation")), 2);
}

TEST(Writing, RemovingTheLastFinalizerOfATerminatingObjectEndsIt) {
  TestCluster cluster;
  cluster.create(resource::config_maps, "default",
                 R"({"metadata":{"name":"c","finalizers":["a.b/c"]}})");
  cluster.ok(kube::remove(resource::config_maps, {"default", "c"}));
  ASSERT_TRUE(cluster.exists(resource::config_maps, {"default", "c"}));
  auto added =
      cluster.refused(kube::patch(resource::config_maps, {"default", "c"}, kube::PatchType::merge,
                                  from_text(R"({"metadata":{"finalizers":["a.b/c","d.e/f"]}})")));
  EXPECT_EQ(added.code, 422);
  cluster.ok(kube::patch(resource::config_maps, {"default", "c"}, kube::PatchType::merge,
                         from_text(R"({"metadata":{"finalizers":[]}})")));
  EXPECT_FALSE(cluster.exists(resource::config_maps, {"default", "c"}));
}

}  // namespace
}  // namespace lockstep::apiserver::writing_test
