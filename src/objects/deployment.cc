#include "objects/deployment.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

template <typename Reader>
void decode_pod_labels(Reader& in, Deployment& deployment, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view field) {
      if (field != "labels") return in.skip();
      deployment.template_labels = read_string_map(in, context);
    });
  });
}

}  // namespace

template <typename Reader>
void decode(Reader& in, Deployment& deployment, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, deployment.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "replicas") {
          deployment.replicas = in.integer();
        } else if (field == "template") {
          decode_pod_labels(in, deployment, context);
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(Deployment);

}  // namespace lockstep
