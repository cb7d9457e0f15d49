#include "cli/support_bundle_command.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/tar.h"
#include "cli/doctor_reading.h"
#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/status_text.h"
#include "controller/gate_jobs.h"
#include "data/gzip.h"
#include "doctor/examine.h"
#include "doctor/redact.h"
#include "kube/sync_api.h"
#include "world/output_folder.h"

namespace lockstep::cli {

namespace {

// Files of the bundle, and what could not be had.
class Collection {
 public:
  explicit Collection(std::string folder) : folder_(std::move(folder)) {}

  void add_text(const std::string& path, std::string_view text) {
    files_[folder_ + "/" + path] = {doctor::redact_text(text), false};
  }
  void add_report(const std::string& path, const Json& report) {
    add_json(path, doctor::redact_report(report));
  }
  void add_objects(const std::string& path, const ResourceType& type,
                   const std::vector<Document>& objects) {
    JsonArray items;
    for (const Document& object : objects) {
      items.push_back(doctor::redact_object(type.full_name(), *object));
    }
    add_json(path, JsonObject{{"items", std::move(items)}});
  }
  void miss(const std::string& what, const Error& error) {
    missing_ += fmt::format("{}: {}\n", what, doctor::redact_text(error.text()));
  }
  size_t size() const { return files_.size(); }
  const std::string& missing() const { return missing_; }

  std::string archive() {
    add_text("missing.txt", missing_.empty() ? "nothing\n" : missing_);
    return Gzip(9).add(bundle::write_tar(files_), true);
  }

 private:
  void add_json(const std::string& path, const Json& document) {
    files_[folder_ + "/" + path] = {print_json_pretty(document) + "\n", false};
  }

  std::string folder_;
  bundle::BundleFiles files_;
  std::string missing_;
};

// Secrets are not among them: what is not read cannot leak.
void collect_objects(kube::SyncApi& api, const SupportBundleFlags& flags, Collection& collection) {
  auto collect = [&](const ResourceType& type, const std::string& ns) {
    std::string path =
        fmt::format("objects/{}{}.json", ns.empty() ? "" : ns + "/", type.full_name());
    auto items = api.list(kube::list(type, ns));
    if (!items) return collection.miss(path, items.error());
    collection.add_objects(path, type, items->items);
  };
  for (const ResourceType& type :
       {resource::nodes, fleet::cluster_policies, fleet::nvidia_drivers, fleet::driver_rollouts,
        resource::pod_disruption_budgets, resource::resource_claims, resource::resource_slices}) {
    collect(type, "");
  }
  std::vector<std::string> namespaces = flags.namespaces;
  namespaces.push_back(flags.doctor.ns);
  for (const std::string& ns : namespaces) {
    for (const ResourceType& type : {resource::pods, resource::daemon_sets, resource::deployments,
                                     resource::controller_revisions, resource::events}) {
      collect(type, ns);
    }
  }
  collect(resource::config_maps, flags.doctor.ns);
  collect(resource::leases, flags.doctor.ns);
  // Gates run apart from the controller.
  for (const ResourceType& type : {resource::jobs, resource::pods, resource::events}) {
    collect(type, std::string(controller::usual_gate_namespace));
  }
  // Events about nodes are in default.
  collect(resource::events, "default");
}

void collect_logs(kube::SyncApi& api, const SupportBundleFlags& flags, Collection& collection) {
  auto pods = api.list(kube::list(resource::pods, flags.doctor.ns));
  if (!pods) return collection.miss("logs", pods.error());
  for (const Document& pod : pods->items) {
    std::string name(text_at(*pod, "metadata", "name"));
    for (bool previous : {false, true}) {
      kube::Request request = kube::get(resource::pods, {flags.doctor.ns, name});
      request.subresource = "log";
      request.with("tailLines", std::to_string(flags.log_lines));
      if (previous) request.with("previous", "true");
      std::string path = fmt::format("logs/{}{}.txt", name, previous ? ".previous" : "");
      kube::Reply reply = api.call(std::move(request));
      if (!reply) {
        collection.miss(path, reply.error());
      } else if (!reply->ok()) {
        // That there was no container before is how it should be.
        if (!previous) collection.miss(path, reply->error());
      } else if (const auto* text = std::get_if<std::string>(&reply->body)) {
        collection.add_text(path, *text);
      }
    }
  }
}

void collect_status(ClusterSession& session, const SupportBundleFlags& flags,
                    Collection& collection) {
  view::FleetWatch watch(*session.api, session.loop, session.random, *session.log,
                         flags.doctor.cluster.fleet());
  if (auto listed = wait_for_fleet(session, watch); !listed) {
    return collection.miss("status.json", listed.error());
  }
  FleetStatus status = look_at_fleet(watch, session.loop.now());
  collection.add_report("status.json", to_json(status));
  StatusTextOptions options;
  options.all_nodes = true;
  collection.add_text("status.txt", status_text(status, Terminal(), options));
}

void collect_doctor(ClusterSession& session, const SupportBundleFlags& flags,
                    Collection& collection) {
  auto view = read_cluster(session, flags.doctor);
  if (!view) return collection.miss("doctor.json", view.error());
  std::vector<doctor::Check> checks = doctor::examine(*view);
  collection.add_report("doctor.json", doctor::to_json(checks));
  collection.add_text("doctor.txt", doctor_text(checks, Terminal()));
}

// Which program, against what; without credentials, which stay in the session.
void collect_versions(ClusterSession& session, Collection& collection) {
  const kube::Target& target = session.connection.target;
  collection.add_report("versions.json",
                        JsonObject{{"lockstep", LOCKSTEP_VERSION},
                                   {"collectedAt", format_rfc3339(session.loop.now())},
                                   {"context", target.context},
                                   {"server", target.cluster.server}});
}

std::string plain_time(Time now) {
  std::string text = format_rfc3339(now);
  std::erase_if(text, [](char c) { return c == ':' || c == '-'; });
  return text;
}

}  // namespace

int run_support_bundle(const SupportBundleFlags& asked) {
  SupportBundleFlags flags = asked;
  auto opened = open_in_key_domain(flags.doctor.cluster, KeyUse::read);
  if (!opened) return report(opened.error());
  ClusterSession& session = **opened;
  std::string name = "lockstep-support-" + plain_time(session.loop.now());
  Collection collection(name);
  collect_versions(session, collection);
  collect_doctor(session, flags, collection);
  collect_status(session, flags, collection);
  kube::SyncApi api(*session.api, session.loop);
  collect_objects(api, flags, collection);
  collect_logs(api, flags, collection);
  std::string file = flags.file.empty() ? name + ".tar.gz" : flags.file;
  std::string archive = collection.archive();
  // It has names of machines and users: only its owner decides to pass it on.
  constexpr int for_the_owner = 0600;
  if (auto written = write_output(file, archive, for_the_owner); !written) {
    return report(written.error().at(file));
  }
  fmt::print(
      "{}: {} files, {} bytes. Fields that are not known to be harmless were omitted, and strings "
      "were filtered. Read it before you share it.\n",
      file, collection.size(), archive.size());
  if (!collection.missing().empty()) {
    fmt::print("missing:\n{}", collection.missing());
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli
