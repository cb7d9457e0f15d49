#include "kube/kubeconfig.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "data/strict_reader.h"
#include "data/yaml.h"

namespace lockstep::kube {

namespace {

constexpr std::string_view exec_extension_name = "client.authentication.k8s.io/exec";

// Base64 in the file, bytes here.
Result<std::string> read_data(const Json& json) {
  LOCKSTEP_TRY(const std::string text, strict::text(json));
  auto data = base64_decode(text);
  if (data) return data;
  return failf(ErrorKind::invalid, "must be base64: {}", data.error().message);
}

// `path` as the kernel would see it from the folder `folder`; "" stays "".
std::string resolve_path(std::string_view path, std::string_view folder) {
  if (path.empty() || path.starts_with('/') || folder.empty()) return std::string(path);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", path);
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

// One file. Unknown fields are accepted: other programs have their own there.
class KubeconfigReader {
 public:
  explicit KubeconfigReader(const std::string& path) : path_(path), folder_(folder_of(path)) {}

  Result<Kubeconfig> read(const Json& document);

 private:
  template <typename Read>
  void read_entries(StrictReader& file, std::string_view plural, std::string_view singular,
                    const Read& read);
  void read_cluster(StrictReader& reader, ClusterConfig& cluster) const;
  Result<UserConfig> read_user(StrictReader& entry) const;
  // `supported` is an error for what is valid, but not offered here.
  void read_user_fields(StrictReader& reader, UserConfig& user, Result<void>& supported) const;
  void read_exec(StrictReader& reader, ExecConfig& exec, Result<void>& supported) const;
  void read_pem(StrictReader& reader, std::string_view key, PemSource& pem) const;

  // A path in the file is seen from the file's folder.
  void read_path(StrictReader& reader, std::string_view key, std::string& into) const {
    reader.text(key, into);
    into = resolve_path(into, folder_);
  }
  std::string origin(const StrictReader& reader, std::string_view key) const {
    return fmt::format("{}: {}", path_, reader.field(key));
  }

  const std::string& path_;
  std::string folder_;
};

void KubeconfigReader::read_pem(StrictReader& reader, std::string_view key, PemSource& pem) const {
  reader.read(fmt::format("{}-data", key), pem.data, read_data);
  read_path(reader, key, pem.file);
}

void KubeconfigReader::read_cluster(StrictReader& reader, ClusterConfig& cluster) const {
  reader.ignore_unknown().text("server", cluster.server);
  read_pem(reader, "certificate-authority", cluster.certificate_authority);
  reader.text("tls-server-name", cluster.tls_server_name);
  reader.flag("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify);
  reader.text("proxy-url", cluster.proxy_url);
  reader.flag("disable-compression", cluster.disable_compression);
  reader.each("extensions", [&](StrictReader& extension) {
    std::string name;
    extension.ignore_unknown().text("name", name);
    const Json* content = extension.get("extension");
    if (name == exec_extension_name && content != nullptr) cluster.exec_extension = *content;
  });
}

constexpr std::string_view exec_group = "client.authentication.k8s.io/";

Result<void> check_supported(std::string_view api_version, std::string_view interactive_mode,
                             std::string where) {
  if (api_version != fmt::format("{}v1", exec_group) &&
      api_version != fmt::format("{}v1beta1", exec_group)) {
    return fail(ErrorKind::unsupported,
                fmt::format("apiVersion {} is not supported; use {}v1 (most plugins write it when "
                            "the kubeconfig is made again)",
                            api_version, exec_group),
                std::move(where));
  }
  if (interactive_mode == "Always") {
    return fail(ErrorKind::unsupported,
                "interactiveMode Always is not supported: Lockstep gives plugins no terminal; use "
                "a plugin that asks nothing",
                std::move(where));
  }
  return {};
}

void KubeconfigReader::read_exec(StrictReader& reader, ExecConfig& exec,
                                 Result<void>& supported) const {
  reader.ignore_unknown().required("command").required("apiVersion");
  reader.text("apiVersion", exec.api_version).text("command", exec.command);
  // A bare name is looked up in PATH; a path with a slash is relative to the kubeconfig.
  if (exec.command.find('/') != std::string::npos) {
    exec.command = resolve_path(exec.command, folder_);
  }
  reader.texts("args", exec.arguments).text("installHint", exec.install_hint);
  reader.flag("provideClusterInfo", exec.provide_cluster_info);
  std::string interactive_mode;
  reader.text("interactiveMode", interactive_mode);
  if (!interactive_mode.empty()) {
    reader.word("interactiveMode", interactive_mode, {"Never", "IfAvailable", "Always"});
  } else if (exec.api_version.ends_with("/v1")) {
    reader.required("interactiveMode", "set it to Never or IfAvailable");
  }
  supported = check_supported(exec.api_version, interactive_mode,
                              fmt::format("{}: {}", path_, reader.field()));
  reader.each("env", [&](StrictReader& variable) {
    std::string name;
    std::string value;
    variable.ignore_unknown().text("name", name).text("value", value);
    if (name.empty() || name.find('=') != std::string::npos) {
      variable.refuse("name", "must be the name of an environment variable");
    }
    exec.environment[name] = std::move(value);
  });
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

void KubeconfigReader::read_user_fields(StrictReader& reader, UserConfig& user,
                                        Result<void>& supported) const {
  reader.ignore_unknown();
  read_pem(reader, "client-certificate", user.client_certificate);
  read_pem(reader, "client-key", user.client_key);
  reader.text("token", user.token);
  read_path(reader, "tokenFile", user.token_file);
  reader.text("username", user.username).text("password", user.password);
  reader.text("as", user.impersonate_user).text("as-uid", user.impersonate_uid);
  reader.texts("as-groups", user.impersonate_groups);
  reader.any("as-user-extra", [&](StrictReader& extra) {
    extra.entries([&](const std::string& name, StrictReader& values) {
      values.texts(user.impersonate_extra[name]);
    });
  });
  reader.within("exec",
                [&](StrictReader& exec) { read_exec(exec, user.exec.emplace(), supported); });
  reader.within("auth-provider", [&](StrictReader& provider) {
    std::string name;
    provider.ignore_unknown().text("name", name);
    supported = fail(ErrorKind::unsupported,
                     fmt::format("auth-provider {} was removed from Kubernetes 1.26; use an exec "
                                 "plugin such as kubelogin or gke-gcloud-auth-plugin",
                                 quoted_excerpt(name)),
                     user.origin);
  });
}

Result<UserConfig> KubeconfigReader::read_user(StrictReader& entry) const {
  UserConfig user;
  Result<void> supported;
  user.origin = origin(entry, "user");
  auto fields = entry.apart([&](StrictReader& reader) {
    reader.within("user", [&](StrictReader& map) { read_user_fields(map, user, supported); });
  });
  if (!fields) return fail(fields.error().at(path_));
  LOCKSTEP_CHECK(supported);
  LOCKSTEP_CHECK(check_user(user));
  return user;
}

// The entries of "clusters", "users" or "contexts": {name: …, <singular>: {…}}.
template <typename Read>
void KubeconfigReader::read_entries(StrictReader& file, std::string_view plural,
                                    std::string_view singular, const Read& read) {
  std::set<std::string> names;
  file.each(plural, [&](StrictReader& entry) {
    std::string name;
    entry.ignore_unknown().text("name", name);
    if (!names.insert(name).second) {
      entry.refuse("name",
                   fmt::format("is the name of another {}: {}", singular, quoted_excerpt(name)));
    }
    read(name, entry);
  });
}

Result<Kubeconfig> KubeconfigReader::read(const Json& document) {
  Kubeconfig result;
  Reading reading;
  reading.map(document, [&](StrictReader& file) {
    file.ignore_unknown().text("current-context", result.current_context);
    read_entries(file, "clusters", "cluster", [&](const std::string& name, StrictReader& entry) {
      ClusterConfig& cluster = result.clusters[name];
      cluster.origin = origin(entry, "cluster");
      entry.within("cluster", [&](StrictReader& fields) { read_cluster(fields, cluster); });
    });
    read_entries(file, "users", "user", [&](const std::string& name, StrictReader& entry) {
      result.users.emplace(name, read_user(entry));
    });
    read_entries(file, "contexts", "context", [&](const std::string& name, StrictReader& entry) {
      ContextConfig& context = result.contexts[name];
      context.origin = origin(entry, "context");
      entry.within("context", [&](StrictReader& fields) {
        fields.ignore_unknown().text("cluster", context.cluster).text("user", context.user);
        fields.text("namespace", context.ns);
      });
    });
  });
  if (auto read = reading.result(); !read) return fail(read.error().at(path_));
  return result;
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
  std::string message = unknown_word(what, name, names);
  if (names.empty()) message += "; the kubeconfig has none";
  return Error{ErrorKind::not_found, std::move(message), {}};
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path) {
  LOCKSTEP_TRY(const Json document, parse_yaml(text, path));
  if (document.is_null()) return Kubeconfig();
  return KubeconfigReader(path).read(document);
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
  // A missing user is allowed: an API server may accept anonymous requests.
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
