#include "plugin_rights.h"

#include <stdexcept>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::real {

namespace {

std::string must(RealCluster& cluster, const std::string& script) {
  ProcessOutput done = cluster.sh(script);
  if (done.exit_code != 0) throw std::runtime_error(script + "\n" + done.error);
  return std::string(trim(done.output));
}

bool is_for_the_plugin(const Json& object) {
  const std::string_view kind = text_at(object, "kind");
  bool is_of_it = text_at(object, "metadata", "name").find("dra-plugin") != std::string_view::npos;
  return kind == "DeviceClass" || (is_of_it && kind != "DaemonSet");
}

}  // namespace

std::string log_in_as_plugin(RealCluster& cluster, const std::string& node) {
  must(cluster, "kubectl create namespace lockstep-dra");
  auto manifests = parse_yaml_stream(
      commands::run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run",
                              "--set", "draPlugin.enabled=true"})
          .output);
  if (!manifests) throw std::runtime_error(manifests.error().text());
  for (const Json& object : *manifests) {
    if (!is_for_the_plugin(object)) continue;
    must(cluster, fmt::format("cat <<'END' | kubectl create -f -\n{}\nEND\n", print_json(object)));
  }
  return log_in_on_node(cluster, {"lockstep-dra", "lockstep-dra-plugin"}, node);
}

std::string log_in_on_node(RealCluster& cluster, const ObjectKey& account,
                           const std::string& node) {
  const std::string token = must(
      cluster, fmt::format("kubectl create token {1} -n {2} "
                           "--bound-object-kind Node --bound-object-name {0} --bound-object-uid "
                           "$(kubectl get node {0} -o jsonpath='{{.metadata.uid}}')",
                           node, account.name, account.ns));
  std::string text = SystemFiles().read(cluster.plane.kubeconfig("admin")).value_or("");
  const std::string before = "token: \"";
  const size_t at = text.find(before) + before.size();
  text.replace(at, text.find('"', at) - at, token);
  std::string path = fmt::format("{}/{}-{}.kubeconfig", cluster.directory(), account.name, node);
  if (auto written = SystemFiles().write(path, text); !written) {
    throw std::runtime_error(written.error().text());
  }
  return path;
}

}  // namespace lockstep::real
