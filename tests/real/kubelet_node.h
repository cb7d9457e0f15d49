// One real node of a real control plane: kubelet, containerd and runc, in namespaces of their
// own, so that whatever they started and mounted ends with them. Images are packed on the spot: no
// registry is asked.
//
//   KubeletNode node(plane, directory);
//   node.start();                                // until the Node is Ready; throws when it does
//   not come up node.add_image("lockstep.test/hello:1", {"/hello", path_of_a_static_program});
//
// Pods must say hostNetwork, imagePullPolicy: Never, and nodeName or a toleration. Needs root; see
// missing().
#pragma once

#include <memory>
#include <string>

#include "child.h"
#include "control_plane.h"

namespace lockstep::real {

struct ImageProgram {
  std::string path;  // in the image
  std::string file;  // a static program of this machine
};

class KubeletNode {
 public:
  // Why there can be none here; empty: there can.
  static std::string missing();
  // For ControlPlane's users.
  static User user();

  // In a folder that is there already.
  KubeletNode(ControlPlane& plane, std::string directory);
  ~KubeletNode();
  KubeletNode(const KubeletNode&) = delete;
  KubeletNode& operator=(const KubeletNode&) = delete;

  void start();
  void add_image(const std::string& name, const ImageProgram& program);
  // Compiles a C program, statically; the file's path.
  std::string compile(const std::string& name, const std::string& source);

  static const std::string& name();
  const std::string& directory() const { return directory_; }
  // Where kubelet plugins put their sockets, as pods on a node know it.
  std::string kubelet_directory() const { return directory_ + "/kubelet"; }

 private:
  void write_containerd_config() const;
  void write_network_config() const;
  void write_kubelet_config() const;
  void run(const std::vector<std::string>& command, const std::string& input = "") const;
  std::string file(const std::string& name) const { return directory_ + "/" + name; }

  ControlPlane& plane_;
  std::string directory_;
  bool has_address_ = false;
  std::unique_ptr<commands::Child> child_;
};

}  // namespace lockstep::real
