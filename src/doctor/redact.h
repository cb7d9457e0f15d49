// What a support bundle says of an object: an allow list (kept_fields.h), and for texts a filter
// (redact_text.h). A field that is not listed is dropped, so that a new version of an operator, or
// a tool that Lockstep does not know, cannot put a secret into a bundle.
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"
#include "doctor/redact_text.h"

namespace lockstep::doctor {

// One object of a resource ("pods", "daemonsets.apps"). How many fields an object lost is in its
// "(removed)"; a kept field whose value has an unexpected shape has its length only.
Json redact_object(std::string_view resource, const Json& object);

// A document that Lockstep made itself, of texts of the cluster: each text is filtered.
Json redact_report(const Json& document);

}  // namespace lockstep::doctor
