#include "kube/kubeconfig.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "data/yaml.h"
#include "kube/kubeconfig_fields.h"

namespace lockstep::kube {

namespace {

constexpr std::string_view exec_extension_name = "client.authentication.k8s.io/exec";

Result<ClusterConfig> read_cluster(ConfigFields fields, const std::string& folder) {
  ClusterConfig cluster;
  cluster.origin = fields.where();
  cluster.server = fields.text("server");
  cluster.certificate_authority.data = fields.data("certificate-authority-data");
  cluster.certificate_authority.file = fields.path("certificate-authority", folder);
  cluster.tls_server_name = fields.text("tls-server-name");
  cluster.insecure_skip_tls_verify = fields.flag("insecure-skip-tls-verify");
  cluster.proxy_url = fields.text("proxy-url");
  cluster.disable_compression = fields.flag("disable-compression");
  for (ConfigFields& extension : fields.objects("extensions")) {
    const Json* content = extension.raw("extension");
    if (extension.text("name") == exec_extension_name && content) cluster.exec_extension = *content;
  }
  LOCKSTEP_CHECK(fields.check());
  return cluster;
}

Result<void> check_exec(const ExecConfig& exec, const std::string& interactive_mode,
                        const std::string& where) {
  constexpr std::string_view group = "client.authentication.k8s.io/";
  if (exec.command.empty()) return fail(ErrorKind::invalid, "command is missing", where);
  if (exec.api_version.empty()) return fail(ErrorKind::invalid, "apiVersion is missing", where);
  if (exec.api_version != std::string(group) + "v1" &&
      exec.api_version != std::string(group) + "v1beta1") {
    return fail(ErrorKind::unsupported,
                fmt::format("apiVersion {} is not supported; use {}v1 (most plugins write it when "
                            "the kubeconfig is made again)",
                            exec.api_version, group),
                where);
  }
  if (interactive_mode == "Always") {
    return fail(ErrorKind::unsupported,
                "interactiveMode Always: this plugin wants to ask a person, and Lockstep gives "
                "plugins no terminal",
                where);
  }
  if (interactive_mode.empty() && exec.api_version.ends_with("/v1")) {
    return fail(ErrorKind::invalid, "interactiveMode is missing: Never or IfAvailable", where);
  }
  if (!interactive_mode.empty() && interactive_mode != "Never" &&
      interactive_mode != "IfAvailable") {
    return fail(
        ErrorKind::invalid,
        fmt::format("interactiveMode {:?} is not Never, IfAvailable or Always", interactive_mode),
        where);
  }
  return {};
}

Result<ExecConfig> read_exec(ConfigFields fields, const std::string& folder) {
  ExecConfig exec;
  exec.api_version = fields.text("apiVersion");
  exec.command = fields.text("command");
  // A bare name is looked up in PATH, anything with a slash stands beside the kubeconfig.
  if (exec.command.find('/') != std::string::npos) {
    exec.command = resolve_path(exec.command, folder);
  }
  exec.arguments = fields.texts("args");
  exec.install_hint = fields.text("installHint");
  exec.provide_cluster_info = fields.flag("provideClusterInfo");
  for (ConfigFields& variable : fields.objects("env")) {
    const std::string name = variable.text("name");
    exec.environment[name] = variable.text("value");
    fields.check(variable);
    if (name.empty() || name.find('=') != std::string::npos) {
      return fail(ErrorKind::invalid, "an environment variable needs a name", variable.where());
    }
  }
  const std::string interactive_mode = fields.text("interactiveMode");
  LOCKSTEP_CHECK(fields.check());
  LOCKSTEP_CHECK(check_exec(exec, interactive_mode, fields.where()));
  return exec;
}

Result<void> check_user(const UserConfig& user) {
  const auto invalid = [&](std::string message) -> Result<void> {
    return fail(ErrorKind::invalid, std::move(message), user.origin);
  };
  const bool basic = !user.username.empty() || !user.password.empty();
  if (!user.token.empty() && basic) {
    return invalid("has both a token and a username: only one way to authenticate is allowed");
  }
  if (!user.client_certificate.empty() && user.client_key.empty()) {
    return invalid("has a client-certificate and no client-key or client-key-data");
  }
  if (user.impersonate_user.empty() &&
      !(user.impersonate_groups.empty() && user.impersonate_extra.empty() &&
        user.impersonate_uid.empty())) {
    return invalid("has as-groups, as-uid or as-user-extra without as");
  }
  return {};
}

Result<UserConfig> read_user(ConfigFields fields, const std::string& folder) {
  UserConfig user;
  user.origin = fields.where();
  user.client_certificate.data = fields.data("client-certificate-data");
  user.client_certificate.file = fields.path("client-certificate", folder);
  user.client_key.data = fields.data("client-key-data");
  user.client_key.file = fields.path("client-key", folder);
  user.token = fields.text("token");
  user.token_file = fields.path("tokenFile", folder);
  user.username = fields.text("username");
  user.password = fields.text("password");
  user.impersonate_user = fields.text("as");
  user.impersonate_uid = fields.text("as-uid");
  user.impersonate_groups = fields.texts("as-groups");
  user.impersonate_extra = fields.text_lists("as-user-extra");
  LOCKSTEP_CHECK(fields.check());
  if (fields.has("auth-provider")) {
    return fail(ErrorKind::unsupported,
                fmt::format("auth-provider {:?} was removed from Kubernetes 1.26; use an exec "
                            "plugin such as kubelogin or gke-gcloud-auth-plugin",
                            fields.object("auth-provider").text("name")),
                user.origin);
  }
  if (fields.has("exec")) {
    LOCKSTEP_TRY(user.exec, read_exec(fields.object("exec"), folder));
  }
  LOCKSTEP_CHECK(check_user(user));
  return user;
}

Result<ContextConfig> read_context(ConfigFields fields) {
  ContextConfig context;
  context.origin = fields.where();
  context.cluster = fields.text("cluster");
  context.user = fields.text("user");
  context.ns = fields.text("namespace");
  LOCKSTEP_CHECK(fields.check());
  return context;
}

// The entries of "clusters", "users" or "contexts": {name: …, <singular>: {…}}.
template <typename Read>
Result<void> read_entries(ConfigFields& fields, std::string_view plural, std::string_view singular,
                          const Read& read) {
  std::set<std::string> names;
  for (ConfigFields& entry : fields.objects(plural)) {
    const std::string name = entry.text("name");
    LOCKSTEP_CHECK(entry.check());
    if (!names.insert(name).second) {
      return fail(ErrorKind::invalid, fmt::format("a second {} has the name {:?}", singular, name),
                  entry.where());
    }
    LOCKSTEP_CHECK(read(name, entry.object(singular)));
  }
  return fields.check();
}

template <typename Map>
std::string names_of(const Map& entries) {
  constexpr size_t enough = 20;
  std::vector<std::string> names;
  for (const auto& [name, value] : entries) {
    if (names.size() == enough) {
      names.push_back(fmt::format("… ({} in all)", entries.size()));
      break;
    }
    names.push_back(name);
  }
  return names.empty() ? "none" : join(names, ", ");
}

template <typename Map>
Error missing(std::string_view what, const std::string& name, const Map& entries) {
  std::vector<std::string> names;
  for (const auto& [candidate, value] : entries) names.push_back(candidate);
  std::string message = fmt::format("there is no {} {:?} in the kubeconfig; there is: {}", what,
                                    name, names_of(entries));
  if (auto near = nearest(name, names)) message += fmt::format("; did you mean {:?}?", *near);
  return Error{ErrorKind::not_found, std::move(message), {}};
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path) {
  LOCKSTEP_TRY(const Json document, parse_yaml(text, path));
  if (!document.is_object() && !document.is_null()) {
    return fail(ErrorKind::invalid, "this is not a kubeconfig: it must be a mapping", path);
  }
  const std::string folder = folder_of(path);
  Kubeconfig result;
  ConfigFields fields(document, path);
  result.current_context = fields.text("current-context");
  LOCKSTEP_CHECK(read_entries(fields, "clusters", "cluster",
                              [&](const std::string& name, ConfigFields entry) -> Result<void> {
                                LOCKSTEP_TRY(result.clusters[name],
                                             read_cluster(std::move(entry), folder));
                                return {};
                              }));
  LOCKSTEP_CHECK(read_entries(fields, "users", "user",
                              [&](const std::string& name, ConfigFields entry) -> Result<void> {
                                result.users.emplace(name, read_user(std::move(entry), folder));
                                return {};
                              }));
  LOCKSTEP_CHECK(read_entries(fields, "contexts", "context",
                              [&](const std::string& name, ConfigFields entry) -> Result<void> {
                                LOCKSTEP_TRY(result.contexts[name], read_context(std::move(entry)));
                                return {};
                              }));
  return result;
}

void merge_kubeconfig(Kubeconfig& base, Kubeconfig further) {
  base.clusters.merge(further.clusters);
  base.users.merge(further.users);
  base.contexts.merge(further.contexts);
  if (base.current_context.empty()) base.current_context = std::move(further.current_context);
}

Result<Target> choose_context(const Kubeconfig& kubeconfig, const std::string& context) {
  Target target;
  target.context = context.empty() ? kubeconfig.current_context : context;
  if (target.context.empty()) {
    return fail(ErrorKind::invalid,
                fmt::format("the kubeconfig has no current-context; choose one with --context: {}",
                            names_of(kubeconfig.contexts)));
  }
  const auto chosen = kubeconfig.contexts.find(target.context);
  if (chosen == kubeconfig.contexts.end()) {
    return fail(missing("context", target.context, kubeconfig.contexts));
  }
  const ContextConfig& config = chosen->second;
  target.ns = config.ns.empty() ? "default" : config.ns;

  const auto cluster = kubeconfig.clusters.find(config.cluster);
  if (cluster == kubeconfig.clusters.end()) {
    return fail(missing("cluster", config.cluster, kubeconfig.clusters).at(config.origin));
  }
  target.cluster = cluster->second;
  if (target.cluster.server.empty()) {
    return fail(ErrorKind::invalid, fmt::format("cluster {:?} has no server", config.cluster),
                target.cluster.origin);
  }
  if (target.cluster.insecure_skip_tls_verify && !target.cluster.certificate_authority.empty()) {
    return fail(ErrorKind::invalid,
                "has both insecure-skip-tls-verify and a certificate-authority: remove one",
                target.cluster.origin);
  }
  // No user at all is allowed: an API server may let anybody in.
  if (config.user.empty()) return target;
  const auto user = kubeconfig.users.find(config.user);
  if (user == kubeconfig.users.end()) {
    return fail(missing("user", config.user, kubeconfig.users).at(config.origin));
  }
  LOCKSTEP_TRY(target.user, Result<UserConfig>(user->second));
  return target;
}

std::vector<std::string> kubeconfig_paths(const std::string& flag, const Environment& environment) {
  if (!flag.empty()) return {flag};
  std::vector<std::string> paths;
  if (auto listed = environment.find("KUBECONFIG");
      listed != environment.end() && !listed->second.empty()) {
    for (std::string_view part : split(listed->second, ':')) {
      std::string path(part);
      if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end()) {
        paths.push_back(std::move(path));
      }
    }
    return paths;
  }
  if (auto home = environment.find("HOME"); home != environment.end() && !home->second.empty()) {
    paths.push_back(resolve_path(".kube/config", home->second));
  }
  return paths;
}

Result<Kubeconfig> load_kubeconfig(const std::string& flag, const Environment& environment,
                                   const Files& files) {
  Kubeconfig merged;
  for (const std::string& path : kubeconfig_paths(flag, environment)) {
    auto text = files.read(path);
    if (!text) {
      if (flag.empty() && text.error().kind == ErrorKind::not_found) continue;
      return fail(text.error().kind, text.error().message,
                  flag.empty() ? path : "--kubeconfig " + path);
    }
    LOCKSTEP_TRY(Kubeconfig further, parse_kubeconfig(*text, path));
    merge_kubeconfig(merged, std::move(further));
  }
  return merged;
}

}  // namespace lockstep::kube
