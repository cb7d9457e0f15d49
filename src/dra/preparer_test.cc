#include "dra/preparer.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dra/dra_test_util.h"

namespace lockstep::dra::preparer_test {
namespace {

const std::string checkpoint_path = "/plugin/checkpoint";

// A node with its disk, its API and its devices; the plugin on it can be killed and started.
struct PreparerTest : ::testing::Test, ClaimSource, DeviceSource {
  Result<Document> read(const ClaimName& claim) override {
    ++reads;
    if (api_error) return fail(*api_error);
    auto found = claims.find(claim.name);
    if (found == claims.end()) return fail(ErrorKind::not_found, "no such claim");
    return std::make_shared<const Json>(*parse_json(found->second));
  }
  tl::expected<CdiEdits, DeviceProblem> find(const std::string&, const std::string& device,
                                             const GpuConfig& config) override {
    ++finds;
    configs[device] = config;
    if (auto broken = problems.find(device); broken != problems.end()) {
      return tl::make_unexpected(broken->second);
    }
    CdiEdits edits;
    if (!offers_nothing) edits.device_nodes = {{"/dev/" + device, ""}};
    return edits;
  }
  bool is_character_device(const std::string& path) const override {
    return !missing_nodes.contains(path);
  }

  // As the scheduler allocates it: one device for each request.
  static std::string claim_json(const std::string& uid, const std::vector<std::string>& devices,
                                const std::string& config = "[]", const std::string& more = "") {
    std::string results;
    for (size_t i = 0; i < devices.size(); ++i) {
      results += fmt::format(
          R"({}{{"request":"r{}","driver":"gpu.lockstep.dev","pool":"node-1","device":"{}"{}}})",
          i == 0 ? "" : ",", i, devices[i], more);
    }
    return fmt::format(
        R"({{"metadata":{{"uid":"{}"}},"status":{{"allocation":{{"devices":{{"results":[{},
             {{"request":"n","driver":"nic.example.com","pool":"p","device":"../nic"}}],
             "config":{}}}}}}}}})",
        uid, results, config);
  }
  static std::string opaque(const std::string& sharing, const std::string& requests = "[]") {
    return fmt::format(
        R"({{"requests":{},"opaque":{{"driver":"gpu.lockstep.dev","parameters":
             {{"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig","sharing":{}}}}}}})",
        requests, sharing);
  }

  void start() {
    auto opened = Checkpoint::open(files, checkpoint_path, "boot", log);
    ASSERT_TRUE(opened) << opened.error().text();
    checkpoint.emplace(std::move(*opened));
    preparer.emplace(*this, *this, files, *checkpoint, PreparerOptions{});
  }
  ClaimPreparer::Prepared prepare(const std::string& name) {
    return preparer->prepare({"ml", "uid-" + name, name});
  }
  bool has_spec(const std::string& name) {
    return disk.contents.contains(cdi_file({}, "uid-" + name));
  }
  void expect_failure(const std::string& name, FailureClass kind, const std::string& reason) {
    auto prepared = prepare(name);
    ASSERT_FALSE(prepared) << name;
    EXPECT_EQ(prepared.error().kind, kind) << prepared.error().reason;
    EXPECT_EQ(prepared.error().reason, reason);
    EXPECT_EQ(prepared.error().claim, "ml/" + name);
    EXPECT_FALSE(has_spec(name));
  }

  MemoryFiles disk;
  CrashingFiles files{disk};
  MemoryLog log;
  std::map<std::string, std::string> claims = {{"a", claim_json("uid-a", {"gpu-0", "gpu-1"})},
                                               {"b", claim_json("uid-b", {"gpu-1"})}};
  std::map<std::string, DeviceProblem> problems;
  std::map<std::string, GpuConfig> configs;
  std::set<std::string> missing_nodes;
  std::optional<Error> api_error;
  bool offers_nothing = false;
  int reads = 0;
  int finds = 0;
  std::optional<Checkpoint> checkpoint;
  std::optional<ClaimPreparer> preparer;
};

