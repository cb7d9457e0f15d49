#include "cli/oci_output.h"

#include <fmt/format.h>

#include "bundle/oci_artifact.h"
#include "cli/cluster_session.h"
#include "registry/image_layout.h"
#include "registry/reference.h"
#include "registry/registry_client.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/output_folder.h"
#include "world/process.h"
#include "world/random.h"

namespace lockstep::cli {

namespace {

Result<registry::PushedArtifact> push(const BundleFlags& flags,
                                      const registry::Reference& reference,
                                      const bundle::Artifact& artifact) {
  EventLoop loop;
  SystemFiles files;
  SystemProcesses processes;
  SystemRandom random;
  kube::Environment environment = system_environment();
  registry::RegistryFlags how;
  how.plain_http = flags.plain_http;
  how.insecure_tls = flags.insecure_tls;
  return registry::push_artifact(artifact, reference, how,
                                 {environment, files, processes, random, loop});
}

}  // namespace

Result<void> write_oci(const BundleFlags& flags, const bundle::BundleFiles& files) {
  auto reference = registry::parse_reference(flags.output);
  if (!reference) return fail(reference.error().at("--output"));
  bundle::Artifact artifact =
      bundle::make_artifact(files, {.title = {}, .version = reference->tag});
  std::string where;
  if (reference->is_directory()) {
    LOCKSTEP_CHECK(registry::write_layout(artifact, reference->directory, reference->tag));
    where = fmt::format("{}@{}", reference->directory, artifact.manifest.digest);
  } else {
    LOCKSTEP_TRY(registry::PushedArtifact pushed, push(flags, *reference, artifact));
    where = fmt::format("{}/{}@{}", reference->host, reference->repository, pushed.digest);
  }
  fmt::print("{}: {} files as {}\n", flags.output, files.size(), where);
  if (flags.image_refs.empty()) return {};
  return write_output(flags.image_refs, where + "\n");
}

}  // namespace lockstep::cli
