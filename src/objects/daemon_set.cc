#include "objects/daemon_set.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

template <typename Reader>
void decode_template(Reader& in, DaemonSet::Template& pod_template, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      in.object([&](std::string_view field) {
        if (field == "labels") {
          pod_template.labels = read_string_map(in, context);
        } else if (field == "annotations") {
          pod_template.annotations = read_string_map(in, context, context.drop_annotations);
        } else {
          in.skip();
        }
      });
    } else if (key == "spec") {
      decode_pod_spec(in, pod_template.spec, &pod_template, context);
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_strategy(Reader& in, DaemonSet& daemon_set, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "type") {
      daemon_set.update_strategy = in.text(context.pool);
    } else if (key == "rollingUpdate") {
      in.object([&](std::string_view field) {
        if (field == "maxUnavailable") {
          daemon_set.max_unavailable = read_int_or_percent(in, "maxUnavailable", context);
        } else if (field == "maxSurge") {
          daemon_set.max_surge = read_int_or_percent(in, "maxSurge", context);
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}

template <typename Reader>
void decode_status(Reader& in, DaemonSet& daemon_set) {
  auto number = [&] { return static_cast<int32_t>(in.integer()); };
  in.object([&](std::string_view key) {
    if (key == "observedGeneration") {
      daemon_set.observed_generation = in.integer();
    } else if (key == "desiredNumberScheduled") {
      daemon_set.desired = number();
    } else if (key == "currentNumberScheduled") {
      daemon_set.current = number();
    } else if (key == "numberReady") {
      daemon_set.ready = number();
    } else if (key == "numberAvailable") {
      daemon_set.available = number();
    } else if (key == "updatedNumberScheduled") {
      daemon_set.updated = number();
    } else if (key == "numberMisscheduled") {
      daemon_set.misscheduled = number();
    } else {
      in.skip();
    }
  });
}

}  // namespace

template <typename Reader>
void decode(Reader& in, DaemonSet& daemon_set, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, daemon_set.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "selector") {
          daemon_set.selector = read_selector(in, context);
        } else if (field == "template") {
          decode_template(in, daemon_set.pod_template, context);
        } else if (field == "updateStrategy") {
          decode_strategy(in, daemon_set, context);
        } else {
          in.skip();
        }
      });
    } else if (key == "status") {
      decode_status(in, daemon_set);
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(DaemonSet);

template <typename Reader>
void decode(Reader& in, ControllerRevision& revision, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, revision.meta, context);
    } else if (key == "revision") {
      revision.revision = in.integer();
    } else if (key == "data") {
      in.object([&](std::string_view part) {
        if (part != "spec") return in.skip();
        in.object([&](std::string_view field) {
          if (field != "template") return in.skip();
          decode_template(in, revision.pod_template, context);
        });
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(ControllerRevision);

}  // namespace lockstep
