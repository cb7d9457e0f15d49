#include "bundle/snapshot.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

using lockstep::find;

Result<void> check(const YamlFile& file) {
  Reading reading(file);
  reading.map(file.json, [](StrictReader& snapshot) {
    snapshot.must_be("kind", "Snapshot");
    snapshot.ignore_unknown().required("measurements");
    snapshot.each("measurements", [](StrictReader& measurement) {
      std::string type;
      measurement.ignore_unknown().text("type", type).required("type");
      measurement.each("subtypes", [](StrictReader& subtype) {
        std::string name;
        JsonObject data;
        subtype.ignore_unknown().text("subtype", name).required("subtype").object("data", data);
      });
    });
  });
  return reading.result();
}

struct Data {
  const Json* json = nullptr;  // null if not found
  YamlPath path;
};

Data find_data(const YamlFile& file, std::string_view type, std::string_view subtype) {
  const JsonArray& measurements = find(file.json, "measurements")->get_array();
  for (size_t i = 0; i < measurements.size(); ++i) {
    if (text_at(measurements[i], "type") != type) continue;
    const Json* subtypes = find(measurements[i], "subtypes");
    if (subtypes == nullptr || !subtypes->is_array()) continue;
    for (size_t j = 0; j < subtypes->get_array().size(); ++j) {
      const Json& candidate = subtypes->get_array()[j];
      if (text_at(candidate, "subtype") != subtype) continue;
      const Json* data = find(candidate, "data");
      if (data == nullptr || !data->is_object()) continue;
      return {data, {"measurements", std::to_string(i), "subtypes", std::to_string(j), "data"}};
    }
  }
  return {};
}

// The accepted value, without its alias; empty if the value is unknown.
std::string word(const CriteriaWords& words, std::string_view field,
                 const std::optional<std::string>& text) {
  if (!text) return {};
  return words.normalize(field, *text).value_or("");
}

// What AICR's node collector writes is the service itself; others write the provider's scheme.
std::string service_of_provider(std::string_view provider) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> services = {
      {{"aws", "eks"}, {"gce", "gke"}, {"azure", "aks"}, {"oci", "oke"}, {"kind", "kind"}}};
  if (provider.starts_with("ocid1.")) return "oke";
  std::string_view scheme = provider.substr(0, provider.find("://"));
  for (const auto& [name, service] : services) {
    if (scheme == name) return std::string(service);
  }
  return std::string(provider);
}

std::string_view service_of_version(std::string_view version) {
  for (auto [part, service] : {std::pair<std::string_view, std::string_view>{"-eks-", "eks"},
                               {"-gke", "gke"},
                               {"-aks", "aks"}}) {
    if (version.find(part) != std::string_view::npos) return service;
  }
  return {};
}

