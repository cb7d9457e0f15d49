#include "gpu/worker.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <poll.h>
#include <unistd.h>

#include "gpu/kernels.h"
#include "gpu/nvml_facts.h"
#include "gpu/product_reference.h"

namespace lockstep::gpu {

namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool has(const WorkerOrders& orders, std::string_view check) {
  return std::find(orders.checks.begin(), orders.checks.end(), check) != orders.checks.end();
}

std::string_view name_of(Role role) {
  switch (role) {
    case Role::cuda:
      return "cuda";
    case Role::peer:
      return "peer";
    case Role::nvml:
      break;
  }
  return "nvml";
}

JsonArray texts(const std::vector<std::string>& list) {
  JsonArray array;
  for (const std::string& text : list) array.emplace_back(text);
  return array;
}

std::vector<std::string> list_at(const Json& value, std::string_view key) {
  std::vector<std::string> list;
  const Json* found = find(value, key);
  if (found == nullptr || !found->is_array()) return list;
  for (const Json& entry : found->as_array()) list.emplace_back(as_text(&entry));
  return list;
}

// True when `input` was closed, or something came in; after `milliseconds` at the latest.
bool told_to_stop(int input, int milliseconds) {
  pollfd wait{input, POLLIN, 0};
  return poll(&wait, 1, milliseconds) > 0;
}

// XIDs as NVML reports them.
class EventWatch {
 public:
  EventWatch(Nvml& nvml, const std::vector<NvmlGpu>& gpus) : nvml_(nvml) {
    if (nvml_.call("nvmlEventSetCreate", &set_) != nvml_abi::success) return;
    for (const NvmlGpu& gpu : gpus) {
      if (gpu.handle == nullptr) continue;
      watching_ = nvml_.call("nvmlDeviceRegisterEvents", gpu.handle, nvml_abi::xid_event, set_) ==
                      nvml_abi::success ||
                  watching_;
    }
  }
  bool watching() const { return watching_; }
  void collect(const std::vector<NvmlGpu>& gpus, JsonArray& xids) {
    nvml_abi::EventData event{};
    while (watching_ && nvml_.call("nvmlEventSetWait_v2", set_, &event, 0U) == nvml_abi::success) {
      std::string place;
      for (const NvmlGpu& gpu : gpus) {
        if (gpu.handle == event.device) place = gpu.uuid;
      }
      if (event.type == nvml_abi::xid_event)
        xids.emplace_back(JsonObject{{"code", event.data}, {"pci", place}, {"line", "NVML event"}});
    }
  }

 private:
  Nvml& nvml_;
  nvml_abi::EventSet set_ = nullptr;
  bool watching_ = false;
};

void watch_gpus(Nvml& nvml, const WorkerOrders& orders, const std::vector<NvmlGpu>& gpus, int input,
                Reporter& reporter) {
  const SnapshotParts parts{has(orders, "ecc"), has(orders, "nvlink")};
  std::optional<EventWatch> events;
  if (has(orders, "xid")) events.emplace(nvml, gpus);
  for (const NvmlGpu& gpu : gpus) {
    if (parts.ecc || parts.nvlink)
      reporter.fact({"gpus", gpu.uuid, "before"}, snapshot_of(nvml, gpu, parts));
  }
  JsonArray xids;
  std::vector<ClockWatch> clocks(gpus.size());
  const bool sampling = has(orders, "throttle");
  constexpr int between_samples = 30;
  do {
    for (size_t i = 0; sampling && i < gpus.size(); ++i) clocks[i].sample(nvml, gpus[i]);
    if (events) events->collect(gpus, xids);
  } while (!told_to_stop(input, between_samples));
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (parts.ecc || parts.nvlink)
      reporter.fact({"gpus", gpus[i].uuid, "after"}, snapshot_of(nvml, gpus[i], parts));
    if (sampling) {
      clocks[i].sample(nvml, gpus[i]);
      reporter.fact({"gpus", gpus[i].uuid, "clocks"}, clocks[i].facts());
    }
  }
  if (events) {
    events->collect(gpus, xids);
    reporter.fact({"nvml_xids"}, std::move(xids));
    reporter.fact({"nvml_events"}, events->watching());
  }
}

