#include "objects/lease.h"

#include "objects/reading.h"

namespace lockstep {

template <typename Reader>
void decode(Reader& in, Lease& lease, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, lease.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "holderIdentity") {
          lease.holder = in.text(context.pool);
        } else if (field == "leaseDurationSeconds") {
          lease.duration_seconds = static_cast<int32_t>(in.integer());
        } else if (field == "leaseTransitions") {
          lease.transitions = static_cast<int32_t>(in.integer());
        } else if (field == "acquireTime") {
          lease.acquired = read_time(in, context);
        } else if (field == "renewTime") {
          lease.renewed = read_time(in, context);
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Lease);

Json to_json(const Lease& lease) {
  JsonObject spec;
  // An empty holder is written, not left out: it says that the lease is free.
  spec["holderIdentity"] = lease.holder.view();
  if (lease.duration_seconds != 0) spec["leaseDurationSeconds"] = lease.duration_seconds;
  spec["leaseTransitions"] = lease.transitions;
  if (lease.acquired.is_set()) spec["acquireTime"] = format_rfc3339_micro(lease.acquired);
  if (lease.renewed.is_set()) spec["renewTime"] = format_rfc3339_micro(lease.renewed);
  JsonObject object;
  object["apiVersion"] = resource::leases.api_version();
  object["kind"] = resource::leases.kind;
  object["metadata"] = meta_to_json(lease.meta);
  object["spec"] = std::move(spec);
  return object;
}

}  // namespace lockstep