// What says it outright before what only hints at it.
std::string service_of(const Snapshot& snapshot, const CriteriaWords& words) {
  std::string said = word(words, "service", snapshot.find("K8s", "server", "service"));
  if (!said.empty()) return said;
  if (auto provider = snapshot.find("K8s", "node", "provider")) {
    said = word(words, "service", service_of_provider(*provider));
    if (!said.empty()) return said;
  }
  auto version = snapshot.find("K8s", "server", "version");
  if (!version) return {};
  return word(words, "service", std::string(service_of_version(*version)));
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (char c : lower(name)) {
    if (c != ' ' && c != '-' && c != '\t') {
      parts.back() += c;
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

// "NVIDIA H100 80GB HBM3" is h100. Whole parts only: an L40S is not an l40, a GB200 not a b200.
std::string accelerator_of_product(std::string_view product, const CriteriaWords& words) {
  std::vector<std::string> parts = parts_of(product);
  std::string longest;
  for (const std::string& known : words.words("accelerator")) {
    std::vector<std::string> wanted = parts_of(known);
    bool found =
        std::search(parts.begin(), parts.end(), wanted.begin(), wanted.end()) != parts.end();
    if (found && known.size() > longest.size()) longest = known;
  }
  return longest;
}

// The products of all GPU nodes, from their labels: one key with "product|node,node", or, where
// they differ, one key per product.
std::set<std::string> labelled_products(const Snapshot& snapshot) {
  constexpr std::string_view label = "nvidia.com/gpu.product";
  std::set<std::string> products;
  for (const std::string& key : snapshot.keys("NodeTopology", "label")) {
    if (key != label && !key.starts_with(std::string(label) + ".")) continue;
    std::string value = snapshot.find("NodeTopology", "label", key).value_or("");
    value = value.substr(0, value.find('|'));
    if (!value.empty()) products.insert(value);
  }
  return products;
}

std::string accelerator_of(const Snapshot& snapshot, const CriteriaWords& words) {
  std::set<std::string> products = labelled_products(snapshot);
  if (products.size() > 1) return {};
  if (products.size() == 1) {
    std::string accelerator = accelerator_of_product(*products.begin(), words);
    if (!accelerator.empty()) return accelerator;
  }
  for (std::string_view subtype : {"smi", "device", "hardware"}) {
    for (std::string_view key : {"gpu.model", "model"}) {
      auto model = snapshot.find("GPU", subtype, key);
      std::string accelerator = model ? accelerator_of_product(*model, words) : "";
      if (!accelerator.empty()) return accelerator;
    }
  }
  return {};
}

std::string os_of(const Snapshot& snapshot, const CriteriaWords& words) {
  auto id = snapshot.find("OS", "release", "ID");
  // Amazon Linux names itself so in /etc/os-release.
  if (id && lower(*id) == "amzn") id = "amazonlinux";
  return word(words, "os", id);
}

}  // namespace

Result<Snapshot> Snapshot::read(YamlFile file) {
  LOCKSTEP_CHECK(check(file));
  return Snapshot(std::move(file));
}

std::optional<std::string> Snapshot::find(const ConstraintPath& path) const {
  std::string rest = path.subtype + "." + path.key;
  for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.', dot + 1)) {
    auto found = find(path.type, std::string_view(rest).substr(0, dot),
                      std::string_view(rest).substr(dot + 1));
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<std::string> Snapshot::find(std::string_view type, std::string_view subtype,
                                          std::string_view key) const {
  Data data = find_data(file_, type, subtype);
  const Json* value = data.json == nullptr ? nullptr : lockstep::find(*data.json, key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->is_string()) return std::string(as_text(value));
  // A version 24.10 must not come out as the number 24.1.
  data.path.emplace_back(key);
  if (value->is_number()) return scalar_text(file_.text(), data.path);
  return print_json(*value);
}

std::vector<std::string> Snapshot::keys(std::string_view type, std::string_view subtype) const {
  std::vector<std::string> keys;
  Data data = find_data(file_, type, subtype);
  if (data.json == nullptr) return keys;
  for (const auto& [key, value] : data.json->get_object()) keys.emplace_back(key);
  return keys;
}

Criteria criteria_of(const Snapshot& snapshot, const CriteriaWords& words) {
  return {.service = service_of(snapshot, words),
          .accelerator = accelerator_of(snapshot, words),
          .os = os_of(snapshot, words)};
}

std::string ExcludedOverlay::text() const {
  return fmt::format("the overlay {} is left out: {} must be \"{}\", and {}", name, constraint,
                     expected, found ? fmt::format("is \"{}\"", *found) : "was not measured");
}

Result<std::vector<ExcludedOverlay>> unmet(const Overlay& overlay, const Snapshot& snapshot) {
  std::vector<ExcludedOverlay> result;
  for (const Constraint& constraint : overlay.spec.constraints) {
    auto path = parse_constraint_path(constraint.name);
    if (!path) return fail(path.error().at(overlay.file));
    auto expression = parse_constraint_expression(constraint.value);
    if (!expression) return fail(expression.error().at(overlay.file + ": " + constraint.name));
    auto found = snapshot.find(*path);
    if (found && evaluate(*expression, *found)) continue;
    result.push_back({overlay.name, constraint.name, constraint.value, found});
  }
  return result;
}

}  // namespace lockstep::bundle
