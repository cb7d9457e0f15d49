// A Helm that does nothing and remembers what it was asked for. A word that names a values file
// must be there.
#pragma once

#include <string>
#include <vector>

#include "workshop.h"

namespace lockstep::bundles {

using Call = std::vector<std::string>;

bool has(const Call& call, const std::string& word);
// Empty if missing.
std::string word_after(const Call& call, const std::string& word);

class RecordingHelm {
 public:
  // Takes the place of the real one in the workshop. A call with the word `failing` fails.
  explicit RecordingHelm(Workshop& workshop, const std::string& failing = "");

  // The calls that install something, in their order.
  std::vector<Call> installs() const;
  void forget() const;

 private:
  Path log_;
};

}  // namespace lockstep::bundles
