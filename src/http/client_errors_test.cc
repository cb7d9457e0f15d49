#include "http/client_errors.h"

#include <cerrno>

#include <curl/curl.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

namespace lockstep::http::http_errors_test {
namespace {

struct Case {
  CurlFailure failure;
  std::string wanted;
};

TEST(HttpErrorsTest, SaysWhatAndWhatToDo) {
  const std::vector<Case> cases = {
      {{CURLE_COULDNT_CONNECT, ECONNREFUSED, 0, "", ""}, "connection refused: is the API server"},
      {{CURLE_COULDNT_CONNECT, EHOSTUNREACH, 0, "", ""}, "no route"},
      {{CURLE_COULDNT_CONNECT, 0, 0, "", ""}, "Couldn't connect"},
      {{CURLE_COULDNT_RESOLVE_HOST, 0, 0, "", ""}, "cannot be resolved"},
      {{CURLE_OPERATION_TIMEDOUT, 0, 0, "", ""}, "firewall"},
      {{CURLE_PEER_FAILED_VERIFICATION, 0, X509_V_ERR_CERT_HAS_EXPIRED, "", ""}, "expired"},
      {{CURLE_PEER_FAILED_VERIFICATION, 0, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "", ""},
       "unknown authority"},
      {{CURLE_PEER_FAILED_VERIFICATION, 0, X509_V_ERR_UNSPECIFIED,
        "no alternative certificate subject name matches", "api.test"},
       "not for the name api.test: use a name that it has, or set tls-server-name"},
      {{CURLE_PEER_FAILED_VERIFICATION, 0, X509_V_ERR_INVALID_CA, "", ""}, "invalid CA"},
      {{CURLE_SSL_CONNECT_ERROR, 0, 0, "error:0A00010B: Wrong version number", ""}, "http://?"},
      {{CURLE_RECV_ERROR, 0, 0, "tlsv13 alert certificate required", ""},
       "refused our client certificate"},
      {{CURLE_RECV_ERROR, 0, 0, "Recv failure", ""}, "connection was lost: Recv failure"},
      {{CURLE_RECV_ERROR, 0, 0, "CONNECT tunnel failed, response 403", ""}, "the proxy refuses"},
      {{CURLE_GOT_NOTHING, 0, 0, "", ""}, "without an answer"},
  };
  const Endpoint endpoint{true, "10.0.0.1", 6443, ""};
  for (const Case& c : cases) {
    const Error error = explain(c.failure, endpoint, "");
    EXPECT_EQ(error.kind, ErrorKind::unreachable);
    EXPECT_TRUE(error.message.starts_with("cannot reach 10.0.0.1:6443: ")) << error.message;
    EXPECT_NE(error.message.find(c.wanted), std::string::npos) << error.message;
  }
  // Where no kubeconfig is involved, the advice does not speak of one.
  for (const Case& c : cases) {
    CurlFailure failure = c.failure;
    failure.from_kubeconfig = false;
    const std::string message = explain(failure, endpoint, "").message;
    EXPECT_EQ(message.find("kubeconfig"), std::string::npos) << message;
    EXPECT_EQ(message.find("API server"), std::string::npos) << message;
  }
  const Error through = explain({CURLE_COULDNT_RESOLVE_PROXY, 0, 0, "", ""}, endpoint, "http://p");
  EXPECT_NE(through.message.find("through the proxy: the proxy's name"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::http::http_errors_test
