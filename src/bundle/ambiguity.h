// Two overlays that are equally specific have no order but that of their names. Where they say
// different things about the same field, that order would decide, and nobody chose it.
#pragma once

#include "base/result.h"
#include "bundle/overlay.h"

namespace lockstep::bundle {

// Fails when both set the same field to different values; names both and the field.
Result<void> refuse_disagreement(const Overlay& a, const Overlay& b);

}  // namespace lockstep::bundle
