// Where the plugin's two sockets lie, so that the kubelet finds them and two instances of the
// plugin do not get in each other's way.
#pragma once

#include <string>

#include "base/result.h"

namespace lockstep::dra {

struct SocketPaths {
  std::string registration;  // the kubelet watches its directory
  std::string service;       // what is registered
  std::string state_folder;  // of both instances: checkpoint and lock

  bool operator==(const SocketPaths&) const = default;
};

// `instance`: the pod's uid where two may run at a time (a rolling update); empty: there is one.
// A name that would make a path longer than the kernel takes is shortened to a hash of itself.
// Fails when the folders alone leave no room.
Result<SocketPaths> socket_paths(const std::string& kubelet_folder, const std::string& driver,
                                 const std::string& instance);

}  // namespace lockstep::dra
