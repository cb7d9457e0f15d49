// The loop of the upgrade: requeues what changed, decides, and writes. All state that matters is in
// the cluster; the process can be killed after any write and started again.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "controller/node_memory.h"
#include "controller/notes_publisher.h"
#include "controller/slot_ledger.h"
#include "controller/upgrade_counts.h"
#include "kube/events.h"
#include "kube/queue.h"
#include "upgrade/decision.h"
#include "view/fleet_watch.h"
#include "view/fresh_reader.h"

namespace lockstep::controller {

struct UpgradeOptions {
  view::FleetWatchOptions fleet;
  std::string ns = "lockstep-system";  // of the ledger
  std::string instance;                // of events: the pod's or host's name
  size_t parallel_writes = 32;
  // A clock by which decisions are timed; null: they are not, and a simulation stays the same.
  std::function<Duration()> stopwatch;
};

class UpgradeController : private view::KnowledgeSource {
 public:
  UpgradeController(kube::Api& api, Loop& loop, Random& random, Log& log, UpgradeOptions options);
  ~UpgradeController() override;
  UpgradeController(const UpgradeController&) = delete;
  UpgradeController& operator=(const UpgradeController&) = delete;

  // Begins to watch; decides and writes only between lead() and follow().
  void start();
  void lead();
  void follow();
  bool leading() const { return leading_; }
  bool ready() const { return watch_.synced(); }
  // Nothing is being written; after follow() a process may end.
  const kube::EventCounts& event_counts() const { return events_.counts(); }
  bool idle() const { return queue_.in_work() == 0 && events_.idle() && notes_.idle(); }

  view::FleetWatch& watch() { return watch_; }
  const view::FleetWatch& watch() const { return watch_; }
  const UpgradeCounts& counts() const { return counts_; }
  const SlotLedger& ledger() const { return ledger_; }
  // What became of tries to move pods, by uid, until they are gone.
  const std::map<std::string, fleet::EvictionTries>& tries() const { return tries_; }
  // Why each node is where it is, as last decided.
  std::map<std::string, fleet::Reason> reasons() const;
  // Of one of them; empty: nothing has been decided about the node yet.
  fleet::ReasonName reason_of(std::string_view node) const;

 private:
  void begin();
  void look(const std::string& node);
  void work(const std::string& node);
  // Does what was decided on the view.
  void act(const fleet::NodeView& view, const upgrade::Decision& decision);
  // Before an irreversible step: reads the node and its pods, and decides again.
  void verify(const fleet::NodeView& view, const upgrade::Decision& decision);
  void on_verified(const std::string& node, Result<view::FreshNode> fresh);
  void wait_for_watches(const std::string& node, const view::FreshNode& fresh,
                        const fleet::Reason& really);
  void announce(const Node& node, const upgrade::Decision& decision);
  void write_patch(const fleet::NodeView& view, const upgrade::Decision& decision);
  void on_patched(const std::shared_ptr<const Node>& node, const upgrade::Decision& decision,
                  kube::Reply reply);
  void remove_pods(const fleet::NodeView& view, const upgrade::Decision& decision);
  void on_removed(const std::string& node, const upgrade::PodRemoval& removal, kube::Reply reply);
  void note_refusal(const upgrade::PodRemoval& removal, const kube::Reply& reply);
  // `began`: when the stopwatch showed that work on the node began.
  upgrade::Decision decide(fleet::NodeView& view, Duration began);
  void warn_about_policy();
  void give_slots();
  void give_again();
  void wait_for_news();
  std::optional<Ledger> plan_slots(const Ledger& current);
  void take_slots(const Ledger& ledger);
  bool is_spent(const std::string& node, const std::string& version) const;
  void drop_spent(const std::string& node);
  void forget(const std::string& node);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  UpgradeOptions options_;
  view::FleetWatch watch_;
  view::FreshReader reader_;
  SlotLedger ledger_;
  NotesPublisher notes_;
  kube::EventRecorder events_;
  kube::WorkQueue queue_;
  UpgradeCounts counts_;
  bool leading_ = false;
  bool begun_ = false;
  bool slots_due_ = false;
  bool waits_for_news_ = false;
  std::map<std::string, NodeMemory, std::less<>> memories_;
  // Null: nothing is remembered of it.
  const NodeMemory* memory_of(std::string_view node) const;
  std::map<std::string, fleet::EvictionTries> tries_;
  // Slots of the last plan, until the ledger holds them.
  std::map<std::string, std::string> given_;
  void note_sighting(const fleet::NodeView& view);
  // A change of the clock causes no event; the published deadlines depend on it.
  void watch_clock();
  // What this controller knows of a node, as far as its next step depends on it.
  void tell_progress(fleet::NodeView& view) const;
  void tell(fleet::NodeView& view) const override;
  void tell_tries(std::string_view node, fleet::PodOnNode& entry) const override;
  view::ControllerNotes collect_notes() const;
  // It waits for something of its own before the node's next step.
  void delay(const std::string& node, fleet::Reason reason);
  bool watches_clock_ = false;
  upgrade::Freshness freshness_for(const std::string& name,
                                   const upgrade::Decision& decision) const;
  // It was given one at just this version of the node.
  bool has_slot(const Node& node) const;
  bool lets_cordon_settle(const Node& node);
  std::string policy_warning_;  // the last that was announced
  Scope scope_;
};

}  // namespace lockstep::controller
