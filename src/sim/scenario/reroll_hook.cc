#include "sim/scenario/reroll_hook.h"

namespace lockstep::sim {

void RerollHook::start() {
  if (scenario_.reroll_timeout <= Duration(0)) return;
  controller::RerollOptions options;
  options.timeout = scenario_.reroll_timeout;
  options.driver_version = scenario_.to_version;
  reroller_ =
      std::make_unique<controller::Reroller>(cluster_.api("hook"), cluster_.loop, random_, log_,
                                             std::move(options), [](const std::string&) {});
  reroller_->start();
}

std::string RerollHook::end() const {
  if (!reroller_) return {};
  return reroller_->outcome() ? std::string(to_string(reroller_->outcome()->kind)) : "running";
}

std::string RerollHook::text() const {
  return reroller_ && reroller_->outcome() ? reroller_->outcome()->text : std::string();
}

}  // namespace lockstep::sim