TEST_F(PreparerTest, AClaimIsPreparedOnceAndAnsweredAlike) {
  start();
  auto first = prepare("a");
  ASSERT_TRUE(first) << first.error().reason;
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ(first->at(0).requests, (std::vector<std::string>{"r0"}));
  EXPECT_EQ(first->at(0).cdi_ids, (std::vector<std::string>{"gpu.lockstep.dev/claim=uid-a-gpu-0"}));
  EXPECT_TRUE(has_spec("a"));
  int before = files.steps;
  auto second = prepare("a");
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, *first);
  EXPECT_EQ(files.steps, before) << "nothing is written again";
  EXPECT_EQ(reads, 1);
  start();
  EXPECT_EQ(*prepare("a"), *first) << "also by the next process";
}

TEST_F(PreparerTest, OnlyTheConfigurationOfAClassSetsAnyVariable) {
  const char* config = R"([{{"source":"{}","opaque":{{"driver":"gpu.lockstep.dev",
      "parameters":{{"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig",
      "environment":{{"MINE":"1"}}}}}}}}])";
  claims["a"] = claim_json("uid-a", {"gpu-0"}, fmt::format(fmt::runtime(config), "FromClass"));
  claims["b"] = claim_json("uid-b", {"gpu-1"}, fmt::format(fmt::runtime(config), "FromClaim"));
  start();
  EXPECT_TRUE(prepare("a"));
  auto refused = prepare("b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, FailureClass::bad_config);
}

TEST_F(PreparerTest, SpecsAreMadeAnewForANewDriverWithWhatTheClaimAskedFor) {
  claims["a"] = claim_json("uid-a", {"gpu-0"}, R"([{"opaque":{"driver":"gpu.lockstep.dev",
      "parameters":{"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig",
      "environment":{"NCCL_DEBUG":"a=b"}}}}])");
  start();
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(preparer->prepare({"ml", "uid-a", "a"})->at(0).environment,
            (std::vector<std::string>{"NCCL_DEBUG=a=b"}));
  start();
  configs.clear();
  disk.contents[cdi_file({}, "uid-a")] = "of the old driver";
  EXPECT_TRUE(preparer->rewrite_specs().empty());
  EXPECT_NE(disk.contents[cdi_file({}, "uid-a")].find("/dev/gpu-0"), std::string::npos);
  EXPECT_EQ(configs["gpu-0"].environment,
            (std::map<std::string, std::string>{{"NCCL_DEBUG", "a=b"}}));
  problems["gpu-0"] = {FailureClass::device_failed, "lost"};
  disk.contents[cdi_file({}, "uid-a")] = "as it was";
  EXPECT_EQ(preparer->rewrite_specs(), (std::vector<std::string>{"ml/a"}));
  EXPECT_EQ(disk.contents[cdi_file({}, "uid-a")], "as it was");
}

TEST_F(PreparerTest, ALostSpecIsMadeAnew) {
  start();
  ASSERT_TRUE(prepare("a"));
  std::string spec = disk.contents[cdi_file({}, "uid-a")];
  disk.contents.erase(cdi_file({}, "uid-a"));
  ASSERT_TRUE(prepare("a"));
  EXPECT_EQ(disk.contents[cdi_file({}, "uid-a")], spec);
}

TEST_F(PreparerTest, UnpreparingAsksNobodyAndIsAlwaysASuccess) {
  start();
  ASSERT_TRUE(prepare("a"));
  api_error = Error{ErrorKind::unreachable, "gone", ""};
  problems["gpu-0"] = {FailureClass::transient, "no driver"};
  int reads_before = reads;
  int finds_before = finds;
  ASSERT_TRUE(preparer->unprepare("uid-a"));
  EXPECT_FALSE(has_spec("a"));
  EXPECT_TRUE(checkpoint->entries().empty());
  EXPECT_TRUE(preparer->unprepare("uid-a"));
  EXPECT_TRUE(preparer->unprepare("never heard of"));
  EXPECT_TRUE(preparer->unprepare("../../etc/passwd"));
  EXPECT_EQ(reads, reads_before);
  EXPECT_EQ(finds, finds_before);
}

TEST_F(PreparerTest, ADeviceOfAnotherClaimIsRefusedUntilItIsGivenBack) {
  start();
  ASSERT_TRUE(prepare("a"));
  expect_failure("b", FailureClass::transient, "it is prepared for claim ml/a");
  ASSERT_TRUE(preparer->unprepare("uid-a"));
  EXPECT_TRUE(prepare("b"));
}

