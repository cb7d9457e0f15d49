#include "sim/actors/writer.h"

#include <utility>

namespace lockstep::sim {

namespace {

constexpr kube::BackoffPolicy retry_policy{milliseconds(200), seconds(20), 2.0, 0.5};

// Worth another try: nothing is known, or the server says "not now". "Exists" is an answer.
bool is_passing(const Error& error) {
  switch (error.kind) {
    case ErrorKind::conflict:
      // Another object of that name: it will not become the one that was meant.
      return error.message.find("Precondition failed") == std::string::npos;
    case ErrorKind::throttled:
    case ErrorKind::timed_out:
    case ErrorKind::unreachable:
    case ErrorKind::internal:
    case ErrorKind::cancelled:
    case ErrorKind::unauthorized:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Writer::send(kube::Request request, Done done, uint32_t tries) {
  attempt(std::make_shared<const kube::Request>(std::move(request)), std::move(done), 0, tries);
}

void Writer::attempt(SharedRequest request, Done done, uint32_t failures, uint32_t tries) {
  ++counts_.sent;
  auto answered = [this, request, done = std::move(done), failures,
                   tries](kube::Reply reply) mutable {
    Result<Document> document = kube::document_of(std::move(reply));
    if (document || !is_passing(document.error()) || failures + 1 >= tries) {
      if (!document && is_passing(document.error())) {
        ++counts_.gave_up;
        parts_.log.warning("gave up a write",
                           {{"request", request->describe()}, {"error", document.error().text()}});
      }
      if (done) done(std::move(document));
      return;
    }
    ++counts_.retried;
    Duration wait = kube::jittered(kube::backoff_delay(retry_policy, failures + 1),
                                   retry_policy.jitter, parts_.random);
    parts_.loop.after(wait, scope_.bind([this, request = std::move(request), done = std::move(done),
                                         failures, tries]() mutable {
      attempt(std::move(request), std::move(done), failures + 1, tries);
    }));
  };
  parts_.api.call(*request, scope_.bind(std::move(answered)));
}

kube::Request merge_patch(const ResourceType& type, const ObjectKey& key, Json patch) {
  return kube::patch(type, key, kube::PatchType::merge, std::move(patch));
}

kube::Request status_patch(const ResourceType& type, const ObjectKey& key, Json status) {
  kube::Request request = merge_patch(type, key, JsonObject{{"status", std::move(status)}});
  request.subresource = "status";
  return request;
}

kube::Request remove_exactly(const ResourceType& type, const ObjectKey& key, std::string_view uid,
                             int64_t grace_seconds) {
  JsonObject options{{"preconditions", JsonObject{{"uid", uid}}}};
  if (grace_seconds >= 0) options["gracePeriodSeconds"] = grace_seconds;
  return kube::remove(type, key, std::move(options));
}

}  // namespace lockstep::sim
