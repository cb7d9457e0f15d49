#include "registry/docker_credentials.h"

#include <optional>
#include <utility>

#include "base/strings.h"
#include "data/json.h"

namespace lockstep::registry {

namespace {

// Docker Hub's logins are under the address of an API that is long gone.
constexpr std::string_view docker_hub_key = "https://index.docker.io/v1/";

// What the helpers print, and nothing else, when they have nothing for a server.
constexpr std::string_view nothing_known = "credentials not found";

std::string value_of(const kube::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string config_path(const kube::Environment& environment) {
  if (std::string directory = value_of(environment, "DOCKER_CONFIG"); !directory.empty()) {
    return directory + "/config.json";
  }
  const std::string home = value_of(environment, "HOME");
  return home.empty() ? "" : home + "/.docker/config.json";
}

std::string key_of(const std::string& host) {
  const bool is_docker_hub =
      host == "docker.io" || host == "index.docker.io" || host == "registry-1.docker.io";
  return is_docker_hub ? std::string(docker_hub_key) : host;
}

// Old keys are whole addresses: "https://host/v1/".
std::string_view host_in(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  }
  return key.substr(0, key.find('/'));
}

const Json* entry_for(const Json& config, const std::string& key) {
  const Json* entries = find(config, "auths");
  if (entries == nullptr || !entries->is_object()) return nullptr;
  if (const Json* exact = find(*entries, key)) return exact;
  for (const auto& [name, entry] : entries->as_object()) {
    if (lower(host_in(name)) == lower(host_in(key))) return &entry;
  }
  return nullptr;
}

Result<Login> login_in(const Json& entry) {
  Login login;
  login.username = text_at(entry, "username");
  login.password = text_at(entry, "password");
  login.identity_token = text_at(entry, "identitytoken");
  const std::string_view encoded = text_at(entry, "auth");
  if (encoded.empty()) return login;
  const auto decoded = base64_decode(encoded);
  const size_t colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return fail(ErrorKind::invalid, "`auth` is not base64 of user:password: log in again");
  }
  login.username = decoded->substr(0, colon);
  login.password = decoded->substr(colon + 1);
  // Docker used to pad with zeros.
  while (login.password.ends_with('\0')) login.password.pop_back();
  return login;
}

Result<Login> ask_helper(const std::string& helper, const std::string& key, Processes& processes) {
  ProcessSpec spec;
  // A name with a slash would be a path: a program that is not in PATH.
  if (helper.find('/') != std::string::npos) {
    return failf(ErrorKind::invalid, "\"{}\" is not the name of a credential helper", helper);
  }
  spec.command = {"docker-credential-" + helper, "get"};
  spec.input = key;
  spec.limit = seconds(30);
  auto ran = processes.run(spec);
  if (!ran) return fail(ran.error());
  const std::string place = spec.command[0];
  if (ran->exit_code != 0) {
    if (ran->output.find(nothing_known) != std::string::npos) return Login{};
    std::string said(trim(ran->error.empty() ? ran->output : ran->error));
    return failf(ErrorKind::unauthorized, "{} failed with exit code {}: {}", place, ran->exit_code,
                 said.substr(0, 300));
  }
  const auto answer = parse_json(ran->output);
  // Its output has a password: never into a message.
  if (!answer) return fail(ErrorKind::invalid, "its output is not JSON", place);
  Login login;
  login.username = text_at(*answer, "Username");
  login.password = text_at(*answer, "Secret");
  if (login.username == "<token>") {
    login.identity_token = std::exchange(login.password, {});
    login.username.clear();
  }
  return login;
}

Result<Login> login_from(const Json& config, const std::string& host, Processes& processes) {
  const std::string key = key_of(host);
  const Json* entry = entry_for(config, key);
  Login inline_login;
  if (entry != nullptr) {
    LOCKSTEP_TRY(inline_login, login_in(*entry));
  }
  std::string helper(text_at(config, "credHelpers", host_in(key)));
  if (helper.empty()) helper = text_at(config, "credHelpers", key);
  if (helper.empty()) helper = text_at(config, "credsStore");
  if (helper.empty()) return inline_login;
  auto login = ask_helper(helper, key, processes);
  // A file that was copied here without its helper may still say all that is needed.
  if (!inline_login.empty() && (!login || login->empty())) return inline_login;
  return login;
}

}  // namespace

Result<Login> find_login(const std::string& host, const kube::Environment& environment,
                         const Files& files, Processes& processes) {
  const std::string path = config_path(environment);
  if (path.empty()) return Login{};
  const auto text = files.read(path);
  if (!text && text.error().kind == ErrorKind::not_found) return Login{};
  if (!text) return fail(text.error());
  const auto config = parse_json(*text);
  // Only where: the text around it may be a password.
  if (!config) return failf(ErrorKind::invalid, "{}:{}: not JSON", path, config.error().place);
  auto login = login_from(*config, host, processes);
  if (!login) return fail(login.error().at(fmt::format("the login for {} in {}", host, path)));
  return login;
}

}  // namespace lockstep::registry
