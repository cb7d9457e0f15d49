#include "dra/preparer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::dra {

// A device as the allocation names it, and how it is to be set up.
struct ClaimPreparer::Wanted {
  PreparedDevice device;
  GpuConfig config;
};

namespace {

const JsonArray* array_at(const Json& json, std::string_view first, std::string_view second,
                          std::string_view third, std::string_view fourth) {
  const Json* found = find(json, first, second, third, fourth);
  return found == nullptr || !found->is_array() ? nullptr : &found->get_array();
}

// A request, or one of the alternatives under it ("gpu/large" under "gpu").
bool names_request(const Json& names, std::string_view request) {
  if (!names.is_array() || names.get_array().empty()) return true;
  return std::any_of(names.get_array().begin(), names.get_array().end(), [&](const Json& name) {
    std::string_view text = as_text(&name);
    return text == request || (request.starts_with(text) && request.size() > text.size() &&
                               request[text.size()] == '/');
  });
}

// Of those that are meant for this request, the last counts: a claim's come after its class's.
Result<GpuConfig> config_for(const Json& claim, std::string_view driver, std::string_view request) {
  GpuConfig config;
  const JsonArray* entries = array_at(claim, "status", "allocation", "devices", "config");
  if (entries == nullptr) return config;
  for (const Json& entry : *entries) {
    if (text_at(entry, "opaque", "driver") != driver) continue;
    const Json* names = find(entry, "requests");
    if (names != nullptr && !names_request(*names, request)) continue;
    const Json* parameters = find(entry, "opaque", "parameters");
    const ConfigOrigin origin =
        text_at(entry, "source") == "FromClass" ? ConfigOrigin::device_class : ConfigOrigin::claim;
    LOCKSTEP_TRY(config, decode_gpu_config(parameters == nullptr ? Json() : *parameters, origin));
  }
  return config;
}

bool is_same_device(const PreparedDevice& a, const PreparedDevice& b) {
  return a.pool == b.pool && a.device == b.device && a.share_id == b.share_id;
}

// Two may have the same device if one only monitors it, or each has a share of its own.
bool excludes(const PreparedDevice& a, const PreparedDevice& b) {
  if (a.admin_access || b.admin_access) return false;
  if (a.pool != b.pool || a.device != b.device) return false;
  return a.share_id.empty() || b.share_id.empty() || a.share_id == b.share_id;
}

// As far as it has a part in a CDI spec.
GpuConfig config_of(const PreparedDevice& device) {
  GpuConfig config;
  for (const std::string& variable : device.environment) {
    size_t equals = variable.find('=');
    config.environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return config;
}

}  // namespace

ClaimFailure ClaimPreparer::failure(const ClaimName& claim, FailureClass kind,
                                    std::string reason) const {
  return {kind, claim.text(), "", "", std::move(reason)};
}

tl::expected<std::vector<ClaimPreparer::Wanted>, ClaimFailure> ClaimPreparer::read_allocation(
    const ClaimName& claim) {
  auto give_up = [&](FailureClass kind, std::string reason) {
    return tl::make_unexpected(failure(claim, kind, std::move(reason)));
  };
  auto document = claims_.read(claim);
  if (!document) {
    // Its kind and not its text, which may name addresses and times.
    return give_up(FailureClass::transient,
                   fmt::format("the claim cannot be read ({})", to_string(document.error().kind)));
  }
  const Json& json = **document;
  if (text_at(json, "metadata", "uid") != claim.uid) {
    return give_up(FailureClass::transient, "another claim has its name now");
  }
  const JsonArray* results = array_at(json, "status", "allocation", "devices", "results");
  if (results == nullptr) return give_up(FailureClass::transient, "it is not allocated");
  std::vector<Wanted> wanted;
  for (const Json& result : *results) {
    if (text_at(result, "driver") != options_.driver) continue;
    std::string request(text_at(result, "request"));
    auto config = config_for(json, options_.driver, request);
    if (!config) return give_up(FailureClass::bad_config, config.error().text());
    PreparedDevice device;
    device.pool = text_at(result, "pool");
    device.device = text_at(result, "device");
    device.share_id = text_at(result, "shareID");
    device.admin_access = as_bool(find(result, "adminAccess"));
    if (!check_device_name(device.device)) {
      return give_up(FailureClass::bad_config, "one of its devices has an invalid name");
    }
    auto known = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& other) {
      return is_same_device(other.device, device);
    });
    if (known == wanted.end()) {
      device.cdi_ids = {cdi_id(options_.cdi, claim.uid, device.device)};
      wanted.push_back({std::move(device), *config});
      known = wanted.end() - 1;
    } else if (known->config != *config) {
      return give_up(FailureClass::bad_config,
                     fmt::format("two requests want device {} set up in two ways", device.device));
    }
    if (config->interval) known->device.time_slice = to_string(*config->interval);
    for (const auto& [key, value] : config->environment) {
      if (known->device.requests.empty()) known->device.environment.push_back(key + "=" + value);
    }
    known->device.requests.push_back(std::move(request));
  }
  if (wanted.empty()) return give_up(FailureClass::transient, "no device of this driver is in it");
  return wanted;
}

namespace {

bool holds(const CheckpointEntry& entry, const PreparedDevice& device) {
  return std::any_of(entry.devices.begin(), entry.devices.end(),
                     [&](const PreparedDevice& held) { return excludes(held, device); });
}

}  // namespace

const CheckpointEntry* ClaimPreparer::holder_of(const PreparedDevice& device,
                                                const std::string& uid, const Plans& others) const {
  for (const auto& [other_uid, entry] : checkpoint_.entries()) {
    if (other_uid != uid && holds(entry, device)) return &entry;
  }
  for (const Plan& other : others) {
    if (other.entry.uid != uid && holds(other.entry, device)) return &other.entry;
  }
  return nullptr;
}

