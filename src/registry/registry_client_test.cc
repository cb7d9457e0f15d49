#include "registry/registry_client.h"

#include <atomic>

#include <gtest/gtest.h>

#include "registry/fake_registry_test_util.h"

namespace lockstep::registry::registry_client_test {
namespace {

using testing::FakeRegistry;
using testing::Pusher;
using testing::ReceivedRequest;
using testing::ServerConnection;

void expect_failure(const Result<PushedArtifact>& pushed, ErrorKind kind,
                    const std::string& wanted) {
  ASSERT_FALSE(pushed.has_value());
  EXPECT_EQ(pushed.error().kind, kind) << pushed.error().text();
  EXPECT_NE(pushed.error().text().find(wanted), std::string::npos) << pushed.error().text();
}

TEST(PushArtifact, BlobsFirstThenTheManifest) {
  FakeRegistry registry;
  Pusher pusher;
  const auto pushed = pusher.push(registry.host());
  ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
  EXPECT_EQ(pushed->reference, "oci://" + registry.host() + "/team/bundles:v1");
  EXPECT_EQ(pushed->digest, pusher.artifact.manifest.digest);
  EXPECT_EQ(pushed->uploaded, 2U);
  EXPECT_EQ(registry.manifest(), pusher.artifact.manifest.content);
  for (const bundle::Blob& blob : pusher.artifact.blobs) {
    EXPECT_EQ(registry.blobs()[blob.digest], blob.content);
  }
  const ReceivedRequest last = registry.requests().back();
  EXPECT_EQ(last.target, "/v2/team/bundles/manifests/v1");
  EXPECT_EQ(last.header("content-type"), "application/vnd.oci.image.manifest.v1+json");
  EXPECT_EQ(last.header("authorization"), "") << "nobody asked who we are";
}

TEST(PushArtifact, WhatIsThereIsNotSentAgain) {
  FakeRegistry registry;
  Pusher pusher;
  registry.keep(pusher.artifact.blobs[0]);
  const auto pushed = pusher.push(registry.host());
  ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
  EXPECT_EQ(pushed->uploaded, 1U);
  EXPECT_EQ(pushed->present, 1U);
  EXPECT_EQ(registry.count("POST", "/uploads/"), 1U);
  EXPECT_EQ(pusher.push(registry.host()).value().present, 2U);
}

TEST(PushArtifact, UploadsGoWhereTheRegistrySays) {
  for (const char* place : {"/elsewhere", "/elsewhere?a=b", "1?a=b", "absolute"}) {
    FakeRegistry registry;
    registry.upload_location = place == std::string("absolute")
                                   ? "http://" + registry.host() + "/elsewhere?state=x%3D"
                                   : std::string(place);
    Pusher pusher;
    const auto pushed = pusher.push(registry.host());
    ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
    EXPECT_EQ(registry.blobs().size(), 2U) << place;
  }
}

TEST(PushArtifact, ABusyRegistryIsAskedAgain) {
  std::atomic<int> failures = 0;
  FakeRegistry registry([&](const ReceivedRequest& request, ServerConnection& connection) {
    // The first of each kind of request fails, with 503, 500, 429 in turn.
    static const std::vector<std::string> parts = {"HEAD", "POST", "PUT /v2/team/bundles/blobs",
                                                   "PUT /v2/team/bundles/manifests"};
    const size_t turn = static_cast<size_t>(failures.load());
    if (turn >= parts.size() || !(request.method + " " + request.target).starts_with(parts[turn])) {
      return false;
    }
    ++failures;
    if (request.method == "HEAD") {
      connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    } else {
      connection.answer(turn % 2 == 0 ? 500 : 429, "", "Retry-After: 0\r\n");
    }
    return true;
  });
  Pusher pusher;
  const auto pushed = pusher.push(registry.host());
  ASSERT_TRUE(pushed.has_value()) << pushed.error().text();
  EXPECT_EQ(failures, 4);
  EXPECT_EQ(registry.blobs().size(), 2U);
  EXPECT_EQ(registry.count("POST", "/uploads/"), 4U) << "a failed upload begins anew";
}

TEST(PushArtifact, ARegistryThatStaysDownIsGivenUp) {
  FakeRegistry registry([](const ReceivedRequest&, ServerConnection& connection) {
    connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    return true;
  });
  Pusher pusher;
  expect_failure(pusher.push(registry.host()), ErrorKind::unreachable,
                 "refused to begin an upload: 503");
  EXPECT_EQ(registry.count("POST", ""), 4U);
  EXPECT_EQ(registry.count("HEAD", ""), 4U);
}

TEST(PushArtifact, AWaitThatIsTooLongIsNotWaited) {
  FakeRegistry registry([](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.method != "POST") return false;
    connection.answer(429, R"({"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]})",
                      "Retry-After: 3600\r\n");
    return true;
  });
  Pusher pusher;
  expect_failure(pusher.push(registry.host()), ErrorKind::throttled, "TOOMANYREQUESTS: slow down");
  EXPECT_EQ(registry.count("POST", ""), 1U);
}

