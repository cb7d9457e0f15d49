// A registry on the loopback address that does as the test says, and what a push to it needs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/strings.h"
#include "bundle/oci_artifact.h"
#include "http/scripted_server_test_util.h"
#include "registry/registry_client.h"

namespace lockstep::registry::testing {

using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;

// A helper is never run in these tests.
class NoProcesses final : public Processes {
 public:
  Result<ProcessOutput> run(const ProcessSpec&) override {
    return fail(ErrorKind::unsupported, "not in this test");
  }
  void start(ProcessSpec, Loop&, std::function<void(Result<ProcessOutput>)>) override {}
};

// Everything that is handed in to a push, and the push itself.
struct Pusher {
  Pusher() { flags.backoff.initial = milliseconds(1); }

  Result<PushedArtifact> push(const std::string& host) {
    return push_artifact(artifact, {"", host, "team/bundles", "v1"}, flags,
                         {environment, files, processes, random, loop});
  }
  void log_in(const std::string& host, const std::string& fields) {
    environment["HOME"] = "/home/me";
    files.contents["/home/me/.docker/config.json"] =
        fmt::format(R"({{"auths":{{"{}":{{{}}}}}}})", host, fields);
  }

  bundle::Artifact artifact = bundle::make_artifact({{"recipe.yaml", {"a: 1\n", false}}});
  RegistryFlags flags;
  kube::Environment environment;
  MemoryFiles files;
  NoProcesses processes;
  SeededRandom random{1};
  EventLoop loop;
};

class FakeRegistry {
 public:
  // Answers in place of the registry when it returns true.
  using Interceptor = std::function<bool(const ReceivedRequest&, ServerConnection&)>;

  explicit FakeRegistry(Interceptor interceptor = nullptr)
      : interceptor_(std::move(interceptor)),
        server_([this](const ReceivedRequest& request, ServerConnection& connection) {
          if (interceptor_ && interceptor_(request, connection)) return;
          answer(request, connection);
        }) {}

  std::string host() const { return fmt::format("127.0.0.1:{}", server_.port()); }
  std::vector<ReceivedRequest> requests() const { return server_.requests(); }
  size_t count(const std::string& method, const std::string& part) const {
    size_t number = 0;
    for (const ReceivedRequest& request : requests()) {
      number += request.method == method && request.target.find(part) != std::string::npos ? 1 : 0;
    }
    return number;
  }
  void keep(const bundle::Blob& blob) {
    const std::lock_guard lock(mutex_);
    blobs_[blob.digest] = blob.content;
  }
  std::map<std::string, std::string> blobs() const {
    const std::lock_guard lock(mutex_);
    return blobs_;
  }
  std::string manifest() const {
    const std::lock_guard lock(mutex_);
    return manifest_;
  }
  // Where an upload goes on; may hold a query of its own.
  std::string upload_location = "/v2/team/bundles/blobs/uploads/1?state=abc";

 private:
  void answer(const ReceivedRequest& request, ServerConnection& connection) {
    const std::lock_guard lock(mutex_);
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (request.method == "HEAD") {
      // As for a GET: with the length of what does not follow.
      const auto found = blobs_.find(name);
      connection.send(
          found == blobs_.end()
              ? "HTTP/1.1 404 Not Found\r\nContent-Length: 162\r\n\r\n"
              : fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", found->second.size()));
    } else if (request.method == "POST" && path == "/v2/team/bundles/blobs/uploads/") {
      connection.answer(202, "", "Location: " + upload_location + "\r\n");
    } else if (request.method == "PUT" && path.find("/manifests/") != std::string::npos) {
      manifest_ = request.body;
      connection.answer(201, "",
                        "Docker-Content-Digest: " + bundle::digest_of(request.body) + "\r\n");
    } else if (request.method == "PUT") {
      const size_t at = request.target.find("digest=");
      const std::string digest = url_decode(request.target.substr(at + 7), true).value();
      if (digest != bundle::digest_of(request.body)) {
        return connection.answer(
            400, R"({"errors":[{"code":"DIGEST_INVALID","message":"did not match"}]})");
      }
      blobs_[digest] = request.body;
      connection.answer(201, "");
    } else {
      connection.answer(404, "");
    }
  }

  Interceptor interceptor_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> blobs_;
  std::string manifest_;
  ScriptedServer server_;
};

}  // namespace lockstep::registry::testing