tl::expected<std::vector<CdiDevice>, ClaimFailure> ClaimPreparer::find_devices(
    const ClaimName& claim, const std::vector<Wanted>& wanted, const Plans& others) {
  std::vector<CdiDevice> devices;
  for (const Wanted& one : wanted) {
    auto give_up = [&](FailureClass kind, std::string reason) {
      return tl::make_unexpected(
          ClaimFailure{kind, claim.text(), one.device.pool, one.device.device, std::move(reason)});
    };
    if (const CheckpointEntry* holder = holder_of(one.device, claim.uid, others)) {
      return give_up(FailureClass::transient,
                     fmt::format("it is prepared for claim {}/{}", holder->ns, holder->name));
    }
    auto edits = devices_.find(one.device.pool, one.device.device, one.config);
    if (!edits) return give_up(edits.error().kind, edits.error().reason);
    for (const auto& node : edits->device_nodes) {
      const std::string& path = node.host_path.empty() ? node.path : node.host_path;
      if (devices_.is_character_device(path)) continue;
      return give_up(FailureClass::transient, fmt::format("{} is no device file now", path));
    }
    if (edits->empty()) {
      return give_up(FailureClass::transient, "the driver offers nothing to give to a container");
    }
    devices.push_back({one.device.device, std::move(*edits)});
  }
  return devices;
}

tl::expected<ClaimPreparer::Plan, ClaimFailure> ClaimPreparer::plan(const ClaimName& claim,
                                                                    const Plans& others) {
  auto wanted = read_allocation(claim);
  if (!wanted) return tl::make_unexpected(wanted.error());
  auto devices = find_devices(claim, *wanted, others);
  if (!devices) return tl::make_unexpected(devices.error());
  Plan plan;
  plan.entry = {claim.uid, claim.ns, claim.name, ClaimPhase::prepared, {}};
  for (const Wanted& one : *wanted) plan.entry.devices.push_back(one.device);
  plan.devices = std::move(*devices);
  return plan;
}

std::vector<ClaimPreparer::Prepared> ClaimPreparer::prepare(const std::vector<ClaimName>& claims) {
  std::vector<Prepared> answers;
  Plans plans;
  for (const ClaimName& claim : claims) {
    if (!check_claim_uid(claim.uid)) {
      answers.push_back(
          tl::make_unexpected(failure(claim, FailureClass::bad_config, "its uid is invalid")));
      continue;
    }
    const CheckpointEntry* known = checkpoint_.find(claim.uid);
    bool is_done = known != nullptr && known->phase == ClaimPhase::prepared &&
                   files_.exists(cdi_file(options_.cdi, claim.uid));
    if (is_done) {
      answers.emplace_back(known->devices);
      continue;
    }
    auto planned = plan(claim, plans);
    if (!planned) {
      answers.push_back(tl::make_unexpected(planned.error()));
      continue;
    }
    planned->at = answers.size();
    answers.emplace_back(planned->entry.devices);
    plans.push_back(std::move(*planned));
  }
  carry_out(claims, plans, answers);
  return answers;
}

void ClaimPreparer::carry_out(const std::vector<ClaimName>& claims, const Plans& plans,
                              std::vector<Prepared>& answers) {
  auto give_up = [&](const Plan& plan, const char* reason) {
    answers[plan.at] =
        tl::make_unexpected(failure(claims[plan.at], FailureClass::transient, reason));
  };
  std::vector<CheckpointEntry> entries;
  for (const Plan& plan : plans) {
    // One whose spec alone was lost is written down already.
    const CheckpointEntry* known = checkpoint_.find(plan.entry.uid);
    if (known == nullptr || *known != plan.entry) entries.push_back(plan.entry);
  }
  bool is_remembered = checkpoint_.put(std::move(entries)).has_value();
  for (const Plan& plan : plans) {
    if (!is_remembered) {
      give_up(plan, "the checkpoint cannot be written");
    } else if (!write_cdi_spec(files_, options_.cdi, plan.entry.uid, plan.devices)) {
      give_up(plan, "the CDI spec cannot be written");
    }
  }
}

std::vector<std::string> ClaimPreparer::rewrite_specs() {
  std::vector<std::string> failed;
  for (const auto& [uid, entry] : checkpoint_.entries()) {
    if (entry.phase != ClaimPhase::prepared) continue;
    std::vector<CdiDevice> devices;
    for (const PreparedDevice& device : entry.devices) {
      auto edits = devices_.find(device.pool, device.device, config_of(device));
      if (edits) devices.push_back({device.device, std::move(*edits)});
    }
    bool is_written = devices.size() == entry.devices.size() &&
                      write_cdi_spec(files_, options_.cdi, uid, devices).has_value();
    if (!is_written) failed.push_back(entry.ns + "/" + entry.name);
  }
  return failed;
}

std::vector<Result<void>> ClaimPreparer::unprepare(const std::vector<std::string>& uids) {
  std::vector<Result<void>> answers;
  std::vector<std::string> removed;
  for (const std::string& uid : uids) {
    // Nothing of ours has such a name.
    bool is_ours = check_claim_uid(uid).has_value();
    answers.push_back(is_ours ? remove_cdi_spec(files_, options_.cdi, uid) : Result<void>());
    if (is_ours && answers.back()) removed.push_back(uid);
  }
  auto forgotten = checkpoint_.erase(removed);
  if (forgotten) return answers;
  for (size_t i = 0; i < uids.size(); ++i) {
    if (answers[i] && checkpoint_.find(uids[i]) != nullptr) answers[i] = forgotten;
  }
  return answers;
}

}  // namespace lockstep::dra
