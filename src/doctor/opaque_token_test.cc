#include "doctor/opaque_token.h"

#include <gtest/gtest.h>

namespace lockstep::doctor::opaque_token_test {
namespace {

TEST(OpaqueToken, TokensGoAndWordsStay) {
  for (const char* token :
       {"ghp_0123456789abcdef", "glpat-0123456789", "AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "0123456789abcdef0123456789abcdef01234567",
        "8f3b0a4c-11d2-4c60-9f0e-0123456789ab",
        "dXNlcjpodW50ZXIyLXNlY3JldA==", "qT7wZ3kP9xVb2NcR8mJd5LsF"}) {
    EXPECT_EQ(without_opaque_tokens(token), "(removed)") << token;
  }
  for (const char* word :
       {"RollingUpdateDriverPodTerminatedUnexpectedly", "NVIDIA_DRIVER_CAPABILITIES",
        "gke-training-pool-1a2b3c4d-xyz1", "i-0123456789abcdef0",
        "aks-nodepool1-12345678-vmss000000", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.126.20",
        "lockstep-support-20261119T124039Z",
        "nvidia-driver-daemonset-5.15.0-105-generic-ubuntu22.04-x2x4z", "0000:3b:00.0",
        "2026-11-19T12:40:39.123456789Z", "GPU-8f3b0a4c-11d2-4c60-9f0e-0123456789ab"}) {
    EXPECT_EQ(without_opaque_tokens(word), word);
  }
}

}  // namespace
}  // namespace lockstep::doctor::opaque_token_test
