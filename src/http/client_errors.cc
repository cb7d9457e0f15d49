#include "http/client_errors.h"

#include <cerrno>
#include <cstring>

#include <curl/curl.h>
#include <openssl/x509_vfy.h>

#include "base/strings.h"

namespace lockstep::http {

namespace {

bool mentions(const CurlFailure& failure, std::string_view words) {
  return lower(failure.detail).find(words) != std::string::npos;
}

std::string connect_reason(const CurlFailure& failure) {
  switch (failure.os_error) {
    case ECONNREFUSED:
      return fmt::format("connection refused: is the {} running, and is this its port?",
                         failure.from_kubeconfig ? "API server" : "server");
    case ENETUNREACH:
    case EHOSTUNREACH:
      return "no route to it: is a VPN or tunnel needed?";
    case ETIMEDOUT:
      return "no answer from there: does a firewall or a VPN block it?";
    case 0:
      return failure.detail;
    default:
      return std::strerror(static_cast<int>(failure.os_error));
  }
}

std::string certificate_reason(const CurlFailure& failure) {
  // Curl compares names itself, before it notes OpenSSL's verdict.
  if (mentions(failure, "match")) {
    return fmt::format("its certificate is not for the name {}: use a name that it has{} ({})",
                       failure.expected_name,
                       failure.from_kubeconfig ? ", or set tls-server-name in the kubeconfig" : "",
                       failure.detail);
  }
  switch (failure.verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired: renew it, and check this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: check this machine's clock";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format(
          "its certificate is signed by an unknown authority ({}): {}, or a proxy is in between",
          X509_verify_cert_error_string(failure.verify_result),
          failure.from_kubeconfig
              ? "the kubeconfig's certificate-authority belongs to another cluster"
              : "this machine does not trust that authority");
    default:
      return fmt::format("its certificate is invalid: {} ({})",
                         X509_verify_cert_error_string(failure.verify_result), failure.detail);
  }
}

std::string handshake_reason(const CurlFailure& failure) {
  if (mentions(failure, "wrong version number") || mentions(failure, "packet length too long")) {
    return "it does not speak TLS: should the server be http://?";
  }
  if (mentions(failure, "alert") && mentions(failure, "certificate")) {
    return "it refused our client certificate: " + failure.detail;
  }
  return "no TLS connection: " + failure.detail;
}

std::string reason_for(const CurlFailure& failure) {
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("its name cannot be resolved: check {}, and DNS",
                         failure.from_kubeconfig ? "the server in the kubeconfig" : "its spelling");
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "the proxy's name cannot be resolved";
    case CURLE_COULDNT_CONNECT:
      return connect_reason(failure);
    case CURLE_OPERATION_TIMEDOUT:
      return "no connection in time: does a firewall or a VPN block it?";
    case CURLE_PEER_FAILED_VERIFICATION:
      return certificate_reason(failure);
    case CURLE_SSL_CONNECT_ERROR:
      return handshake_reason(failure);
    case CURLE_SSL_CERTPROBLEM:
      return "our client certificate or key cannot be used: " + failure.detail;
    case CURLE_SSL_CACERT_BADFILE:
      return "the certificate-authority cannot be used: is it PEM? " + failure.detail;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return "it does not speak HTTP: should the server be https://? " + failure.detail;
    case CURLE_GOT_NOTHING:
      return "it closed the connection without an answer";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      if (mentions(failure, "alert") && mentions(failure, "certificate")) {
        return handshake_reason(failure);
      }
      if (mentions(failure, "connect tunnel failed")) {
        return "the proxy refuses to connect there: " + failure.detail;
      }
      return "the connection was lost: " + failure.detail;
    default:
      return failure.detail;
  }
}

}  // namespace

Error explain(const CurlFailure& given, const Endpoint& endpoint, const std::string& proxy) {
  CurlFailure failure = given;
  if (failure.detail.empty()) {
    failure.detail = curl_easy_strerror(static_cast<CURLcode>(failure.code));
  }
  const std::string via = proxy.empty() ? "" : " through the proxy";
  return Error{ErrorKind::unreachable,
               fmt::format("cannot reach {}{}: {}", endpoint.authority(), via, reason_for(failure)),
               {}};
}

}  // namespace lockstep::http