TEST_F(PreparerTest, ManyClaimsWaitForTheDiskOnceAndDoNotGetTheSameDevice) {
  claims["c"] = claim_json("uid-c", {"gpu-2"});
  start();
  int before = files.steps;
  auto answers = preparer->prepare(std::vector<ClaimName>{{"ml", "uid-a", "a"},
                                                          {"ml", "uid-b", "b"},
                                                          {"ml", "uid-none", "none"},
                                                          {"ml", "uid-c", "c"}});
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_TRUE(answers[0]);
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().reason, "it is prepared for claim ml/a");
  EXPECT_FALSE(answers[2]);
  EXPECT_TRUE(answers[3]);
  EXPECT_EQ(files.steps - before, 5 + 2 * 3) << "one line to the checkpoint, two specs";
  before = files.steps;
  auto undone = preparer->unprepare(std::vector<std::string>{"uid-a", "../evil", "uid-b", "uid-c"});
  EXPECT_EQ(files.steps - before, 2 * 2 + 5);
  for (const auto& one : undone) EXPECT_TRUE(one);
  EXPECT_TRUE(checkpoint->entries().empty());
}

TEST_F(PreparerTest, ALostSpecCostsNoWriteOfTheCheckpoint) {
  start();
  ASSERT_TRUE(prepare("a"));
  disk.contents.erase(cdi_file({}, "uid-a"));
  std::string written = disk.contents[checkpoint_path];
  ASSERT_TRUE(prepare("a"));
  EXPECT_TRUE(has_spec("a"));
  EXPECT_EQ(disk.contents[checkpoint_path], written);
}

TEST_F(PreparerTest, AdministratorsAndSharesStandBeside) {
  claims["watch"] = claim_json("uid-watch", {"gpu-1"}, "[]", R"(,"adminAccess":true)");
  claims["s1"] = claim_json("uid-s1", {"gpu-7"}, "[]", R"(,"shareID":"1")");
  claims["s2"] = claim_json("uid-s2", {"gpu-7"}, "[]", R"(,"shareID":"2")");
  claims["s2-too"] = claim_json("uid-s2-too", {"gpu-7"}, "[]", R"(,"shareID":"2")");
  start();
  for (const char* name : {"a", "watch", "s1", "s2"}) EXPECT_TRUE(prepare(name)) << name;
  expect_failure("s2-too", FailureClass::transient, "it is prepared for claim ml/s2");
}

TEST_F(PreparerTest, EachFailureIsOfItsKindAndLeavesNothing) {
  start();
  expect_failure("none", FailureClass::transient, "the claim cannot be read (not found)");
  claims["old"] = claim_json("uid-another", {"gpu-0"});
  expect_failure("old", FailureClass::transient, "another claim has its name now");
  claims["waits"] = R"({"metadata":{"uid":"uid-waits"}})";
  expect_failure("waits", FailureClass::transient, "it is not allocated");
  claims["foreign"] = claim_json("uid-foreign", {});
  claims["foreign"].replace(claims["foreign"].find("[,"), 2, "[");
  expect_failure("foreign", FailureClass::transient, "no device of this driver is in it");
  claims["escapes"] = claim_json("uid-escapes", {"../../../etc/passwd"});
  expect_failure("escapes", FailureClass::bad_config, "one of its devices has an invalid name");
  claims["odd"] = claim_json("uid-odd", {"gpu-0"}, "[" + opaque(R"({"strategy":"Odd"})") + "]");
  expect_failure(
      "odd", FailureClass::bad_config,
      "sharing.strategy: unknown value \"Odd\"; expected one of: Exclusive, TimeSlicing");
  problems["gpu-1"] = {FailureClass::device_failed, "the GPU is lost"};
  expect_failure("b", FailureClass::device_failed, "the GPU is lost");
  EXPECT_EQ(prepare("b").error().device, "gpu-1");
  problems.clear();
  missing_nodes = {"/dev/gpu-1"};
  expect_failure("b", FailureClass::transient, "/dev/gpu-1 is no device file now");
  missing_nodes.clear();
  offers_nothing = true;
  expect_failure("b", FailureClass::transient, "the driver offers nothing to give to a container");
  offers_nothing = false;
  files.refuse_writes = true;
  expect_failure("b", FailureClass::transient, "the checkpoint cannot be written");
  files.refuse_writes = false;
  EXPECT_TRUE(checkpoint->entries().empty());
  EXPECT_TRUE(prepare("b"));
}

