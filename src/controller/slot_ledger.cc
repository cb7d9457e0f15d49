#include "controller/slot_ledger.h"

#include "kube/typed.h"

namespace lockstep::controller {

namespace {

constexpr std::string_view seen_annotation = "lockstep.dev/nodes-seen";

}  // namespace

Json Ledger::to_json(const ObjectKey& key, const std::string& resource_version) const {
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"}}},
                      {"annotations", JsonObject{{seen_annotation, seen}}}};
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  JsonObject data;
  for (const auto& [node, version] : slots) data[node] = version;
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", std::move(metadata)},
                    {"data", std::move(data)}};
}

Ledger Ledger::from_json(const Json& object) {
  Ledger ledger;
  if (const Json* annotations = find(object, "metadata", "annotations")) {
    ledger.seen = std::string(as_text(find(*annotations, seen_annotation)));
  }
  const Json* data = find(object, "data");
  if (data == nullptr || !data->is_object()) return ledger;
  for (const auto& [node, version] : data->get_object()) {
    ledger.slots[std::string(node)] = std::string(as_text(&version));
  }
  return ledger;
}

bool is_of_this_cluster(const Ledger& ledger, std::string_view resource_version) {
  return ledger.seen.empty() ||
         compare_versions(resource_version, ledger.seen) != VersionOrder::older;
}

SlotLedger::SlotLedger(kube::Api& api, Loop& loop, Random& random, Log& log, ObjectKey key)
    : api_(api),
      loop_(loop),
      log_(log),
      key_(std::move(key)),
      backoff_(kube::BackoffPolicy{milliseconds(200), seconds(30), 2.0, 0.5}, random) {}

void SlotLedger::update(Plan plan, Done done) {
  plan_ = std::move(plan);
  done_ = std::move(done);
  if (busy_) {
    again_ = true;
    return;
  }
  busy_ = true;
  round();
}

void SlotLedger::forget() {
  known_.reset();
  version_.clear();
}

void SlotLedger::round() {
  again_ = false;
  if (known_) {
    plan_and_write();
  } else {
    read();
  }
}

void SlotLedger::read() {
  api_.call(kube::get(resource::config_maps, key_),
            scope_.bind([this](kube::Reply reply) { on_read(std::move(reply)); }));
}

void SlotLedger::on_read(kube::Reply reply) {
  if (reply && reply->code == 404) {
    known_ = Ledger{};
    version_.clear();
  } else {
    auto document = kube::document_of(std::move(reply));
    if (!document) return later(document.error());
    take(**document);
  }
  if (done_) done_(*known_);
  plan_and_write();
}

void SlotLedger::take(const Json& object) {
  known_ = Ledger::from_json(object);
  version_ = std::string(text_at(object, "metadata", "resourceVersion"));
  if (is_of_this_cluster(*known_, version_)) return;
  log_.warning("the ledger of slots is from another cluster (restored from a backup?): ignored",
               {{"ledger", key_.text()}, {"slots", std::to_string(known_->slots.size())}});
  known_ = Ledger{};
}

void SlotLedger::plan_and_write() {
  auto wanted = plan_(*known_);
  if (!wanted || *wanted == *known_) return finish();
  Json body = wanted->to_json(key_, version_);
  kube::Request request = version_.empty()
                              ? kube::create(resource::config_maps, key_.ns, std::move(body))
                              : kube::update(resource::config_maps, key_, std::move(body));
  api_.call(std::move(request), scope_.bind([this, ledger = *wanted](kube::Reply reply) {
    on_written(ledger, std::move(reply));
  }));
}

void SlotLedger::on_written(const Ledger&, kube::Reply reply) {
  bool conflict = reply && (reply->code == 409 || (reply->code == 404 && !version_.empty()));
  if (conflict) {
    forget();
    return read();
  }
  auto document = kube::document_of(std::move(reply));
  if (!document) {
    // It may have been written anyway.
    forget();
    return later(document.error());
  }
  take(**document);
  if (done_) done_(*known_);
  finish();
}

void SlotLedger::later(Error error) {
  log_.warning("slots cannot be assigned", {{"ledger", key_.text()}, {"error", error.text()}});
  last_error_ = std::move(error);
  loop_.after(backoff_.next(), scope_.bind([this] { round(); }));
}

void SlotLedger::finish() {
  backoff_.reset();
  last_error_.reset();
  if (again_) return round();
  busy_ = false;
}

}  // namespace lockstep::controller
