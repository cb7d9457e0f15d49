#include "objects/node.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

template <typename Reader>
void decode(Reader& in, NodeAddress& address, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "type") {
      address.type = in.text(context.pool);
    } else if (key == "address") {
      address.address = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode(Reader& in, NodeInfo& info, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "architecture") {
      info.architecture = in.text(context.pool);
    } else if (key == "bootID") {
      info.boot_id = read_unique(in);
    } else if (key == "containerRuntimeVersion") {
      info.container_runtime = in.text(context.pool);
    } else if (key == "kernelVersion") {
      info.kernel_version = in.text(context.pool);
    } else if (key == "kubeletVersion") {
      info.kubelet_version = in.text(context.pool);
    } else if (key == "operatingSystem") {
      info.operating_system = in.text(context.pool);
    } else if (key == "osImage") {
      info.os_image = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_spec(Reader& in, Node& node, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "unschedulable") {
      node.unschedulable = in.boolean();
    } else if (key == "taints") {
      read_vector(in, node.taints, context);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_status(Reader& in, Node& node, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "conditions") {
      read_vector(in, node.conditions, context);
    } else if (key == "addresses") {
      node.addresses.clear();
      in.array([&] { decode(in, node.addresses.emplace_back(), context); });
      node.addresses.shrink_to_fit();
    } else if (key == "nodeInfo") {
      decode(in, node.info, context);
    } else if (key == "capacity") {
      node.capacity = decode_extended_resources(in, context);
    } else if (key == "allocatable") {
      node.allocatable = decode_extended_resources(in, context);
    } else {
      in.skip();
    }
  });
}

}  // namespace

template <typename Reader>
void decode(Reader& in, Taint& taint, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "key") {
      taint.key = in.text(context.pool);
    } else if (key == "value") {
      taint.value = in.text(context.pool);
    } else if (key == "effect") {
      taint.effect = in.text(context.pool);
    } else if (key == "timeAdded") {
      taint.added = read_time(in, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Taint);

bool Node::ready() const {
  const Condition* condition = find_condition(conditions, "Ready");
  return condition != nullptr && condition->is_true();
}

template <typename Reader>
void decode(Reader& in, Node& node, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, node.meta, context);
    } else if (key == "spec") {
      decode_spec(in, node, context);
    } else if (key == "status") {
      decode_status(in, node, context);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Node);

}  // namespace lockstep
