// The kubeconfig, as kubectl reads it: which files, how they merge, what they mean.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "world/files.h"

namespace lockstep::kube {

using Environment = std::map<std::string, std::string>;

// A PEM in the kubeconfig itself (`data`, decoded) or in a file. `data` wins.
struct PemSource {
  std::string data;
  std::string file;  // absolute, or relative to our working directory
  bool empty() const { return data.empty() && file.empty(); }
  bool operator==(const PemSource&) const = default;
};

struct ClusterConfig {
  std::string origin;  // "config: clusters[2]", for messages
  std::string server;
  PemSource certificate_authority;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string proxy_url;
  bool disable_compression = false;
  Json exec_extension;  // handed to an exec plugin that asks for cluster information
};

struct ExecConfig {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::string install_hint;
  bool provide_cluster_info = false;
};

struct UserConfig {
  std::string origin;
  PemSource client_certificate;
  PemSource client_key;
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;
  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::map<std::string, std::vector<std::string>> impersonate_extra;
};

struct ContextConfig {
  std::string origin;
  std::string cluster;
  std::string user;
  std::string ns;
};

struct Kubeconfig {
  std::map<std::string, ClusterConfig> clusters;
  // A user that cannot be used (an auth-provider, a bad exec section) is an error only for the
  // context that names it.
  std::map<std::string, Result<UserConfig>> users;
  std::map<std::string, ContextConfig> contexts;
  std::string current_context;

  bool empty() const {
    return clusters.empty() && users.empty() && contexts.empty() && current_context.empty();
  }
};

// One file's text. Relative paths in it are made relative to the folder of `path`.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path);

// Adds what `further` has and `base` has not, entry by entry: the first file wins.
void merge_kubeconfig(Kubeconfig& base, Kubeconfig further);

// What to connect to: one context, resolved.
struct Target {
  std::string context;
  std::string ns;  // "default" when the context names none
  ClusterConfig cluster;
  UserConfig user;
};

// `context` empty: the current one. Says which names there are when one is missing.
Result<Target> choose_context(const Kubeconfig& kubeconfig, const std::string& context);

// The files that kubectl would read, in their order: the flag alone, else $KUBECONFIG, else
// ~/.kube/config.
std::vector<std::string> kubeconfig_paths(const std::string& flag, const Environment& environment);

// Reads and merges them. A missing file is an error only when the flag names it.
Result<Kubeconfig> load_kubeconfig(const std::string& flag, const Environment& environment,
                                   const Files& files);

}  // namespace lockstep::kube
