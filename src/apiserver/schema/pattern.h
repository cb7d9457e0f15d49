// A regular expression from a CRD: foreign input, so it may be broken, huge or slow.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::apiserver {

class Pattern {
 public:
  // Go's syntax. What Go and Perl read differently is translated; a pattern with Unicode classes
  // that the matcher does not know is accepted and matches everything. The error says why the
  // expression is invalid.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view text);
  ~Pattern();

  // Whether any part of the text matches. True as well when the matcher gives up (its work is
  // bounded): a value is never refused for a reason that a user could not find.
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace lockstep::apiserver
