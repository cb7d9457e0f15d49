// The DRA plugin's executable as a kubelet meets it: real gRPC, the embedded API server, a fake
// driver with 8 GPUs. Wall time, as the kubelet's.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "child.h"
#include "dra/state_files.h"
#include "dra_node.h"
#include "measure.h"

namespace lockstep::dra {
namespace {

constexpr int gpus = 8;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values.at(
      std::min(values.size() - 1, static_cast<size_t>(part * static_cast<double>(values.size()))));
}

// A claim that has all GPUs, or one.
KubeletClaim make_claim(DraNode& node, const std::string& name, int first, int count) {
  std::string results;
  for (int i = first; i < first + count; ++i) {
    results += fmt::format(R"({}{{"request":"gpu","driver":"gpu.lockstep.dev","pool":"gpu-1",
                               "device":"gpu-{}"}})",
                           i == first ? "" : ",", i);
  }
  Json made = node.must(kube::create(
      resource::resource_claims, "default",
      *parse_json(fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"devices":{{"requests":[
                {{"name":"gpu","exactly":{{"deviceClassName":"gpu"}}}}]}}}}}})",
                              name))));
  kube::Request status = kube::patch(
      resource::resource_claims, {"default", name}, kube::PatchType::merge,
      *parse_json(fmt::format(
          R"({{"status":{{"allocation":{{"devices":{{"results":[{}],"config":[]}}}}}}}})",
          results)));
  status.subresource = "status";
  node.must(status);
  return {"default", std::string(text_at(made, "metadata", "uid")), name};
}

void require(bool is_so, const char* what) {
  if (is_so) return;
  fmt::print(stderr, "dra_bench: {}\n", what);
  std::exit(1);
}

bool is_prepared(DraNode& node, const KubeletClaim& claim, size_t devices) {
  auto answer = node.kubelet().prepare({claim});
  return answer && answer->at(claim.uid).error.empty() &&
         answer->at(claim.uid).devices.size() == devices;
}

// The processor time of a process so far.
double used_ms(pid_t pid) {
  auto text = SystemFiles().read(fmt::format("/proc/{}/stat", pid));
  if (!text) return 0;
  // After the name, which may have spaces: the 12th and 13th word are its time and the kernel's.
  constexpr int user_time = 12;
  const char* at = text->c_str() + text->rfind(')') + 1;
  for (int word = 1; word < user_time; ++word) at = std::strchr(at + 1, ' ');
  char* next = nullptr;
  double ticks = std::strtod(at, &next) + std::strtod(next, nullptr);
  constexpr double milliseconds_of_second = 1000;
  return ticks * milliseconds_of_second / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Prepares {
  std::vector<double> times;
  // A call for no claims after each of them: what the machine makes of a call that does nothing.
  std::vector<double> empty_calls;
};

Prepares prepare_eight(DraNode& node) {
  constexpr int rounds = 1000;
  KubeletClaim claim = make_claim(node, "eight", 0, gpus);
  Prepares prepares;
  for (int i = 0; i < rounds; ++i) {
    double begin = now_ms();
    require(is_prepared(node, claim, gpus), "a claim was not prepared");
    prepares.times.push_back(now_ms() - begin);
    require(node.kubelet().unprepare({claim}).has_value(), "a claim was not unprepared");
    begin = now_ms();
    require(node.kubelet().prepare({}).has_value(), "an empty call failed");
    prepares.empty_calls.push_back(now_ms() - begin);
  }
  return prepares;
}

// A p99 of wall time is that of the machine too: the empty calls say how much of it.
void report_prepares(const std::string& where, const Prepares& prepares) {
  bench::report(where + "prepare of a claim with 8 GPUs, median", quantile(prepares.times, 0.5),
                "ms");
  bench::report("a call for no claims, median", quantile(prepares.empty_calls, 0.5), "ms");
  bench::report("the same, p99", quantile(prepares.empty_calls, 0.99), "ms");
}

constexpr int rate_rounds = 50;

double claims_per_second(DraNode& node) {
  std::vector<KubeletClaim> claims;
  for (int i = 0; i < gpus; ++i) claims.push_back(make_claim(node, fmt::format("c-{}", i), i, 1));
  double begin = now_ms();
  for (int i = 0; i < rate_rounds; ++i) {
    for (const KubeletClaim& claim : claims) {
      require(is_prepared(node, claim, 1), "a claim was not prepared");
    }
    for (const KubeletClaim& claim : claims) {
      require(node.kubelet().unprepare({claim}).has_value(), "a claim was not unprepared");
    }
  }
  constexpr double milliseconds_of_second = 1000;
  return rate_rounds * gpus / ((now_ms() - begin) / milliseconds_of_second);
}

// As a kubelet that starts eight pods at a time: the calls share their wait for the disk.
double parallel_claims_per_second(DraNode& node) {
  constexpr int rounds = 25;
  std::vector<KubeletClaim> claims;
  for (int i = 0; i < gpus; ++i) claims.push_back(make_claim(node, fmt::format("p-{}", i), i, 1));
  auto all_at_once = [&](const std::function<void(const KubeletClaim&)>& call) {
    std::vector<std::thread> threads;
    for (const KubeletClaim& claim : claims) threads.emplace_back(call, claim);
    for (std::thread& thread : threads) thread.join();
  };
  double begin = now_ms();
  for (int i = 0; i < rounds; ++i) {
    all_at_once([&](const KubeletClaim& claim) {
      require(is_prepared(node, claim, 1), "a claim was not prepared");
    });
    all_at_once([&](const KubeletClaim& claim) {
      require(node.kubelet().unprepare({claim}).has_value(), "a claim was not unprepared");
    });
  }
  constexpr double milliseconds_of_second = 1000;
  return rounds * gpus / ((now_ms() - begin) / milliseconds_of_second);
}

// One appended line as the checkpoint's, synced, without any of our code around it.
double synced_line_ms() {
  constexpr int rounds = 50;
  SystemStateFiles files;
  const std::string path = "/tmp/lockstep-dra-bench-line";
  require(files.write(path, "", 0600).has_value(), "a file was not written");
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    double begin = now_ms();
    require(files.append(path, std::string(400, 'x')).has_value(), "a line was not written");
    times.push_back(now_ms() - begin);
  }
  require(files.remove(path).has_value(), "a file was not removed");
  return quantile(times, 0.5);
}

