// A node with a plugin on it, in virtual time: the embedded API, files in memory, a driver that is
// loaded and taken out by a test.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/housekeeping.h"
#include "apiserver/verbs/in_process_api.h"
#include "apiserver/verbs/tester_test_util.h"
#include "dra/dra_test_util.h"
#include "dra/plugin.h"
#include "kube/fault_api.h"
#include "world/virtual_loop.h"

namespace lockstep::dra {

struct MemoryLock final : StateLock {
  bool try_lock() override { return !taken_elsewhere && !std::exchange(taken, true); }
  void unlock() override { taken = false; }
  bool taken = false;
  bool taken_elsewhere = false;
};

struct FakeProbe final : DriverProbe {
  explicit FakeProbe(Loop& on) : loop(on) { load("580.95.05"); }
  DriverState state() override { return now; }
  void ask(const DriverState& asked, std::function<void(Result<Inventory>)> done) override {
    Result<Inventory> answer = inventory;
    if (inventory.driver_version != asked.module_version) {
      answer = fail(ErrorKind::conflict, "Driver/library version mismatch");
    }
    loop.after(milliseconds(100), [done, answer] { done(answer); });
  }
  void load(const std::string& version) {
    now = {version, fmt::format("load-{}", ++loads), "/lib", "/lib/nvml", "1:1", "boot"};
    inventory.driver_version = version;
    inventory.cuda_version = "13.0";
  }
  void unload() {
    now.module_version.clear();
    now.module_load.clear();
  }

  Loop& loop;
  DriverState now;
  Inventory inventory;
  int loads = 0;
};

// Remembers what each GPU was set to; answers a moment later.
struct FakeSlicer final : TimeSlicer {
  explicit FakeSlicer(Loop& on) : loop(on) {}
  void set(const DriverState&, const std::string& gpu_uuid, TimeSlice slice, Duration,
           std::function<void(Result<void>)> done) override {
    loop.after(milliseconds(300), [this, gpu_uuid, slice, done] {
      if (broken) return done(fail(ErrorKind::internal, "nvidia-smi ended with code 4"));
      slices[gpu_uuid] = std::string(to_string(slice));
      done({});
    });
  }
  Loop& loop;
  std::map<std::string, std::string> slices;  // by UUID
  bool broken = false;
};

class PluginScene {
 public:
  explicit PluginScene(uint64_t seed = 1)
      : loop(seed),
        random(seed + 1000),
        backend(loop, random, {}),
        housekeeping(backend),
        inner_(backend, {"plugin", {}, "plugin"}),
        api(inner_, loop, faults),
        probe(loop),
        slicer(loop) {
    housekeeping.make_namespaces();
    must(kube::create(resource::namespaces, "", json_of(R"({"metadata":{"name":"ml"}})")));
    must(kube::create(resource::nodes, "", json_of(R"({"metadata":{"name":"gpu-1"}})")));
    for (int i = 0; i < 2; ++i) {
      Gpu gpu;
      gpu.minor = i;
      gpu.name = fmt::format("gpu-{}", i);
      gpu.uuid = fmt::format("GPU-{}", i);
      gpu.product = "NVIDIA H200";
      gpu.pci = fmt::format("00000000:0{}:00.0", i + 1);
      gpu.recovery_action = 0;
      probe.inventory.gpus.push_back(gpu);
    }
    options.node = "gpu-1";
    options.state_folder = "/state";
  }

  void start() {
    stop();
    auto opened = Checkpoint::open(files, "/state/checkpoint", "boot", log);
    ASSERT_TRUE(opened) << opened.error().text();
    checkpoint.emplace(std::move(*opened));
    plugin = std::make_unique<Plugin>(
        PluginParts{loop, through != nullptr ? *through : api, random, log, files, lock,
                    *checkpoint, probe, slicer,
                    [this](const std::string& folder) { return names_in(folder); },
                    [this](const std::string& path) { return !missing.contains(path); },
                    [this] { return std::exchange(xids, {}); }},
        options);
    plugin->start();
    loop.run_for(seconds(2));
  }
  void stop() { plugin.reset(); }

