#include "controller/object_reverter.h"

#include "fleet/keys.h"
#include "kube/typed.h"

namespace lockstep::controller {

namespace {

// If others write all the time, the next reconciliation retries it.
constexpr int most_tries = 3;

const ResourceType& type_of(const rollout::DriverTarget& driver) {
  return driver.kind == rollout::DriverKind::cluster_policy ? fleet::cluster_policies
                                                            : fleet::nvidia_drivers;
}

}  // namespace

void ObjectReverter::revert(const rollout::RolloutSpec& spec, const rollout::Revert& revert,
                            Done done) {
  if (!revert.to.fields) {
    return done(fail(ErrorKind::invalid, "the previous state of the object was not recorded"));
  }
  read(std::make_shared<Task>(Task{spec.driver, revert, std::move(done)}));
}

void ObjectReverter::read(const std::shared_ptr<Task>& task) {
  ++task->tries;
  api_.call(kube::get(type_of(task->driver), {"", task->driver.name}),
            scope_.bind([this, task](kube::Reply reply) {
              auto object = kube::document_of(std::move(reply));
              if (!object) return task->done(fail(object.error()));
              write(task, **object);
            }));
}

void ObjectReverter::write(const std::shared_ptr<Task>& task, const Json& object) {
  const auto now = rollout::read_driver_fields(task->driver.kind, object);
  const rollout::DriverFields& then = *task->revert.to.fields;
  const std::string_view version = text_at(object, "metadata", "resourceVersion");
  if (*now == then) return task->done(std::string(version));
  if (task->revert.from.fields && *now != *task->revert.from.fields) {
    return task->done(
        failf(ErrorKind::conflict, "a user has set it to {}", print_json(now->values)));
  }
  Json patch = rollout::restoring_patch(task->driver.kind, *now, then, version);
  api_.call(kube::patch(type_of(task->driver), {"", task->driver.name}, kube::PatchType::merge,
                        std::move(patch)),
            scope_.bind([this, task](kube::Reply reply) {
              if (reply && reply->ok()) return task->done(kube::peek_body_version(reply->body));
              Error error = reply ? reply->error() : reply.error();
              const bool is_behind = error.kind == ErrorKind::conflict;
              if (is_behind && task->tries < most_tries) return read(task);
              task->done(fail(std::move(error)));
            }));
}

}  // namespace lockstep::controller
