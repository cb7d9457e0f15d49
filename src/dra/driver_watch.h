// Follows the driver under the plugin. Reads its files several times a second and asks NVML, in a
// process that ends with its answer, whenever they changed, and now and then for the GPUs' health.
// What was learned from one driver never counts for the next.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "dra/driver_state.h"
#include "dra/inventory.h"
#include "world/log.h"
#include "world/loop.h"

namespace lockstep::dra {

class DriverProbe {
 public:
  virtual ~DriverProbe() = default;
  virtual DriverState state() = 0;
  // Answers later, within its own deadline.
  virtual void ask(const DriverState& state, std::function<void(Result<Inventory>)> done) = 0;
};

struct DriverWatchOptions {
  Duration look_every = milliseconds(200);
  Duration health_every = seconds(10);
  Duration confirm_after = seconds(1);
  // Answers that fail while nothing else says that the driver has changed.
  int failures_allowed = 2;
};

class DriverWatch {
 public:
  struct Listener {
    // The driver is usable, and this is what it says. `is_new`: it was not so a moment ago.
    std::function<void(const Inventory&, bool is_new)> on_inventory;
    // It is gone, or is being replaced, or does not agree with its library.
    std::function<void(const std::string& why)> on_away;
  };

  DriverWatch(Loop& loop, Log& log, DriverProbe& probe, DriverWatchOptions options,
              Listener listener);
  ~DriverWatch();

  void start();
  // Health is to be asked for now, or soon.
  void check_soon(Duration delay);

  // Reads the files now: a caller that is about to use the driver does not rely on what was true a
  // moment ago.
  bool is_current_now();
  // NVML and the kernel module are of one version, and NVML answers.
  bool is_current() const { return is_current_; }
  // The files are all there, and NVML has not had the time to say anything about them.
  bool is_being_asked() const { return state_.usable() && !is_current_ && failures_ == 0; }
  const std::string& why_away() const { return why_away_; }
  const DriverState& state() const { return state_; }
  uint64_t changes() const { return changes_; }

 private:
  void look();
  void look_at_files();
  void ask();
  void on_answer(const DriverState& asked, Result<Inventory> answer);
  void on_trouble(const Error& error);
  void go_away(std::string why);

  Loop& loop_;
  Log& log_;
  DriverProbe& probe_;
  DriverWatchOptions options_;
  Listener listener_;
  DriverState state_;
  bool is_current_ = false;
  bool is_asking_ = false;
  bool has_looked_ = false;
  std::string why_away_ = "the driver has not been looked at yet";
  int failures_ = 0;
  Duration next_ask_{0};
  uint64_t changes_ = 0;
  TimerId timer_ = 0;
  Scope scope_;
};

}  // namespace lockstep::dra
