// What a scalar is: the one place that knows how Helm and kubectl type an unquoted word. They read
// YAML through sigs.k8s.io/yaml, whose rules are those of go-yaml version 2 (YAML 1.1 without base
// 60, and with Go's integer syntax). Shared by the reader, the emitter and the editor; others
// include data/yaml.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::yaml {

// The type is "string" when it holds a std::string; std::monostate is null. A double may be
// infinite or no number here, because a key may; a value may not (see to_json).
using Scalar = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string>;

// An unquoted scalar without a tag.
Scalar resolve_plain(std::string_view text);

// A scalar with an explicit tag, in its long form ("tag:yaml.org,2002:int"). Unknown tags make a
// string, as in Helm.
Result<Scalar> resolve_tagged(std::string_view tag, std::string_view text);

// Fails for infinities and NaN, which JSON lacks.
Result<Json> to_json(const Scalar& scalar);

// The key of a JSON object that Helm makes of a scalar key: yes -> "true", 0x10 -> "16". Numbers
// with a fraction go through 32 bits, as they do there: 1.23456789 -> "1.2345679". Fails for null
// and for integers beyond 64 bits with a sign.
Result<std::string> to_key(const Scalar& scalar);

// True when every reader we know of (Helm, YAML 1.1 with base 60 and dates, YAML 1.2) takes the
// unquoted word for a string. Says nothing about syntax.
bool is_string_everywhere(std::string_view text);

// The shortest text that reads back as a floating-point number of the same value.
std::string print_float(double value);

}  // namespace lockstep::yaml
