// The version matrix (gpu-version-matrix.yaml): which versions the fleet runs, and which ones the
// canary tries. Values are texts as they are written: cuda 12.10 is not the number 12.1.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lockstep::rollout {

enum class Slot { current, canary };
std::string_view to_string(Slot slot);

// In the order of the file; keys that are lists or maps are not among them.
using MatrixEntries = std::vector<std::pair<std::string, std::string>>;

struct Matrix {
  MatrixEntries current;
  MatrixEntries canary;
  std::vector<std::string> gpus;  // the fleet's models, where the file says them

  const MatrixEntries& slot(Slot which) const { return which == Slot::current ? current : canary; }
  // Empty where the key is not there.
  std::string_view value(Slot which, std::string_view key) const;
  bool has(Slot which, std::string_view key) const;
  // Nothing is being tried: no key has a value.
  bool is_empty(Slot which) const;
  // Every key of either slot once: the format's own first, then those of this file.
  std::vector<std::string> keys() const;
};

// The keys that the format names, in its order; others are kept and shown.
const std::vector<std::string>& matrix_keys();

// `name` begins the places of errors.
Result<Matrix> parse_matrix(std::string_view text, std::string_view name);

struct MatrixChange {
  Slot slot = Slot::current;
  std::string key;
  std::string before;
  std::string after;

  bool operator==(const MatrixChange&) const = default;
};

// Of every key of both, current first.
std::vector<MatrixChange> changes_between(const Matrix& before, const Matrix& after);

}  // namespace lockstep::rollout
