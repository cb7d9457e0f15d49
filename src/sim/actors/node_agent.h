// The node half of the simulated kubelets: registers Node objects or adopts existing ones, keeps
// their Ready condition, their labels and, where they are read, their leases.
#pragma once

#include <string>
#include <string_view>

#include "base/indexed_map.h"
#include "base/time.h"
#include "data/json.h"
#include "sim/actors/machine.h"
#include "sim/actors/parts.h"
#include "sim/actors/writer.h"
#include "world/loop.h"

namespace lockstep::sim {

// Whether a node's or a pod's condition Ready is True.
bool is_shown_ready(const Json& object);

class NodeAgent {
 public:
  // `lease_interval` zero: no leases; in virtual time no component reads them.
  NodeAgent(Parts parts, Writer& writer, Duration lease_interval);
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  // A whole Node object, with its status.
  void add(Json node);
  void start();
  // A new machine of the same name, with the labels that the first one had at the beginning.
  void register_again(const std::string& node);

  void set_ready(const std::string& node, bool ready);
  // The state of the node in the API. A real node controller says Unknown of a node whose lease it
  // has not seen for a while, and only the kubelet says otherwise: with its next lease.
  void see(const Json& node);
  void set_label(const std::string& node, std::string_view key, std::string_view value);
  // Of the node's InternalIP; empty when it has none.
  std::string_view address(const std::string& node) const;

 private:
  struct Entry {
    Document object;
    bool ready = true;
    std::string address;
    bool shown_ready = true;  // what the API last said of it
  };

  void register_node(const std::string& name);
  void write_ready(const std::string& name);
  void renew(const std::string& name);
  void renew_later(const std::string& name, Duration delay);

  Parts parts_;
  Writer& writer_;
  Duration lease_interval_;
  IndexedMap<std::string, Entry> nodes_;
  Scope scope_;
};

}  // namespace lockstep::sim