TEST(PushArtifact, ARefusalIsToldInTheRegistrysWords) {
  FakeRegistry registry([](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.target.find("/manifests/") == std::string::npos) return false;
    connection.answer(400,
                      R"({"errors":[{"code":"MANIFEST_INVALID","message":"no artifacts here"},)"
                      R"({"code":"UNSUPPORTED"}]})");
    return true;
  });
  Pusher pusher;
  expect_failure(
      pusher.push(registry.host()), ErrorKind::invalid,
      "refused to store the manifest: 400 MANIFEST_INVALID: no artifacts here; UNSUPPORTED");
  EXPECT_EQ(registry.count("PUT", "/manifests/"), 1U);
}

TEST(PushArtifact, ABlobThatArrivesDamagedIsAnError) {
  FakeRegistry registry;
  Pusher pusher;
  pusher.artifact.blobs[1].content += "x";
  expect_failure(pusher.push(registry.host()), ErrorKind::invalid,
                 "refused to store a layer: 400 DIGEST_INVALID: did not match");
  EXPECT_EQ(registry.manifest(), "") << "no manifest without its blobs";
}

TEST(PushArtifact, ARegistryThatStoredSomethingElseIsNotBelieved) {
  FakeRegistry registry([](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.target.find("/manifests/") == std::string::npos) return false;
    connection.answer(201, "", "Docker-Content-Digest: sha256:0000\r\n");
    return true;
  });
  Pusher pusher;
  expect_failure(pusher.push(registry.host()), ErrorKind::conflict,
                 "the registry stored sha256:0000");
}

TEST(PushArtifact, AMissingRepositoryIsNamed) {
  FakeRegistry registry([](const ReceivedRequest& request, ServerConnection& connection) {
    if (request.method != "POST") return false;
    connection.answer(404,
                      R"({"errors":[{"code":"NAME_UNKNOWN","message":"no such repository"}]})");
    return true;
  });
  Pusher pusher;
  expect_failure(pusher.push(registry.host()), ErrorKind::not_found,
                 "NAME_UNKNOWN: no such repository: must the repository be made first?");
}

TEST(PushArtifact, NobodyThereIsSaidAtOnce) {
  std::string host;
  {
    host = FakeRegistry().host();
  }
  Pusher pusher;
  pusher.flags.backoff.initial = hours(1);  // it would wait indefinitely
  expect_failure(pusher.push(host), ErrorKind::unreachable,
                 "connection refused: is the server running");
}

TEST(PushArtifact, AStoppedLoopEndsThePush) {
  Pusher pusher;
  FakeRegistry registry([&](const ReceivedRequest& request, ServerConnection&) {
    if (request.method == "POST") pusher.loop.stop();
    return request.method == "POST";
  });
  expect_failure(pusher.push(registry.host()), ErrorKind::cancelled, "asked to stop");
}

}  // namespace
}  // namespace lockstep::registry::registry_client_test
