#include "dra/plugin.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dra/claim_notes.h"
#include "http/prometheus.h"

namespace lockstep::dra {

namespace {

constexpr Duration xids_every = seconds(1);
constexpr Duration lock_limit = seconds(10);
constexpr Duration leftovers_retry = seconds(5);
constexpr std::string_view temporary_prefix = ".lockstep-";

kube::EventRecorderOptions event_options(const PluginOptions& options) {
  kube::EventRecorderOptions recorder;
  recorder.component = "lockstep-dra-plugin";
  recorder.instance = options.node;
  return recorder;
}

SliceSettings slice_settings(const PluginOptions& options) {
  SliceSettings settings;
  settings.driver = options.driver;
  settings.node = options.node;
  return settings;
}

std::string event_reason(FailureClass kind) {
  switch (kind) {
    case FailureClass::transient:
      return "PrepareFailed";
    case FailureClass::device_failed:
      return "PrepareFailedDevice";
    case FailureClass::bad_config:
      return "PrepareFailedBadConfig";
  }
  return "";
}

}  // namespace

std::string claim_of_cdi_file(const CdiOptions& options, const std::string& name) {
  std::string prefix = fmt::format("{}-{}_", options.vendor, options.device_class);
  const std::string suffix = ".json";
  bool is_ours = name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
                 name.ends_with(suffix);
  if (!is_ours) return "";
  return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
}

Plugin::Plugin(PluginParts parts, PluginOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      events_(parts_.api, parts_.loop, parts_.random, parts_.log, event_options(options_)) {
  publisher_ = std::make_unique<SlicePublisher>(parts_.api, parts_.loop, parts_.random, parts_.log,
                                                slice_settings(options_));
  publisher_->on_dropped_taints([this] {
    events_.record(node_reference(), kube::EventType::warning, "DeviceTaintsDropped",
                   "This API server drops the taints of devices: broken devices are left out of "
                   "the ResourceSlice instead, and devices whose driver is away cannot be kept "
                   "from the scheduler. Kubernetes 1.36 keeps taints.");
  });
  watch_ = std::make_unique<DriverWatch>(
      parts_.loop, parts_.log, parts_.probe, options_.watch,
      DriverWatch::Listener{
          [this](const Inventory& inventory, bool is_new) { on_inventory(inventory, is_new); },
          [this](const std::string& why) { on_away(why); }});
  PreparerOptions preparer;
  preparer.driver = options_.driver;
  preparer.cdi = options_.cdi;
  options_.claims.driver = options_.driver;
  claims_ = std::make_unique<ClaimService>(
      parts_.loop, parts_.api, parts_.files, parts_.log, parts_.lock, parts_.checkpoint,
      static_cast<DeviceSource&>(*this), preparer, options_.claims,
      ClaimService::Surroundings{[this] { return watch_->is_current_now(); },
                                 [this] { return watch_->why_away(); },
                                 [this](const ClaimVerdict& verdict) { on_verdict(verdict); },
                                 [this](std::vector<SliceWanted> wanted, Duration limit,
                                        const std::function<void(Result<void>)>& done) {
                                   set_time_slices(std::move(wanted), limit, done);
                                 },
                                 [this](Duration limit, std::function<void(bool)> told) {
                                   publisher_->when_published(limit, std::move(told));
                                 }});
}

Plugin::~Plugin() = default;

void Plugin::start() {
  publisher_->start();
  watch_->start();
  reconcile();
  parts_.loop.after(xids_every, scope_.bind([this] { look_for_xids(); }));
}

// ---------------------------------------------------------------------------------- the driver

void Plugin::on_inventory(const Inventory& inventory, bool is_new) {
  if (is_new) {
    inventory_ = inventory;
    health_state_.forget_xids();
  } else {
    inventory_ = keep_lost_gpus(inventory_, inventory);
  }
  has_inventory_ = true;
  bool is_changed = health_state_.observe(inventory_, parts_.loop.now());
  if (health_state_.wants_confirmation()) watch_->check_soon(options_.watch.confirm_after);
  if (is_new) on_new_driver();
  if (is_new || is_changed) publish();
}

void Plugin::on_new_driver() {
  const DriverState& state = watch_->state();
  libraries_ = library_mounts(options_.edits, state.library_folder,
                              parts_.list_folder(state.library_folder), inventory_.driver_version);
  parts_.log.info("the driver is usable", {{"version", inventory_.driver_version},
                                           {"devices", std::to_string(inventory_.gpus.size())}});
  events_.record(node_reference(), kube::EventType::normal, "DriverUsable",
                 fmt::format("Driver {} is usable: {} devices.", inventory_.driver_version,
                             inventory_.gpus.size()));
  claims_->with_state(lock_limit, scope_.bind([this](bool is_ours) {
    if (!is_ours) return;
    // Containers that start again in their old sandbox are not prepared again: they get what the
    // spec says now.
    auto failed = claims_->preparer().rewrite_specs();
    specs_renewed_ += parts_.checkpoint.entries().size() - failed.size();
    specs_not_renewed_ += failed.size();
    for (const std::string& claim : failed) {
      parts_.log.warning("the CDI spec of a prepared claim stays as it was", {{"claim", claim}});
    }
    set_slices_anew();
  }));
}

// The driver before took them with it.
void Plugin::set_slices_anew() {
  std::vector<SliceWanted> wanted;
  for (const auto& [uid, entry] : parts_.checkpoint.entries()) {
    for (const PreparedDevice& device : entry.devices) {
      auto slice = time_slice_of(device.time_slice);
      if (slice && *slice != TimeSlice::usual) wanted.push_back({device.device, *slice});
    }
  }
  if (wanted.empty()) return;
  set_time_slices(std::move(wanted), lock_limit, [this](const Result<void>& set) {
    if (set) return;
    parts_.log.warning("a GPU's time slice cannot be set", {{"error", set.error().text()}});
  });
}

void Plugin::set_time_slices(std::vector<SliceWanted> wanted, Duration limit,
                             const std::function<void(Result<void>)>& done) {
  if (wanted.empty()) return done({});
  const SliceWanted first = wanted.front();
  wanted.erase(wanted.begin());
  const Gpu* gpu = inventory_.find(first.device);
  if (gpu == nullptr || !watch_->is_current()) {
    return done(fail(ErrorKind::unreachable, "the driver is away"));
  }
  const Duration began = parts_.loop.uptime();
  auto next = scope_.bind([this, wanted, limit, began, done](Result<void> set) {
    if (!set) return done(std::move(set));
    const Duration left = limit - (parts_.loop.uptime() - began);
    set_time_slices(wanted, std::max(left, milliseconds(1)), done);
  });
  parts_.slicer.set(watch_->state(), gpu->uuid, first.slice, limit, next);
}

void Plugin::on_away(const std::string& why) {
  // At its start: what an earlier process published is not tainted for the moment that NVML takes.
  if (!has_inventory_ && watch_->is_being_asked()) return;
  parts_.log.info("the driver is away", {{"why", why}});
  publish();
}

void Plugin::publish() {
  SliceWish wish;
  if (has_inventory_) wish.inventory = inventory_;
  wish.conditions = health_state_.conditions();
  wish.driver_away = !watch_->is_current();
  publisher_->want(std::move(wish));
  if (health_told_) health_told_();
}

void Plugin::look_for_xids() {
  for (const gpu::Xid& xid : parts_.new_xids()) {
    if (health_state_.note_fatal_xid(inventory_, xid.pci, xid.code)) {
      parts_.log.warning("the driver reported a fatal XID",
                         {{"code", std::to_string(xid.code)}, {"pci", xid.pci}});
      watch_->check_soon(Duration(0));
    }
  }
  parts_.loop.after(xids_every, scope_.bind([this] { look_for_xids(); }));
}

tl::expected<CdiEdits, DeviceProblem> Plugin::find(const std::string& pool,
                                                   const std::string& device,
                                                   const GpuConfig& config) {
  auto give_up = [](FailureClass kind, std::string reason) {
    return tl::make_unexpected(DeviceProblem{kind, std::move(reason)});
  };
  if (!watch_->is_current()) return give_up(FailureClass::transient, watch_->why_away());
  const Gpu* gpu = pool == options_.node ? inventory_.find(device) : nullptr;
  if (gpu == nullptr) {
    return give_up(FailureClass::device_failed, "the driver knows no such device");
  }
  auto condition = health_state_.conditions().find(device);
  if (condition != health_state_.conditions().end() && condition->second.broken) {
    return give_up(FailureClass::device_failed, condition->second.reason);
  }
  return device_edits(options_.edits, *gpu, inventory_.driver_version, libraries_, config);
}

bool Plugin::is_character_device(const std::string& path) const {
  // The path is the host's; we may see it elsewhere.
  const std::string& host = options_.edits.host_root;
  bool is_below = !host.empty() && path.starts_with(host + "/");
  return parts_.is_character_device(options_.dev_root +
                                    (is_below ? path.substr(host.size()) : path));
}

std::vector<DeviceReport> Plugin::health() const {
  std::vector<DeviceReport> reports;
  for (const Gpu& gpu : inventory_.gpus) {
    DeviceReport report;
    report.pool = options_.node;
    report.device = gpu.name;
    auto condition = health_state_.conditions().find(gpu.name);
    if (condition != health_state_.conditions().end()) {
      report.updated = condition->second.updated;
      report.message = condition->second.reason;
      report.status = condition->second.broken ? DeviceReport::Status::unhealthy
                                               : DeviceReport::Status::healthy;
    }
    if (!watch_->is_current() && report.status != DeviceReport::Status::unhealthy) {
      report.status = DeviceReport::Status::unknown;
      report.message = watch_->why_away();
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

// ------------------------------------------------------------------------------- at the start

void Plugin::reconcile() {
  claims_->with_state(lock_limit, scope_.bind([this](bool is_ours) {
    if (!is_ours) {
      parts_.loop.after(leftovers_retry, scope_.bind([this] { reconcile(); }));
      return;
    }
    remove_leftovers();
    forget_claims_that_are_gone();
  }));
}

// Files that a killed process did not finish, and specs of claims that are not prepared.
void Plugin::remove_leftovers() {
  for (const std::string& name : parts_.list_folder(options_.cdi.directory)) {
    std::string uid = claim_of_cdi_file(options_.cdi, name);
    bool is_orphan = !uid.empty() && parts_.checkpoint.find(uid) == nullptr;
    if (!is_orphan && !name.starts_with(temporary_prefix)) continue;
    parts_.log.warning("a file of a claim that is not prepared is removed", {{"file", name}});
    remove_file(options_.cdi.directory + "/" + name);
  }
  for (const std::string& name : parts_.list_folder(options_.state_folder)) {
    if (name.starts_with(temporary_prefix)) remove_file(options_.state_folder + "/" + name);
  }
}

void Plugin::remove_file(const std::string& path) {
  if (auto removed = parts_.files.remove(path); !removed) {
    parts_.log.warning("a file cannot be removed", {{"error", removed.error().text()}});
  }
}

// A claim that no longer exists has no pod: the kubelet that would have said so may have forgotten.
void Plugin::forget_claims_that_are_gone() {
  for (const auto& [uid, entry] : parts_.checkpoint.entries()) {
    auto look =
        scope_.bind([this, claim = ClaimName{entry.ns, uid, entry.name}](kube::Reply reply) {
          auto document = kube::document_of(std::move(reply));
          bool is_gone = document ? text_at(**document, "metadata", "uid") != claim.uid
                                  : document.error().kind == ErrorKind::not_found;
          if (!is_gone) return;
          parts_.log.warning("a prepared claim does not exist any more: it is unprepared",
                             {{"claim", claim.text()}});
          claims_->unprepare({claim}, lock_limit, [](const UnprepareAnswer&) {});
        });
    parts_.api.call(kube::get(resource::resource_claims, {entry.ns, entry.name}), look);
  }
}

// ------------------------------------------------------------------------- what users are told

ObjectReference Plugin::node_reference() const {
  ObjectReference node;
  node.api_version = "v1";
  node.kind = "Node";
  node.name = options_.node;
  // As the kubelet does it: events of a node are found by its name.
  node.uid = options_.node;
  return node;
}

void Plugin::on_verdict(const ClaimVerdict& verdict) {
  if (verdict.failure) {
    ObjectReference claim;
    claim.api_version = "resource.k8s.io/v1";
    claim.kind = "ResourceClaim";
    claim.ns = verdict.claim.ns;
    claim.name = verdict.claim.name;
    claim.uid = verdict.claim.uid;
    events_.record(claim, kube::EventType::warning, event_reason(verdict.failure->kind),
                   describe(*verdict.failure, options_.driver));
  }
  if (!verdict.document || text_at(*verdict.document, "metadata", "uid") != verdict.claim.uid) {
    return;
  }
  auto patch =
      claim_status_patch(*verdict.document, options_.driver, verdict.failure, parts_.loop.now());
  if (!patch) return;
  kube::Request request =
      kube::patch(resource::resource_claims, {verdict.claim.ns, verdict.claim.name},
                  kube::PatchType::apply, std::move(*patch));
  request.subresource = "status";
  request.with("fieldManager", "lockstep-dra-plugin").with("force", "true");
  parts_.api.call(std::move(request), scope_.bind([this](kube::Reply reply) {
    auto noted = kube::document_of(std::move(reply));
    if (noted) return;
    parts_.log.warning("a claim's condition cannot be written", {{"error", noted.error().text()}});
  }));
}

std::string Plugin::why_not_ready() const {
  if (!watch_->is_current()) return watch_->why_away();
  return publisher_->is_published() ? "" : "the node's ResourceSlice is not published";
}

std::string Plugin::metrics() const {
  http::PrometheusText out;
  const ClaimCounts& counts = claims_->counts();
  auto failed = [&counts](FailureClass kind) {
    auto found = counts.failed.find(kind);
    return found == counts.failed.end() ? 0 : found->second;
  };
  auto broken = std::count_if(health_state_.conditions().begin(), health_state_.conditions().end(),
                              [](const auto& entry) { return entry.second.broken; });
  out.counter("lockstep_dra_claims_prepared_total", "Claims answered as prepared.")
      .sample(counts.prepared);
  out.counter("lockstep_dra_prepare_failures_total", "Claims that could not be prepared.")
      .sample(failed(FailureClass::transient), {{"class", "transient"}})
      .sample(failed(FailureClass::device_failed), {{"class", "device_failed"}})
      .sample(failed(FailureClass::bad_config), {{"class", "bad_config"}});
  out.counter("lockstep_dra_claims_unprepared_total", "Claims answered as unprepared.")
      .sample(counts.unprepared);
  out.counter("lockstep_dra_unprepare_failures_total", "Claims that could not be unprepared.")
      .sample(counts.unprepare_failed);
  out.gauge("lockstep_dra_claims_held", "Claims in the checkpoint.")
      .sample(parts_.checkpoint.entries().size());
  out.gauge("lockstep_dra_devices", "Devices that the driver knows.")
      .sample(inventory_.gpus.size());
  out.gauge("lockstep_dra_devices_broken", "Devices that are not fit.").sample(broken);
  out.gauge("lockstep_dra_driver_usable", "NVML and the kernel module agree.")
      .sample(watch_->is_current());
  out.counter("lockstep_dra_driver_changes_total", "Changes of the driver that were seen.")
      .sample(watch_->changes());
  out.counter("lockstep_dra_specs_renewed_total", "CDI specs renewed for a new driver.")
      .sample(specs_renewed_);
  out.counter("lockstep_dra_specs_not_renewed_total", "CDI specs that stayed as they were.")
      .sample(specs_not_renewed_);
  out.counter("lockstep_dra_slice_writes_total", "Writes of ResourceSlices.")
      .sample(publisher_->counts().writes);
  out.gauge("lockstep_dra_taints_dropped", "The API server drops the taints of devices.")
      .sample(publisher_->drops_taints());
  return out.text();
}

}  // namespace lockstep::dra