TEST_F(PreparerTest, TheLastConfigurationForARequestCounts) {
  std::string slicing = R"({"strategy":"TimeSlicing"})";
  std::string exclusive = R"({"strategy":"Exclusive"})";
  claims["c"] =
      claim_json("uid-c", {"gpu-0", "gpu-1"},
                 "[" + opaque(slicing) + "," + opaque(exclusive, R"(["r1"])") +
                     R"(,{"opaque":{"driver":"nic.example.com","parameters":{"any":"thing"}}}])");
  start();
  ASSERT_TRUE(prepare("c"));
  EXPECT_EQ(configs["gpu-0"].sharing, Sharing::time_slicing);
  EXPECT_EQ(configs["gpu-1"].sharing, Sharing::exclusive);
  ASSERT_TRUE(preparer->unprepare("uid-c"));
  claims["twice"] =
      claim_json("uid-twice", {"gpu-0", "gpu-0"}, "[" + opaque(slicing, R"(["r0"])") + "]");
  expect_failure("twice", FailureClass::bad_config,
                 "two requests want device gpu-0 set up in two ways");
  claims["twice"] = claim_json("uid-twice", {"gpu-0", "gpu-0"});
  auto prepared = prepare("twice");
  ASSERT_TRUE(prepared) << prepared.error().reason;
  ASSERT_EQ(prepared->size(), 1u);
  EXPECT_EQ(prepared->at(0).requests, (std::vector<std::string>{"r0", "r1"}));
}

// Every place at which a process can be killed in a call, and what may come next.
TEST_F(PreparerTest, KilledAnywhereInAPrepareTheNextProcessServes) {
  start();
  auto calm = prepare("a");
  ASSERT_TRUE(calm);
  std::string spec = disk.contents[cdi_file({}, "uid-a")];
  int places = 0;
  for (bool again : {true, false}) {
    for (int place = 0;; ++place) {
      disk.contents.clear();
      start();
      files.steps_left = place;
      bool killed = false;
      try {
        (void)prepare("a");
      } catch (const Crash&) {
        killed = true;
      }
      files.steps_left.reset();
      if (!killed) break;
      ++places;
      start();
      if (again) {
        auto prepared = prepare("a");
        ASSERT_TRUE(prepared) << place << ": " << prepared.error().reason;
        EXPECT_EQ(*prepared, *calm) << place;
        EXPECT_EQ(disk.contents[cdi_file({}, "uid-a")], spec) << place;
      }
      ASSERT_TRUE(preparer->unprepare("uid-a")) << place;
      // The plugin's start removes it: PluginTest.WhatAKilledProcessLeftIsRemoved….
      disk.contents.erase("/var/run/cdi/.lockstep-half");
      EXPECT_EQ(disk.contents.size(), 1u) << "only the checkpoint is left, at " << place;
      EXPECT_TRUE(prepare("b")) << place;
    }
  }
  EXPECT_EQ(places, 16) << "a line and a spec: before, in the middle of and after each, twice";
}

TEST_F(PreparerTest, KilledAnywhereInAnUnprepareTheNextProcessServes) {
  int places = 0;
  for (bool again : {true, false}) {
    for (int place = 0;; ++place) {
      disk.contents.clear();
      start();
      ASSERT_TRUE(prepare("a"));
      files.steps_left = place;
      bool killed = false;
      try {
        (void)preparer->unprepare("uid-a");
      } catch (const Crash&) {
        killed = true;
      }
      files.steps_left.reset();
      if (!killed) break;
      ++places;
      start();
      // The kubelet asks again, or the same pod is restarted.
      if (!again) {
        EXPECT_TRUE(prepare("a")) << place;
        EXPECT_TRUE(has_spec("a"));
      }
      ASSERT_TRUE(preparer->unprepare("uid-a")) << place;
      EXPECT_FALSE(has_spec("a"));
      EXPECT_TRUE(prepare("b")) << place;
    }
  }
  EXPECT_EQ(places, 14) << "a file removed and a line, twice";
}

}  // namespace
}  // namespace lockstep::dra::preparer_test