  // As the scheduler leaves it.
  void allocate(const std::string& name, const std::string& device,
                const std::string& parameters = "") {
    must(kube::create(resource::resource_claims, "ml",
                      json_of(fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"devices":{{
                        "requests":[{{"name":"gpu","exactly":{{"deviceClassName":"gpu"}}}}]}}}}}})",
                                          name))));
    std::string config =
        parameters.empty()
            ? "[]"
            : fmt::format(R"([{{"source":"FromClaim","opaque":{{"driver":"gpu.lockstep.dev",
                               "parameters":{}}}}}])",
                          parameters);
    kube::Request status = kube::patch(
        resource::resource_claims, {"ml", name}, kube::PatchType::merge,
        json_of(fmt::format(
            R"({{"status":{{"reservedFor":[{{"resource":"pods","name":"p-{0}","uid":"x"}}],
                 "allocation":{{"devices":{{"results":[{{"request":"gpu",
                 "driver":"gpu.lockstep.dev","pool":"gpu-1","device":"{1}"}}],"config":{2}}}}}}}}})",
            name, device, config)));
    status.subresource = "status";
    must(status);
  }
  ClaimName claim(const std::string& name) {
    Json object = must(kube::get(resource::resource_claims, {"ml", name}));
    return {"ml", std::string(text_at(object, "metadata", "uid")), name};
  }
  PrepareAnswer prepare(const std::vector<ClaimName>& claims, Duration limit = seconds(40)) {
    std::optional<PrepareAnswer> answer;
    plugin->claims().prepare(claims, limit, [&](PrepareAnswer came) { answer = std::move(came); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, limit)) << "no answer in time";
    return answer.value_or(PrepareAnswer{});
  }
  PrepareOutcome prepare(const std::string& name, Duration limit = seconds(40)) {
    ClaimName wanted = claim(name);
    return prepare(std::vector<ClaimName>{wanted}, limit)[wanted.uid];
  }
  UnprepareAnswer unprepare(const std::vector<ClaimName>& claims, Duration limit = seconds(40)) {
    std::optional<UnprepareAnswer> answer;
    plugin->claims().unprepare(claims, limit,
                               [&](UnprepareAnswer came) { answer = std::move(came); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, limit)) << "no answer in time";
    return answer.value_or(UnprepareAnswer{});
  }

  std::vector<Json> slices() {
    std::vector<Json> items;
    Json list = must(kube::list(resource::resource_slices));
    for (const Json& item : find(list, "items")->as_array()) items.push_back(item);
    return items;
  }
  // "gpu-0: key:effect", of the one slice.
  std::vector<std::string> taints() {
    std::vector<std::string> all;
    for (const Json& slice : slices()) {
      for (const Json& device : find(slice, "spec", "devices")->as_array()) {
        const Json* taints = find(device, "taints");
        if (taints == nullptr) continue;
        for (const Json& taint : taints->as_array()) {
          all.push_back(fmt::format("{}: {}:{}", text_at(device, "name"), text_at(taint, "key"),
                                    text_at(taint, "effect")));
        }
      }
    }
    return all;
  }
  std::vector<std::string> event_reasons() {
    std::vector<std::string> reasons;
    Json list = must(kube::list(resource::events));
    for (const Json& event : find(list, "items")->as_array()) {
      reasons.emplace_back(text_at(event, "reason"));
    }
    return reasons;
  }
  std::string spec_of(const ClaimName& of) {
    auto found = files.contents.find(cdi_file(options.cdi, of.uid));
    return found == files.contents.end() ? "" : found->second;
  }

  Json must(const kube::Request& request) { return apiserver::must_answer(request, send(request)); }
  kube::Response send(const kube::Request& request) {
    return apiserver::send_as_tester(backend, request);
  }
  static Json json_of(std::string_view text) { return apiserver::json_of(text); }

  VirtualLoop loop;
  SeededRandom random;
  apiserver::Backend backend;
  apiserver::Housekeeping housekeeping;
  kube::ScriptedFaults faults;

 private:
  std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& [path, content] : files.contents) {
      if (path.starts_with(folder + "/")) names.push_back(path.substr(folder.size() + 1));
    }
    return names;
  }
  apiserver::InProcessApi inner_;

 public:
  kube::FaultApi api;
  kube::Api* through = nullptr;  // what the plugin is given instead
  MemoryStateFiles files;
  MemoryLog log;
  MemoryLock lock;
  FakeProbe probe;
  FakeSlicer slicer;
  std::set<std::string> missing;  // device files that are not there
  std::vector<gpu::Xid> xids;
  PluginOptions options;
  std::optional<Checkpoint> checkpoint;
  std::unique_ptr<Plugin> plugin;
};

}  // namespace lockstep::dra
