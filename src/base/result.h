// Result<T>: a value, or an Error that says what kind of error, what happened and where.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace lockstep {

enum class ErrorKind {
  invalid,       // the input is wrong: a syntax error, a bad flag, a rejected object
  not_found,     // the named thing does not exist
  exists,        // it exists already
  conflict,      // another client changed it meanwhile
  unauthorized,  // we are not known
  forbidden,     // we are known and may not
  expired,       // a position in a stream that is no longer kept (HTTP 410)
  throttled,     // asked to slow down (HTTP 429)
  too_large,     // over a limit of size, depth or count
  timed_out,     // no answer in time
  unreachable,   // no connection, or the other side is not serving
  cancelled,     // we gave up ourselves
  unsupported,   // understood, but not offered
  internal,      // a bug, here or on the other side
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  // Where: "file.yaml:12:3", "Node gpu-7", "--port". Empty when the message says it.
  std::string place;

  // "place: message", for messages to users.
  std::string text() const;

  // The same error, seen from further out: prefixes the place.
  Error at(std::string_view where) const;

  bool operator==(const Error&) const = default;
};

template <typename T>
using Result = tl::expected<T, Error>;

using Unexpected = tl::unexpected<Error>;

inline Unexpected fail(ErrorKind kind, std::string message, std::string place = {}) {
  return Unexpected(Error{kind, std::move(message), std::move(place)});
}

inline Unexpected fail(Error error) { return Unexpected(std::move(error)); }

template <typename... Args>
Unexpected failf(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return Unexpected(Error{kind, fmt::format(format, std::forward<Args>(args)...), {}});
}

}  // namespace lockstep

// Leaves the function with the error of `expression`, or goes on.
#define LOCKSTEP_CHECK(expression)                                 \
  do {                                                             \
    if (auto lockstep_result = (expression); !lockstep_result) {   \
      return ::lockstep::fail(std::move(lockstep_result).error()); \
    }                                                              \
  } while (false)

#define LOCKSTEP_CONCAT_INNER(a, b) a##b
#define LOCKSTEP_CONCAT(a, b) LOCKSTEP_CONCAT_INNER(a, b)

// LOCKSTEP_TRY(auto value, parse(text)): the value, or leaves the function with the error.
#define LOCKSTEP_TRY(declaration, expression) \
  LOCKSTEP_TRY_IMPL(LOCKSTEP_CONCAT(lockstep_try_, __LINE__), declaration, expression)
#define LOCKSTEP_TRY_IMPL(name, declaration, expression)       \
  auto name = (expression);                                    \
  if (!name) return ::lockstep::fail(std::move(name).error()); \
  declaration = std::move(*name)
