#include "cli/install_command.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/settings.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "data/yaml.h"
#include "deploy/installer.h"
#include "deploy/manifest_kinds.h"
#include "doctor/driver_checks.h"
#include "fleet/driver.h"
#include "kube/sync_api.h"
#include "kube/typed.h"

namespace lockstep::cli {

namespace {

using deploy::Chart;
using deploy::Manifest;
using deploy::ObjectChange;

Result<void> add_settings(JsonObject& values, const std::vector<std::string>& texts,
                          bundle::SettingKind kind, std::string_view flag) {
  for (const std::string& text : texts) {
    std::string place = fmt::format("{} {}", flag, text);
    auto assignment = bundle::parse_assignment(text, kind);
    if (!assignment) return fail(assignment.error().at(place));
    auto set = bundle::set_value(values, assignment->path, std::move(assignment->value));
    if (!set) return fail(set.error().at(place));
  }
  return {};
}

// "registry.example.com:5000/lockstep:0.1.0" or "…/lockstep@sha256:…", as the chart's values. All
// three are set: a tag or digest in a file of values belongs to another image.
JsonObject image_values(std::string_view image) {
  JsonObject values{{"tag", ""}, {"digest", ""}};
  const size_t at = image.find('@');
  if (at != std::string_view::npos) values["digest"] = image.substr(at + 1);
  image = image.substr(0, at);
  const size_t colon = image.rfind(':');
  const size_t slash = image.rfind('/');
  const bool has_tag =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  if (has_tag) values["tag"] = image.substr(colon + 1);
  values["repository"] = has_tag ? image.substr(0, colon) : image;
  return values;
}

// Files in their order, then the settings, as Helm has it.
Result<std::vector<Json>> layers_of(const InstallFlags& flags) {
  std::vector<Json> layers;
  SystemFiles files;
  for (const std::string& name : flags.values_files) {
    auto text = files.read(name);
    if (!text) return fail(text.error());
    LOCKSTEP_TRY(Json layer, parse_yaml(*text, name));
    layers.push_back(std::move(layer));
  }
  JsonObject settings;
  if (!flags.image.empty()) settings["image"] = image_values(flags.image);
  if (!flags.driver_namespaces.empty()) {
    JsonArray namespaces(flags.driver_namespaces.begin(), flags.driver_namespaces.end());
    settings["controller"] = JsonObject{{"driverNamespaces", std::move(namespaces)}};
  }
  LOCKSTEP_CHECK(add_settings(settings, flags.set, bundle::SettingKind::typed, "--set"));
  LOCKSTEP_CHECK(
      add_settings(settings, flags.set_string, bundle::SettingKind::text, "--set-string"));
  LOCKSTEP_CHECK(add_settings(settings, flags.set_json, bundle::SettingKind::json, "--set-json"));
  layers.emplace_back(std::move(settings));
  return layers;
}

struct Release {
  std::vector<Manifest> manifests;
  std::string kept_image;  // of the last install, which this one does not name
  fleet::DriverOptions drivers;
};

// A second install with other values keeps the image that the first one named.
Result<std::string> installed_image(const InstallFlags& flags) {
  LOCKSTEP_TRY(std::unique_ptr<ClusterSession> session, ClusterSession::open(flags.cluster));
  kube::SyncApi api(*session->api, session->loop);
  auto held = api.get(resource::deployments,
                      {flags.release.ns, fmt::format("{}-controller", flags.release.name)});
  if (!held && held.error().kind == ErrorKind::not_found) return std::string();
  if (!held) return fail(held.error());
  const Json* containers = find(**held, "spec", "template", "spec", "containers");
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) {
    return std::string();
  }
  return std::string(text_at(containers->get_array()[0], "image"));
}

Result<Release> release_of(const InstallFlags& flags) {
  Release release;
  LOCKSTEP_TRY(std::vector<Json> layers, layers_of(flags));
  LOCKSTEP_TRY(Chart chart, Chart::read(deploy::embedded_chart()));
  LOCKSTEP_TRY(Json values, chart.values(layers));
  if (text_at(values, "image", "repository").empty() && !flags.dry_run) {
    LOCKSTEP_TRY(std::string image, installed_image(flags));
    if (!image.empty()) {
      JsonObject kept = image_values(image);
      // Another tag or digest of the same repository.
      const bool names_version =
          !text_at(values, "image", "tag").empty() || !text_at(values, "image", "digest").empty();
      if (names_version) kept["tag"] = kept["digest"] = "";
      layers.insert(layers.begin(), JsonObject{{"image", std::move(kept)}});
      LOCKSTEP_TRY(values, chart.values(layers));
      if (!names_version) release.kept_image = std::move(image);
    }
  }
  LOCKSTEP_TRY(release.manifests, chart.render(flags.release, values));
  release.drivers.namespaces.clear();
  const Json* namespaces = find(values, "controller", "driverNamespaces");
  for (const Json& ns : namespaces->get_array()) {
    release.drivers.namespaces.emplace_back(as_text(&ns));
  }
  return release;
}

void print_changes(const std::vector<ObjectChange>& changes) {
  for (const ObjectChange& change : changes)
    print_text(fmt::format("{} {}\n", change.what, change.object));
  // A waiting user sees what is done already.
  std::fflush(stdout);
}

// Until every Deployment is there; what is missing is said when it changes.
Result<void> wait_for_deployments(ClusterSession& session, const std::vector<Manifest>& manifests,
                                  Duration limit) {
  kube::SyncApi api(*session.api, session.loop);
  Duration end = session.loop.uptime() + limit;
  for (const Manifest& manifest : manifests) {
    if (text_at(manifest.object, "kind") != "Deployment") continue;
    std::string said;
    while (true) {
      auto held = api.get(resource::deployments, deploy::key_of(manifest.object));
      if (!held) return fail(held.error().at(deploy::describe(manifest.object)));
      std::string missing = deploy::missing_of_deployment(**held);
      if (missing.empty()) break;
      if (session.loop.uptime() >= end) {
        return fail(ErrorKind::timed_out,
                    fmt::format("not available after {}: {}; see kubectl describe pods",
                                format_duration(limit), missing),
                    deploy::describe(manifest.object));
      }
      if (missing != said) {
        print_text(fmt::format("waiting for {}: {}\n", deploy::describe(manifest.object), missing));
        std::fflush(stdout);
      }
      said = std::move(missing);
      session.loop.run_until([] { return false; },
                             std::min(seconds(1), end - session.loop.uptime()));
    }
    fmt::print("available {}\n", deploy::describe(manifest.object));
  }
  return {};
}

// It is not changed from here: that is a new revision of every driver pod.
void warn_about_driver_manager(ClusterSession& session, const fleet::DriverOptions& drivers) {
  kube::SyncApi api(*session.api, session.loop);
  auto sets = api.list(kube::list(resource::daemon_sets));
  if (!sets) return;
  DecodeContext context;
  for (const Document& item : sets->items) {
    auto set = decode_object<DaemonSet>(*item, context);
    if (!set || !fleet::is_driver_daemon_set(*set, drivers)) continue;
    if (!doctor::manager_uncordons(*set)) continue;
    fmt::print(
        "the driver-manager in {} evicts pods and uncordons nodes on its own; change it with the "
        "next driver version:\n  {}\n",
        set->meta.key().text(), doctor::manager_fix());
  }
}

Result<void> install(const InstallFlags& flags, const Release& release) {
  LOCKSTEP_TRY(Duration timeout, parse_duration(flags.timeout));
  LOCKSTEP_TRY(std::unique_ptr<ClusterSession> session, ClusterSession::open(flags.cluster));
  kube::SyncApi api(*session->api, session->loop);
  deploy::InstallOptions options;
  options.force = flags.force;
  LOCKSTEP_TRY(std::vector<ObjectChange> changes,
               deploy::install(api, flags.release, release.manifests, options));
  print_changes(changes);
  warn_about_driver_manager(*session, release.drivers);
  if (flags.wait) return wait_for_deployments(*session, release.manifests, timeout);
  return {};
}

Result<void> uninstall(const UninstallFlags& flags) {
  LOCKSTEP_TRY(std::unique_ptr<ClusterSession> session, ClusterSession::open(flags.cluster));
  kube::SyncApi api(*session->api, session->loop);
  LOCKSTEP_TRY(std::vector<std::string> nodes, deploy::nodes_in_flight(api));
  if (!nodes.empty() && !flags.force) {
    constexpr size_t shown = 5;
    size_t count = nodes.size();
    if (count > shown) nodes.resize(shown);
    return failf(ErrorKind::conflict,
                 "{} {} in the middle of an upgrade and would stay cordoned: {}{}. lockstep pause "
                 "starts no new one; or --force",
                 count, count == 1 ? "node is" : "nodes are", join(nodes, ", "),
                 count > shown ? ", …" : "");
  }
  LOCKSTEP_TRY(std::vector<ObjectChange> changes, deploy::uninstall(api, flags.release));
  if (changes.empty()) {
    return failf(ErrorKind::not_found,
                 "lockstep install did not install {} in namespace {} (was it Helm?)",
                 flags.release.name, flags.release.ns);
  }
  print_changes(changes);
  LOCKSTEP_TRY(std::vector<ObjectChange> released, deploy::release_nodes(api));
  print_changes(released);
  return {};
}

}  // namespace

int run_install(const InstallFlags& flags) {
  auto release = release_of(flags);
  if (!release) return report(release.error());
  if (flags.dry_run) {
    fmt::print("# The namespace {} must exist.\n{}", flags.release.ns,
               deploy::print_manifests(release->manifests));
    return ExitCode::ok;
  }
  if (!release->kept_image.empty()) {
    print_text(fmt::format("keeps the image {} (--image names another)\n", release->kept_image));
  }
  auto done = install(flags, *release);
  return done ? static_cast<int>(ExitCode::ok) : report(done.error());
}

int run_uninstall(const UninstallFlags& flags) {
  auto done = uninstall(flags);
  return done ? static_cast<int>(ExitCode::ok) : report(done.error());
}

}  // namespace lockstep::cli
