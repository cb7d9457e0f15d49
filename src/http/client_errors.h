// Why an exchange failed, and what to do about it.
#pragma once

#include <string>

#include "base/result.h"
#include "http/endpoint.h"

namespace lockstep::http {

struct CurlFailure {
  int code = 0;                 // CURLcode
  long os_error = 0;            // errno of a failed connect
  long verify_result = 0;       // OpenSSL's verdict on the server's certificate
  std::string detail;           // curl's own words
  std::string expected_name;    // that the certificate should have had
  bool from_kubeconfig = true;  // where the address was said, for the advice
};

Error explain(const CurlFailure& failure, const Endpoint& endpoint, const std::string& proxy);

}  // namespace lockstep::http
