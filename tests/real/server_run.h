// One scenario of scenarios/, in real time, on an API server that is there: the embedded one with
// the fleet's own controllers, or a real one with its own. `lockstep controller` is a process,
// as in a cluster.
//
//   ServerRun run(scenario, loop, cluster, Server::real, speed);
//   while (!run.finished()) { loop…; run.tick(); }
//   run.objects();
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster.h"
#include "sim/actors/simulated_fleet.h"
#include "sim/scenario/scenario.h"

namespace lockstep::real {

enum class Server { embedded, real };

// This runner does not know the scenario's steps; empty: it can be run.
std::string why_not_here(const sim::Scenario& scenario);

class ServerRun {
 public:
  // The cluster's API server runs already; the controller is started here.
  ServerRun(const sim::Scenario& scenario, commands::Cluster& cluster, Server server, double speed,
            std::vector<std::string> controller_flags = {});
  ~ServerRun();
  ServerRun(const ServerRun&) = delete;
  ServerRun& operator=(const ServerRun&) = delete;

  // Checks the state and does what is due. Now and then, from outside of the loop.
  void tick();
  bool finished() const { return phase_ == Phase::over; }
  // What went wrong on the way, or is not as the scenario expects.
  std::vector<std::string> disappointments();

  // Every object that the fleet, its controllers and ours have made or changed.
  std::vector<Json> objects();
  // What is in no object: the driver that is really loaded, and who was harmed.
  std::map<std::string, std::string> truth();
  const std::string& doing() const { return doing_; }

 private:
  enum class Phase { coming_up, in_sync, running, over };
  struct NodeFacts {
    std::string state;
    bool cordoned = false;
    bool operator==(const NodeFacts&) const = default;
  };

  std::map<std::string, NodeFacts> look();
  bool fleet_is_up();
  bool work_runs();
  void begin();
  void take_due_steps();
  bool is_due(size_t index);
  void take(const sim::Interference& step);
  void patch(const ResourceType& type, const std::string& name, Json patch);
  bool quiet_for(Duration time) const { return loop_.uptime() - changed_ > time; }
  Duration scaled(Duration duration) const;

  const sim::Scenario& scenario_;
  commands::Cluster& cluster_;
  EventLoop& loop_;
  double speed_;
  SystemFiles files_;
  SystemProcesses processes_;
  SystemRandom random_;
  SilentLog log_;
  kube::Connection connection_;
  std::unique_ptr<sim::SimulatedFleet> fleet_;
  std::vector<std::string> controller_flags_;
  Phase phase_ = Phase::coming_up;
  std::string doing_ = "comes up";
  std::map<std::string, NodeFacts> nodes_;
  std::map<std::string, std::set<std::string>> reached_;  // state -> nodes that have been in it
  Duration changed_{0};
  Duration began_{0};
  std::vector<std::optional<Duration>> taken_;
  std::vector<std::string> trouble_;
};

}  // namespace lockstep::real
