#include "kube/certificate.h"

#include <ctime>
#include <memory>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace lockstep::kube {

namespace {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};

}  // namespace

Result<Time> end_of_certificates(std::string_view pem) {
  const std::unique_ptr<BIO, FreeOpenSsl> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Time first;
  while (true) {
    const std::unique_ptr<X509, FreeOpenSsl> certificate(
        PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    std::tm parts = {};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) continue;
    Time end = Time::from_unix(timegm(&parts));
    if (!first.is_set() || end < first) first = end;
  }
  ERR_clear_error();  // the end of the text is an error to OpenSSL
  if (!first.is_set()) return fail(ErrorKind::invalid, "there is no certificate in it");
  return first;
}

}  // namespace lockstep::kube
