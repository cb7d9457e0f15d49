// Where an artifact goes: "oci://ghcr.io/team/bundles:v1" is a registry, "oci://./bundles:v1" (or
// "../", or "oci:///abs/bundles") a directory in the OCI image layout.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::registry {

struct Reference {
  std::string directory;   // of an image layout; empty: it is a registry
  std::string host;        // "ghcr.io", "localhost:5000"; lower case
  std::string repository;  // "team/bundles"
  std::string tag = "latest";

  bool is_directory() const { return !directory.empty(); }
  // As it is written, with the tag.
  std::string text() const;
  bool operator==(const Reference&) const = default;
};

// Whether it is meant as a reference, and not as the name of a plain directory.
bool looks_like_reference(std::string_view text);

// The names by the rules of the distribution specification, so that a registry never sees a wrong
// one. Without a tag it is "latest", as everywhere. A digest is refused: it is what comes out.
Result<Reference> parse_reference(std::string_view text);

}  // namespace lockstep::registry
