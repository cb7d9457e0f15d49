#include "objects/resource_claim.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

template <typename Reader>
void decode_device(Reader& in, ResourceClaim::Device& device, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "request") {
      device.request = in.text(context.pool);
    } else if (key == "driver") {
      device.driver = in.text(context.pool);
    } else if (key == "pool") {
      device.pool = in.text(context.pool);
    } else if (key == "device") {
      device.device = in.text(context.pool);
    } else if (key == "shareID") {
      device.share_id = in.text(context.pool);
    } else if (key == "adminAccess") {
      device.admin_access = in.boolean();
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_allocation(Reader& in, ResourceClaim& claim, DecodeContext& context) {
  claim.allocated = !in.at_null();
  claim.devices.clear();
  in.object([&](std::string_view key) {
    if (key != "devices") return in.skip();
    in.object([&](std::string_view field) {
      if (field != "results") return in.skip();
      in.array([&] { decode_device(in, claim.devices.emplace_back(), context); });
    });
  });
  claim.devices.shrink_to_fit();
}

template <typename Reader>
void decode_consumer(Reader& in, ResourceClaim::Consumer& consumer, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "apiGroup") {
      consumer.api_group = in.text(context.pool);
    } else if (key == "resource") {
      consumer.resource = in.text(context.pool);
    } else if (key == "name") {
      consumer.name = in.text(context.pool);
    } else if (key == "uid") {
      consumer.uid = in.text(context.pool);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_device_status(Reader& in, ResourceClaim::DeviceStatus& status, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "driver") {
      status.driver = in.text(context.pool);
    } else if (key == "pool") {
      status.pool = in.text(context.pool);
    } else if (key == "device") {
      status.device = in.text(context.pool);
    } else if (key == "shareID") {
      status.share_id = in.text(context.pool);
    } else if (key == "conditions") {
      read_vector(in, status.conditions, context);
    } else {
      in.skip();
    }
  });
}

}  // namespace

bool ResourceClaim::is_reserved_for(std::string_view uid) const {
  for (const Consumer& consumer : reserved_for) {
    if (consumer.uid == uid) return true;
  }
  return false;
}

template <typename Reader>
void decode(Reader& in, ResourceClaim& claim, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, claim.meta, context);
    } else if (key == "status") {
      in.object([&](std::string_view field) {
        if (field == "allocation") {
          decode_allocation(in, claim, context);
        } else if (field == "reservedFor") {
          claim.reserved_for.clear();
          in.array([&] { decode_consumer(in, claim.reserved_for.emplace_back(), context); });
          claim.reserved_for.shrink_to_fit();
        } else if (field == "devices") {
          claim.device_statuses.clear();
          in.array(
              [&] { decode_device_status(in, claim.device_statuses.emplace_back(), context); });
          claim.device_statuses.shrink_to_fit();
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(ResourceClaim);

}  // namespace lockstep