void run_nvml(const WorkerOrders& orders, int input, Reporter& reporter) {
  auto nvml = Nvml::open(orders.places, reporter);
  if (!nvml) {
    reporter.fact({"start_kind"}, Json(to_string(nvml.error().kind)));
    reporter.fact({"start"}, Json(nvml.error().text()));
    return;
  }
  auto gpus = list_gpus(*nvml, reporter);
  if (!gpus) {
    reporter.fact({"start_kind"}, Json(to_string(gpus.error().kind)));
    reporter.fact({"start"}, Json(gpus.error().text()));
    return;
  }
  for (const NvmlGpu& gpu : *gpus) reporter.fact({"all_gpus", gpu.uuid}, gpu.identity);
  reporter.fact({"listed"}, true);
  if (!orders.gpus.empty()) {
    std::erase_if(*gpus, [&](const NvmlGpu& gpu) {
      return std::find(orders.gpus.begin(), orders.gpus.end(), gpu.uuid) == orders.gpus.end();
    });
  }
  watch_gpus(*nvml, orders, *gpus, input, reporter);
}

// The CPU's part of the checks, begun before the driver is asked for anything: it takes as long as
// opening a context does.
struct References {
  std::future<Training> training;
  std::future<std::vector<double>> sums;
  unsigned sums_size = 0;
};

References begin_references(const WorkerOrders& orders) {
  References references;
  if (has(orders, "training")) {
    references.training = std::async(std::launch::async, [] {
      Training training;
      training.data = training_data();
      training.losses = reference_losses(training.data, training_steps, learning_rate);
      return training;
    });
  }
  if (has(orders, "inference")) {
    constexpr unsigned usual = 4096;
    const unsigned size = orders.measure.product_size > 0 ? orders.measure.product_size : usual;
    references.sums_size = size;
    references.sums =
        std::async(std::launch::async, [size] { return reference_sums(size, size, size); });
  }
  return references;
}

Result<JsonObject> measure(std::string_view check, CudaDevice& device, References& references,
                           const MeasureOptions& options) {
  if (check == "training") return measure_training(device, references.training.get(), options);
  if (check == "inference") {
    return measure_inference(
        device,
        [&](unsigned size) {
          return size == references.sums_size ? references.sums.get()
                                              : reference_sums(size, size, size);
        },
        options);
  }
  if (check == "memory") return measure_memory(device, options);
  return measure_pcie(device, options);
}

// All kernels that the checks need are compiled at the same time, the one that takes longest first.
void begin_loading(CudaDevice& device, const WorkerOrders& orders) {
  const bool training = has(orders, "training");
  const bool inference = has(orders, "inference");
  const bool memory = has(orders, "memory") || has(orders, "pcie");
  if (static_cast<int>(training) + static_cast<int>(inference) + static_cast<int>(memory) < 2)
    return;
  auto product = product_kernel(device.capability(), orders.measure.product);
  if (inference && product) {
    device.begin_loading(product->name, product->text);
    device.begin_loading("product", product_ptx);
  }
  if (training) device.begin_loading("training", training_ptx);
  if (memory) device.begin_loading("memory", memory_ptx);
}

Result<CudaDevice> open_first(Cuda& cuda, const std::string& uuid) {
  LOCKSTEP_TRY(int count, cuda.start());
  if (count == 0) return failf(gpu_failure, "CUDA does not see {}", uuid);
  return CudaDevice::open(cuda, 0);
}

void run_cuda(const WorkerOrders& orders, Reporter& reporter) {
  References references = begin_references(orders);
  const std::string uuid = orders.gpus.empty() ? "" : orders.gpus.front();
  auto cuda = Cuda::open(orders.places, reporter);
  std::optional<Result<CudaDevice>> device;
  if (cuda) device.emplace(open_first(*cuda, uuid));
  if (cuda && *device) begin_loading(**device, orders);
  for (const std::string& check : orders.checks) {
    if (!cuda || !*device) {
      reporter.trouble(check, cuda ? device->error() : cuda.error());
      continue;
    }
    reporter.doing(check);
    const double begin = now_seconds();
    auto facts = measure(check, **device, references, orders.measure);
    if (facts)
      reporter.fact({"gpus", uuid, check}, std::move(*facts));
    else
      reporter.trouble(check, facts.error());
    reporter.finished(check, now_seconds() - begin);
    if (!facts) (*device)->release();
  }
}

