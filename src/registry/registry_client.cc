#include "registry/registry_client.h"

#include <string_view>
#include <utility>

#include "base/strings.h"

namespace lockstep::registry {

namespace {

std::string header_of(const http::Response& answer, std::string_view wanted) {
  for (const auto& [name, value] : answer.headers) {
    if (name == wanted) return value;
  }
  return {};
}

bool is_success(const http::Response& answer) { return answer.code >= 200 && answer.code < 300; }

// A registry that says under which name it keeps what we sent must have received just that.
Result<void> check_digest(const http::Response& answer, const bundle::Blob& blob) {
  const std::string stored = header_of(answer, "docker-content-digest");
  if (stored.empty() || stored == blob.digest) return {};
  return failf(ErrorKind::conflict,
               "the registry stored {} where we sent {}: something on the way changed it", stored,
               blob.digest);
}

class Push {
 public:
  Push(RegistrySession& session, const Reference& reference)
      : session_(session), reference_(reference) {}

  Result<bool> is_present(const bundle::Blob& blob) {
    LOCKSTEP_TRY(const http::Response answer,
                 session_.ask({"HEAD", session_.address("blobs/" + blob.digest), "", ""}));
    // Anything but a clear yes is a no: to send it again does no harm, and is refused more clearly.
    return answer.code == 200;
  }

  Result<void> upload(const bundle::Blob& blob) {
    for (int attempt = 1;; ++attempt) {
      LOCKSTEP_TRY(const Address place, begin_upload());
      Question question{"PUT", place, "application/octet-stream", blob.content};
      const bool has_query = place.target.find('?') != std::string::npos;
      question.address.target += (has_query ? "&digest=" : "?digest=") + url_encode(blob.digest);
      const auto answer = session_.ask_once(question);
      // What was begun is lost when its end fails: then from the start.
      if (session_.wait_to_retry(answer, attempt)) continue;
      if (!answer) return fail(answer.error());
      if (!is_success(*answer)) return fail(session_.refusal("store a layer", *answer));
      return check_digest(*answer, blob);
    }
  }

  Result<void> put_manifest(const bundle::Blob& manifest) {
    LOCKSTEP_TRY(const http::Response answer,
                 session_.ask({"PUT", session_.address("manifests/" + reference_.tag),
                               manifest.media_type, manifest.content}));
    if (!is_success(answer)) return fail(session_.refusal("store the manifest", answer));
    return check_digest(answer, manifest);
  }

 private:
  Result<Address> begin_upload() {
    const Address start = session_.address("blobs/uploads/");
    LOCKSTEP_TRY(const http::Response answer, session_.ask({"POST", start, "", ""}));
    if (answer.code != 202) {
      Error refusal = session_.refusal("begin an upload", answer);
      if (answer.code == 404) refusal.message += ": must the repository be made first?";
      return fail(std::move(refusal));
    }
    return follow(start, header_of(answer, "location"));
  }

  RegistrySession& session_;
  const Reference& reference_;
};

Result<PushedArtifact> push_all(Push& push, const bundle::Artifact& artifact) {
  PushedArtifact pushed;
  for (const bundle::Blob& blob : artifact.blobs) {
    LOCKSTEP_TRY(const bool present, push.is_present(blob));
    if (!present) LOCKSTEP_CHECK(push.upload(blob));
    ++(present ? pushed.present : pushed.uploaded);
  }
  LOCKSTEP_CHECK(push.put_manifest(artifact.manifest));
  pushed.digest = artifact.manifest.digest;
  return pushed;
}

}  // namespace

Result<PushedArtifact> push_artifact(const bundle::Artifact& artifact, const Reference& reference,
                                     const RegistryFlags& flags, const RegistryWorld& world) {
  LOCKSTEP_TRY(RegistrySession session, RegistrySession::open(reference, flags, world));
  Push push(session, reference);
  auto pushed = push_all(push, artifact);
  if (!pushed) return fail(pushed.error().at(reference.text()));
  pushed->reference = reference.text();
  return pushed;
}

}  // namespace lockstep::registry
