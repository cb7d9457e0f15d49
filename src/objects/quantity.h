// Kubernetes' quantities: "8", "100m", "64Gi", "1e3", "0.5".
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace lockstep {

struct DecodeContext;

// Exact down to a billionth, as Kubernetes keeps it; what is finer is rounded away from zero.
class Quantity {
 public:
  Quantity() = default;
  static Quantity of(int64_t value);
  static Result<Quantity> parse(std::string_view text);

  // Rounded up, and held within 64 bits.
  int64_t value() const;
  int64_t milli_value() const;

  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ < b.nanos_   ? std::strong_ordering::less
           : a.nanos_ > b.nanos_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
  }

 private:
  __extension__ typedef __int128 Wide;
  Wide nanos_ = 0;
};

// Sorted by name.
struct ResourceAmount {
  Text name;
  int64_t amount = 0;

  bool operator==(const ResourceAmount&) const = default;
};
using ResourceAmounts = std::vector<ResourceAmount>;

// Zero when the resource is not there.
int64_t amount_of(const ResourceAmounts& amounts, std::string_view name);
// nvidia.com/gpu and the like: what is neither cpu nor memory nor another of Kubernetes' own.
bool is_extended_resource(std::string_view name);

// Reads {"nvidia.com/gpu": "8", "cpu": "64"} and keeps the extended resources.
template <typename Reader>
ResourceAmounts decode_extended_resources(Reader& in, DecodeContext& context);

}  // namespace lockstep
