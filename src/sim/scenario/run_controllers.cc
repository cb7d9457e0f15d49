#include "sim/scenario/run_controllers.h"

#include <string>
#include <utility>

#include "sim/actors/time_zones.h"

namespace lockstep::sim {

void RunControllers::start(kube::Api& api, Witness& witness) {
  clear();
  for (int i = 0; i < scenario_.controllers; ++i) {
    if (scenario_.conduct) {
      start_conducting(own_api(api, witness));
      continue;
    }
    controller::UpgradeOptions options;
    options.fleet = fleet_options();
    kube::Api& own = own_api(api, witness);
    upgrades_.push_back(std::make_unique<controller::UpgradeController>(own, clock_, random_, log_,
                                                                        std::move(options)));
    upgrades_.back()->start();
    upgrades_.back()->lead();
    if (rollout_.enabled()) start_rollouts(own, *upgrades_.back());
    if (scenario_.heal_plugins) start_failures(api, *upgrades_.back());
  }
}

view::FleetWatchOptions RunControllers::fleet_options() const {
  view::FleetWatchOptions options;
  options.key_domain = scenario_.key_domain;
  options.restarts_clients = scenario_.reroll_clients;
  options.rollouts.enabled = rollout_.enabled();
  options.rollouts.time_zones = rollout_time_zones();
  return options;
}

// Those that use others' watches go first.
void RunControllers::clear() {
  failures_.clear();
  rollouts_.clear();
  watches_.clear();
  upgrades_.clear();
  own_apis_.clear();
}

// The API of one controller and its parts, which identifies its calls.
kube::Api& RunControllers::own_api(kube::Api& api, Witness& witness) {
  int life = ++lives_;
  own_apis_.push_back(std::make_unique<ObservedApi>(
      api, [&witness, life](const kube::Request& request) { witness.see_call(life, request); },
      [&witness, life](const kube::Request& request, const kube::Reply& reply) {
        witness.see_reply(life, request, reply);
      }));
  if (Sight* sight = witness.sight()) {
    own_apis_.back()->on_watch(
        {[sight, life](const kube::WatchRequest& request) { sight->see_watch(life, request); },
         [sight, life](const kube::WatchRequest& request, const kube::WatchEvent& event) {
           sight->see_event(life, request, event);
         },
         [sight, life](const kube::WatchRequest& request, const Error& error) {
           sight->see_end(life, request, error);
         }});
  }
  return *own_apis_.back();
}

void RunControllers::start_rollouts(kube::Api& api, controller::UpgradeController& upgrade) {
  controller::RolloutOptions options;
  options.git = rollout_.matrix_store();
  options.reason_of = [&upgrade](const std::string& node) { return upgrade.reason_of(node); };
  rollouts_.push_back(std::make_unique<controller::RolloutController>(
      api, clock_, random_, log_, upgrade.watch(), std::move(options)));
  rollouts_.back()->start();
  rollouts_.back()->lead();
}

std::map<std::string, fleet::Reason> RunControllers::reasons() const {
  if (upgrades_.empty()) return {};
  return upgrades_.front()->reasons();
}

// Beside a controller that takes the nodes' steps and knows nothing of waves.
void RunControllers::start_conducting(kube::Api& api) {
  if (!nvidia_) {
    nvidia_ = std::make_unique<NvidiaController>(
        Parts{cluster_.api("nvidia-gpu-operator"), cluster_.loop, random_, log_});
  }
  view::FleetWatchOptions fleet;
  fleet.rollouts.enabled = true;
  fleet.rollouts.time_zones = rollout_time_zones();
  fleet.reads_notes = false;
  watches_.push_back(
      std::make_unique<view::FleetWatch>(api, clock_, random_, log_, std::move(fleet)));
  watches_.back()->start();
  controller::RolloutOptions options;
  options.conduct = true;
  options.git = rollout_.matrix_store();
  rollouts_.push_back(std::make_unique<controller::RolloutController>(
      api, clock_, random_, log_, *watches_.back(), std::move(options)));
  rollouts_.back()->start();
  rollouts_.back()->lead();
}

void RunControllers::start_failures(kube::Api& api, controller::UpgradeController& upgrade) {
  controller::FailureOptions options;
  if (scenario_.fail_bad_configs) options.on_bad_config = upgrade::OnBadConfig::fail;
  failures_.push_back(std::make_unique<controller::FailureController>(
      api, clock_, random_, log_, upgrade.watch(), std::move(options)));
  failures_.back()->start();
  failures_.back()->lead();
}

}  // namespace lockstep::sim
