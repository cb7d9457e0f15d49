#include "kube/exec_credentials.h"

#include <utility>

#include "base/strings.h"
#include "data/json.h"

namespace lockstep::kube {

namespace {

std::string last_line(std::string_view text) {
  constexpr size_t enough = 300;
  text = trim(text);
  const size_t line_break = text.rfind('\n');
  if (line_break != std::string_view::npos) text = trim(text.substr(line_break + 1));
  return std::string(text.substr(0, enough));
}

Result<JsonObject> cluster_info(const ClusterConfig& cluster, const Files& files) {
  JsonObject info;
  info["server"] = cluster.server;
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (cluster.insecure_skip_tls_verify) info["insecure-skip-tls-verify"] = true;
  std::string authority = cluster.certificate_authority.data;
  if (authority.empty() && !cluster.certificate_authority.file.empty()) {
    LOCKSTEP_TRY(authority, files.read(cluster.certificate_authority.file));
  }
  if (!authority.empty()) info["certificate-authority-data"] = base64_encode(authority);
  if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
  if (cluster.disable_compression) info["disable-compression"] = true;
  if (!cluster.exec_extension.is_null()) info["config"] = cluster.exec_extension;
  return info;
}

}  // namespace

Result<std::string> exec_info(const ExecConfig& exec, const ClusterConfig& cluster,
                              const Files& files) {
  JsonObject spec;
  if (exec.provide_cluster_info) {
    LOCKSTEP_TRY(spec["cluster"], cluster_info(cluster, files));
  }
  spec["interactive"] = false;
  JsonObject info;
  info["kind"] = "ExecCredential";
  info["apiVersion"] = exec.api_version;
  info["spec"] = std::move(spec);
  return print_json(info);
}

Result<ExecAnswer> parse_exec_answer(std::string_view output, const std::string& api_version) {
  auto parsed = parse_json(output);
  if (!parsed) {
    return fail(ErrorKind::invalid, "its output is not JSON: " + parsed.error().text());
  }
  const Json& document = *parsed;
  if (text_at(document, "kind") != "ExecCredential" ||
      text_at(document, "apiVersion") != api_version) {
    return failf(ErrorKind::invalid, "it answered with {} {}, not with the ExecCredential {} asked",
                 text_at(document, "apiVersion"), text_at(document, "kind"), api_version);
  }
  const Json* status = find(document, "status");
  if (status == nullptr || !status->is_object()) {
    return fail(ErrorKind::invalid, "its answer has no status");
  }
  ExecAnswer answer;
  answer.token = trim(text_at(*status, "token"));
  answer.certificate = text_at(*status, "clientCertificateData");
  answer.key = text_at(*status, "clientKeyData");
  if (answer.certificate.empty() != answer.key.empty()) {
    return fail(ErrorKind::invalid, "its answer has only one of certificate and key");
  }
  if (answer.token.empty() && answer.certificate.empty()) {
    return fail(ErrorKind::invalid, "its answer has neither a token nor a certificate");
  }
  if (const std::string_view expires = text_at(*status, "expirationTimestamp"); !expires.empty()) {
    auto time = parse_rfc3339(expires);
    if (!time) return fail(ErrorKind::invalid, "expirationTimestamp: " + time.error().text());
    answer.expires = *time;
  }
  return answer;
}

ExecCredentials::ExecCredentials(ExecConfig exec, ClusterConfig cluster,
                                 std::unique_ptr<FileCredentials> base, const Files& files,
                                 Processes& processes, Loop& loop)
    : exec_(std::move(exec)),
      cluster_(std::move(cluster)),
      base_(std::move(base)),
      files_(files),
      processes_(processes),
      loop_(loop) {}

void ExecCredentials::get(IdentityCallback done) {
  if (cached_ && cached_->expires.is_set() && cached_->expires <= loop_.now()) cached_.reset();
  if (cached_) return done(identity());
  waiting_.push_back(std::move(done));
  if (!running_) start_plugin();
}

bool ExecCredentials::refused(const Identity& identity) {
  base_->refused(identity);
  if (!cached_) return true;  // forgotten or being renewed already
  const bool same_token =
      cached_->token.empty() || "Bearer " + cached_->token == identity.authorization;
  const bool same_certificate =
      cached_->certificate.empty() ||
      (identity.certificate && *identity.certificate == cached_->certificate);
  // Many requests are refused together: only the first of them may throw the answer away.
  if (same_token && same_certificate) cached_.reset();
  return true;
}

void ExecCredentials::start_plugin() {
  running_ = true;
  // Never inside get(): a plugin that cannot be started answers like one that fails.
  auto ended =
      scope_.bind([this](Result<ProcessOutput> output) { plugin_ended(std::move(output)); });
  auto info = exec_info(exec_, cluster_, files_);
  if (!info) {
    loop_.post([ended, error = info.error()]() mutable { ended(fail(error)); });
    return;
  }
  ProcessSpec spec;
  spec.command.push_back(exec_.command);
  spec.command.insert(spec.command.end(), exec_.arguments.begin(), exec_.arguments.end());
  spec.environment = exec_.environment;
  spec.environment["KUBERNETES_EXEC_INFO"] = std::move(*info);
  processes_.start(std::move(spec), loop_, std::move(ended));
}

Result<ExecAnswer> ExecCredentials::judge(Result<ProcessOutput> output) const {
  const auto with_hint = [this](ErrorKind kind, std::string message) {
    if (!exec_.install_hint.empty()) message += "\n\n" + std::string(trim(exec_.install_hint));
    return fail(kind, std::move(message), "credential plugin " + exec_.command);
  };
  if (!output) return with_hint(output.error().kind, output.error().text());
  if (output->exit_code != 0) {
    const std::string reason = last_line(output->error);
    return with_hint(ErrorKind::unauthorized,
                     fmt::format("failed with exit code {}{}{}", output->exit_code,
                                 reason.empty() ? "" : ": ", reason));
  }
  auto answer = parse_exec_answer(output->output, exec_.api_version);
  if (!answer) return fail(answer.error().at("credential plugin " + exec_.command));
  return answer;
}

void ExecCredentials::plugin_ended(Result<ProcessOutput> output) {
  running_ = false;
  // From here on only local values: a waiting callback may destroy us.
  const auto waiting = std::exchange(waiting_, {});
  Result<Identity> result = fail(ErrorKind::internal, "");
  if (auto judged = judge(std::move(output))) {
    cached_ = std::move(*judged);
    result = identity();
  } else {
    result = fail(judged.error());
  }
  for (const auto& done : waiting) done(result);
}

Result<Identity> ExecCredentials::identity() {
  LOCKSTEP_TRY(Identity identity, base_->current());
  if (!cached_->token.empty()) {
    auto authorization = bearer(cached_->token);
    if (!authorization) {
      return fail(authorization.error().at("credential plugin " + exec_.command));
    }
    identity.authorization = std::move(*authorization);
  }
  if (!cached_->certificate.empty()) {
    identity.certificate = std::make_shared<const std::string>(cached_->certificate);
    identity.key = std::make_shared<const std::string>(cached_->key);
  }
  return identity;
}

}  // namespace lockstep::kube