// From the new driver's files being there until the cluster's slice says its version.
std::vector<double> driver_changes(DraNode& node) {
  constexpr int rounds = 10;
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    bool is_new = i % 2 == 0;
    node.unload_driver();
    require(node.wait([&] { return !node.taints().empty(); }), "the taint did not come");
    node.load_driver(is_new ? new_driver : old_driver);
    double begin = now_ms();
    const std::string version = is_new ? "580.105.8" : "580.95.5";
    while (node.driver_in_slice() != version || !node.taints().empty()) {
      require(now_ms() - begin < 30'000, "the slice did not come");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    times.push_back(now_ms() - begin);
  }
  return times;
}

double memory_megabytes(pid_t pid) {
  auto text = SystemFiles().read(fmt::format("/proc/{}/status", pid));
  if (!text) return 0;
  size_t at = text->find("VmHWM:");
  constexpr double kilobytes_of_megabyte = 1024;
  return std::strtod(text->c_str() + at + sizeof("VmHWM:") - 1, nullptr) / kilobytes_of_megabyte;
}

// What the plugin itself takes: the disk's own time, which its checkpoint waits for, is left out by
// keeping everything in memory.
void measure_plugin() {
  DraNode node(gpus);
  node.start_plugin();
  node.wait_ready();
  Prepares prepares = prepare_eight(node);
  double before = used_ms(node.plugin().pid());
  double rate = claims_per_second(node);
  double used = (used_ms(node.plugin().pid()) - before) / (rate_rounds * gpus);
  std::vector<double> changes = driver_changes(node);
  report_prepares("", prepares);
  bench::report_at_most("prepare of a claim with 8 GPUs, p99", quantile(prepares.times, 0.99), "ms",
                        10);
  bench::report("the plugin's processor time for a claim, prepared and unprepared", used, "ms");
  bench::report_at_least("claims prepared and unprepared", rate, "a second", 100);
  bench::report_at_most("driver usable until its slice is published, median",
                        quantile(changes, 0.5), "ms", 1000);
  bench::report_at_most("the same, longest of 10", quantile(changes, 1), "ms", 1000);
  bench::report_at_most("memory at its highest", memory_megabytes(node.plugin().pid()), "MB", 40);
}

void measure_disk() {
  DraNode node(gpus);
  node.start_plugin();
  node.wait_ready();
  Prepares prepares = prepare_eight(node);
  report_prepares("with this machine's disk: ", prepares);
  bench::report("prepare of a claim with 8 GPUs, p99", quantile(prepares.times, 0.99), "ms");
  bench::report("claims prepared and unprepared, one after the other", claims_per_second(node),
                "a second");
  bench::report("the same, eight calls at a time", parallel_claims_per_second(node), "a second");
  bench::report("one line appended and synced there, median", synced_line_ms(), "ms");
}

}  // namespace
}  // namespace lockstep::dra

int main() {
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_BENCH_PROGRAM, 0);
  setenv("FAKE_DRIVERS", LOCKSTEP_BENCH_DRIVERS, 0);
  // Where GoogleTest's temporary folders are.
  setenv("TEST_TMPDIR", "/dev/shm/", 1);
  lockstep::dra::measure_plugin();
  setenv("TEST_TMPDIR", "/tmp/", 1);
  lockstep::dra::measure_disk();
  return lockstep::bench::missed > 0 ? 1 : 0;
}
