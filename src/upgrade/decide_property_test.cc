// Whatever a node looks like: no decision crashes, hangs, loops, evicts a protected pod, or removes
// a cordon that is not ours.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "upgrade/evicting.h"
#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::decide_property_test {
namespace {

bool coin() { return *rc::gen::arbitrary<bool>(); }
int one_of(int count) { return *rc::gen::inRange(0, count); }

Pod any_state_of(Pod pod) {
  switch (one_of(7)) {
    case 0:
      return not_ready(pod);
    case 1:
      return waiting_in(pod, "ImagePullBackOff");
    case 2:
      return crashing(pod, one_of(20));
    case 3:
      return terminating(pod);
    case 4:
      pod.phase = PodPhase::failed;
      return pod;
    case 5:
      pod.container_statuses.clear();
      return pod;
    default:
      return pod;
  }
}

fleet::PodOnNode any_pod(int number) {
  std::string name = "p" + std::to_string(number);
  Time created = test_time - seconds(one_of(1000));
  Pod pod = coin() ? make_pod(name, created) : make_daemon_pod(name, created);
  if (one_of(4) == 0) pod = without_controller(pod);
  if (one_of(4) == 0) pod.spec.has_empty_dir = true;
  if (one_of(6) == 0) pod.meta.annotations = {{"kubernetes.io/config.mirror", "x"}};
  if (one_of(3) == 0) pod.meta.labels = {{"app", "job"}};
  fleet::PodOnNode entry{share(any_state_of(pod)), coin(), {}, {}, {}};
  if (one_of(3) == 0) {
    entry.tries = fleet::EvictionTries{static_cast<uint32_t>(one_of(3)), {}, coin(), "no", coin()};
    entry.pause = std::max(seconds(one_of(60) - 30), Duration::zero());
  }
  return entry;
}

Scene any_scene() {
  Scene scene;
  State state = fleet::all_states[static_cast<size_t>(one_of(11))];
  scene.in(state, seconds(*rc::gen::element(0, 10, 299, 300, 400, 1000, 2000, -5, -5000)));
  if (one_of(4) == 0) scene.node.unschedulable = coin();
  if (one_of(5) == 0) scene.label(scene.rules.keys.skip, "true");
  for (const auto& [key, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {scene.rules.keys.requested, "true"},
           {scene.rules.keys.safe_load, "gpu-1"},
           {scene.rules.keys.initially_unschedulable, "true"},
           {scene.rules.keys.wait_start, "9223372036854775807"},
           {scene.rules.keys.validation_start, "-9223372036854775808"},
           {std::string(fleet::since_annotation), "1680-01-01T00:00:00Z"},
           {std::string(fleet::failure_annotation), "DriverCrashLoop: x"},
           {std::string(fleet::failure_annotation), "NoValidatorPod"},
           {std::string(fleet::failed_revision_annotation), "new"},
           {std::string(fleet::failed_revision_annotation), "old"}}) {
    if (one_of(6) == 0) scene.annotate(key, value);
  }
  scene.driver.reset();
  if (one_of(6) != 0) {
    Pod pod = make_driver_pod(coin() ? "new" : "old", test_time - seconds(one_of(4000)));
    if (one_of(6) == 0) pod.meta.owners.clear();
    if (one_of(3) == 0) pod = with_digest(pod, "abc");
    scene.driver = any_state_of(pod);
  }
  if (one_of(3) == 0) {
    scene.set->pod_template.spec = with_digest(make_driver_pod("new"), "abc").spec;
  }
  if (one_of(8) == 0) scene.set = nullptr;
  if (one_of(8) == 0) scene.newest = "";
  for (int i = one_of(4); i > 0; --i) scene.pods.push_back(any_pod(i));
  for (int i = one_of(3); i > 0; --i) {
    scene.clients.push_back({"a/b", coin(), coin() ? any_pod(10 + i).pod : nullptr});
  }
  for (int i = one_of(3); i > 0; --i) scene.validators.push_back(*any_pod(20 + i).pod);
  if (one_of(3) == 0) scene.slice_versions = {"570.1.2"};
  scene.granted = state == State::required && coin();
  scene.policy.drain.enable = coin();
  scene.policy.pod_deletion.force = coin();
  scene.policy.pod_deletion.delete_empty_dir = coin();
  if (coin()) scene.policy.pod_deletion.pods = selector("app=job");
  if (coin()) {
    scene.policy.wait.pods = selector("app=job");
    scene.policy.wait.timeout = seconds(100);
  }
  return scene;
}

const fleet::PodOnNode* find_entry(const Scene& scene, const fleet::PodPtr& pod) {
  for (const auto& entry : scene.pods) {
    if (entry.pod == pod) return &entry;
  }
  return nullptr;
}

RC_GTEST_PROP(Decide, NeverHangsWithoutATimerWhileANodeIsUnderWay, ()) {
  Scene scene = any_scene();
  Decision decision = scene.decide();
  RC_ASSERT(!decision.reason.name.empty());
  if (fleet::is_active(scene.state()) && !decision.writes()) {
    RC_ASSERT(decision.look_again.has_value());
    RC_ASSERT(*decision.look_again > Duration::zero());
  }
}

// If nothing about the node changed but the time, every upgrade would end, well or not.
RC_GTEST_PROP(Decide, EndsEveryUpgradeInBoundedTimeAndWrites, ()) {
  Scene scene = any_scene();
  int patches = 0;
  for (int step = 0; step < 60 && fleet::is_active(scene.state()); ++step) {
    Decision decision = scene.decide();
    RC_LOG() << to_string(scene.state()) << ": " << decision.reason.name.view() << std::endl;
    if (decision.patch() != nullptr) {
      auto before = scene.node;
      scene.apply(*decision.patch());
      before.meta.resource_version = scene.node.meta.resource_version;
      RC_ASSERT(!(before == scene.node));
      RC_ASSERT(++patches <= 14);
    } else if (decision.removals() != nullptr) {
      // What was to go is gone; what a DaemonSet owns comes back fresh.
      for (const PodRemoval& removal : *decision.removals()) {
        std::erase_if(scene.pods, [&](const auto& entry) { return entry.pod == removal.pod; });
        std::erase_if(scene.clients, [&](const auto& client) { return client.pod == removal.pod; });
        std::erase_if(scene.validators, [&](const Pod& pod) { return pod == *removal.pod; });
        if (scene.driver && removal.pod->meta.uid == scene.driver->meta.uid) {
          scene.driver.reset();
          if (scene.set == nullptr) continue;
          scene.driver = make_driver_pod("new", scene.now + seconds(1));
          scene.driver->meta.uid = Text("uid-of-successor-" + std::to_string(step));
        }
      }
      scene.now = scene.now + seconds(2);
    } else {
      RC_ASSERT(decision.look_again.has_value());
      scene.now = scene.now + *decision.look_again;
      for (auto& entry : scene.pods) {
        entry.pause = std::max(entry.pause - *decision.look_again, Duration::zero());
      }
    }
  }
  RC_ASSERT(!fleet::is_active(scene.state()));
}

// What a rollout makes of a failure depends on it (rollout/rollout_progress.cc).
RC_GTEST_PROP(Decide, ItsReasonTellsWhetherANodeFailedBeforeItsDriverWasTouched, ()) {
  Scene scene = any_scene();
  for (int step = 0; step < 60 && fleet::is_active(scene.state()); ++step) {
    const State from = scene.state();
    Decision decision = scene.decide();
    if (const NodePatch* patch = decision.patch()) {
      const bool fails = patch->to == State::failed;
      const bool is_before = from == State::pod_deletion || from == State::drain;
      if (fails) RC_ASSERT(is_eviction_failure(decision.reason.name) == is_before);
      scene.apply(*patch);
    } else if (decision.look_again) {
      scene.now = scene.now + *decision.look_again;
      for (auto& entry : scene.pods) {
        entry.pause = std::max(entry.pause - *decision.look_again, Duration::zero());
      }
    } else {
      break;
    }
  }
}

RC_GTEST_PROP(Decide, NeverTakesAwayACordonThatWasThereBefore, ()) {
  Scene scene = any_scene();
  scene.annotate(scene.rules.keys.initially_unschedulable, "true");
  scene.node.unschedulable = true;
  for (int step = 0; step < 20; ++step) {
    Decision decision = scene.decide();
    if (decision.patch() == nullptr) break;
    scene.apply(*decision.patch());
    RC_ASSERT(scene.node.unschedulable);
  }
}

RC_GTEST_PROP(Decide, RemovesOnlyWhomThePolicyAllows, ()) {
  Scene scene = any_scene();
  State state = scene.state();
  Decision decision = scene.decide();
  if (decision.removals() == nullptr) return;
  RC_ASSERT(!decision.removals()->empty());
  RC_ASSERT(state == State::pod_deletion || state == State::drain || state == State::pod_restart ||
            state == State::validation);
  for (const PodRemoval& removal : *decision.removals()) {
    const fleet::PodOnNode* entry = find_entry(scene, removal.pod);
    if (state == State::pod_restart || state == State::validation) {
      RC_ASSERT(removal.how == Removal::remove);
      continue;
    }
    RC_ASSERT(entry != nullptr);
    RC_ASSERT(!removal.pod->is_mirror() && !removal.pod->is_finished());
    RC_ASSERT(!removal.pod->is_owned_by_daemon_set());
    if (removal.how == Removal::force_remove) {
      RC_ASSERT(removal.pod->meta.is_deleting());
      continue;
    }
    RC_ASSERT(removal.how == Removal::evict);
    const EvictionPolicy& policy =
        state == State::drain ? scene.policy.drain.eviction : scene.policy.pod_deletion;
    RC_ASSERT(policy.force || removal.pod->meta.controller() != nullptr);
    RC_ASSERT(policy.delete_empty_dir || !removal.pod->spec.has_empty_dir);
    // All or none.
    for (const auto& other : scene.pods) {
      Verdict verdict = state == State::drain
                            ? judge_for_drain(other, scene.policy.drain, scene.rules)
                            : judge_gpu_pod(other, policy);
      RC_ASSERT(verdict.fate != Fate::protected_);
    }
  }
}

RC_GTEST_PROP(Decide, NeverTouchesTheDriverUnderAGpuPodUnlessTheChangeIsCosmetic, ()) {
  Scene scene = any_scene();
  Decision decision = scene.decide();
  if (decision.removals() == nullptr || !scene.driver) return;
  bool touched = false;
  for (const PodRemoval& removal : *decision.removals()) {
    touched = touched || removal.pod->meta.uid == scene.driver->meta.uid;
  }
  if (!touched) return;
  RC_ASSERT(scene.state() == State::pod_restart);
  RC_ASSERT(scene.node.unschedulable);
  if (has_gpu_pods_to_move(scene.view(), scene.policy.pod_deletion)) {
    RC_ASSERT(scene.view().driver.is_cosmetic_change());
  }
}

TEST(Decide, IsPure) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  EXPECT_EQ(scene.decide().write, scene.decide().write);
}

}  // namespace
}  // namespace lockstep::upgrade::decide_property_test