Result<JsonArray> compare_peers(const WorkerOrders& orders, Reporter& reporter) {
  LOCKSTEP_TRY(Cuda cuda, Cuda::open(orders.places, reporter));
  LOCKSTEP_TRY(int count, cuda.start());
  if (static_cast<size_t>(count) < orders.gpus.size())
    return failf(gpu_failure, "CUDA sees {} of {} GPUs", count, orders.gpus.size());
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    LOCKSTEP_TRY(CudaDevice device, CudaDevice::open(cuda, i));
    devices.push_back(std::move(device));
  }
  return measure_peers(devices, orders.gpus, orders.measure);
}

void run_peer(const WorkerOrders& orders, Reporter& reporter) {
  reporter.doing("peer");
  const double begin = now_seconds();
  auto pairs = compare_peers(orders, reporter);
  if (pairs)
    reporter.fact({"peers"}, std::move(*pairs));
  else
    reporter.trouble("peer", pairs.error());
  reporter.finished("peer", now_seconds() - begin);
}

// A byte at a time: what follows the line belongs to the code that waits for the end.
std::string read_line(int input) {
  std::string line;
  char next = 0;
  while (read(input, &next, 1) == 1 && next != '\n') line += next;
  return line;
}

}  // namespace

std::string orders_text(const WorkerOrders& orders) {
  JsonObject text{{"role", name_of(orders.role)},
                  {"checks", texts(orders.checks)},
                  {"gpus", texts(orders.gpus)},
                  {"library_directory", orders.places.directory},
                  {"root", orders.places.root},
                  {"budget_seconds", orders.measure.budget_seconds},
                  {"wrong", orders.measure.wrong},
                  {"product", orders.measure.product},
                  {"product_size", orders.measure.product_size},
                  {"copy_bytes", orders.measure.copy_bytes}};
  return print_json(Json(std::move(text)));
}

Result<WorkerOrders> read_orders(std::string_view text) {
  LOCKSTEP_TRY(Json document, parse_json(text));
  WorkerOrders orders;
  const std::string_view role = text_at(document, "role");
  bool known = false;
  for (Role candidate : {Role::nvml, Role::cuda, Role::peer}) {
    if (role != name_of(candidate)) continue;
    orders.role = candidate;
    known = true;
  }
  if (!known) return failf(ErrorKind::invalid, "a worker was given the role \"{}\"", role);
  orders.checks = list_at(document, "checks");
  orders.gpus = list_at(document, "gpus");
  orders.places.directory = text_at(document, "library_directory");
  orders.places.root = text_at(document, "root");
  const Json* budget = find(document, "budget_seconds");
  if (budget != nullptr && budget->is_number()) orders.measure.budget_seconds = as_number(*budget);
  orders.measure.wrong = text_at(document, "wrong");
  orders.measure.product = text_at(document, "product");
  orders.measure.product_size = static_cast<unsigned>(as_integer(find(document, "product_size")));
  orders.measure.copy_bytes =
      static_cast<size_t>(as_integer(find(document, "copy_bytes"), 64 << 20));
  return orders;
}

int run_worker(int input, int output) {
  Reporter reporter(write_lines_to(output));
  auto orders = read_orders(read_line(input));
  if (!orders) {
    reporter.fact({"start"}, Json(orders.error().text()));
    return 2;
  }
  switch (orders->role) {
    case Role::nvml:
      run_nvml(*orders, input, reporter);
      break;
    case Role::cuda:
      run_cuda(*orders, reporter);
      break;
    case Role::peer:
      run_peer(*orders, reporter);
      break;
  }
  return 0;
}

}  // namespace lockstep::gpu
