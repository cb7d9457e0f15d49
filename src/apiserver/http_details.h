// Small parts of the HTTP server that know OpenSSL and the calendar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/ssl/context.hpp>

#include "apiserver/identity.h"

namespace lockstep::apiserver {

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(int64_t unix_seconds);

// Throws what Boost.Asio throws when the certificate or the key cannot be used.
boost::asio::ssl::context make_tls_context(const TlsIdentity& identity);

// The user that the client's certificate names, and its groups; empty without one.
std::string subject_of(SSL* ssl, std::vector<std::string>& groups);

}  // namespace lockstep::apiserver
