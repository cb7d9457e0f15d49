// One thing that must never happen during an upgrade. Each invariant sees every change of the true
// state and who made it, and reports only violations by the controller.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api.h"
#include "sim/oracle/truth.h"

namespace lockstep::sim {

// A change of a node, after the truth has taken it in. `before` and `after` are null where the node
// is new or gone.
struct NodeStep {
  const std::string& name;
  bool ours;
  const NodeTruth* before;
  const NodeTruth* after;

  fleet::State from() const { return before == nullptr ? fleet::State::unknown : before->state; }
  fleet::State to() const { return after == nullptr ? fleet::State::unknown : after->state; }
  bool changes_state() const { return after != nullptr && from() != to(); }
};

// A pod is asked to go: its deletion begins, or it is gone at once.
struct PodEnd {
  const std::string& node;
  const ObjectKey& key;
  const Json& pod;  // as it was before
  bool ours;
  bool by_eviction;
};

class Invariant {
 public:
  using Accuse = std::function<void(std::string)>;

  Invariant(const Truth& truth, Accuse accuse) : truth_(truth), accuse_(std::move(accuse)) {}
  virtual ~Invariant() = default;
  Invariant(const Invariant&) = delete;
  Invariant& operator=(const Invariant&) = delete;

  virtual void on_node(const NodeStep&) {}
  virtual void on_pod_end(const PodEnd&) {}
  // Any change of a pod on the node, after it.
  virtual void on_pod(const std::string& /*node*/) {}
  // Any other change, after it.
  virtual void on_change(const std::string& /*storage*/, const apiserver::Change&, bool /*ours*/) {}
  // A call of the controller's, done or refused or lost.
  virtual void on_request(const kube::Request&) {}
  // The same, as one controller (`life`: a restarted one is another) makes its calls, and the
  // answer that it got. What was lost on the way has none.
  virtual void on_call(int /*life*/, const kube::Request&) {}
  virtual void on_reply(int /*life*/, const kube::Request&, const kube::Response&) {}

 protected:
  void accuse(std::string what) const { accuse_(std::move(what)); }
  const Truth& truth() const { return truth_; }
  const fleet::Keys& keys() const { return truth_.keys(); }

 private:
  const Truth& truth_;
  Accuse accuse_;
};

}  // namespace lockstep::sim
