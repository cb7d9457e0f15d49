// Two overlays that are equally specific are ordered only by name. Where they set the same field
// differently, that order would decide, although no author chose it.
#pragma once

#include "base/result.h"
#include "bundle/overlay.h"

namespace lockstep::bundle {

// Fails when both set the same field to different values; names both and the field.
Result<void> refuse_disagreement(const Overlay& a, const Overlay& b);

}  // namespace lockstep::bundle
