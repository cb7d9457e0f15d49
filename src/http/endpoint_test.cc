#include "http/endpoint.h"

#include <gtest/gtest.h>

namespace lockstep::http::endpoint_test {
namespace {

TEST(EndpointTest, Parses) {
  const std::vector<std::pair<std::string, Endpoint>> cases = {
      {"https://10.0.0.1:6443", {true, "10.0.0.1", 6443, ""}},
      {"https://api.example.com", {true, "api.example.com", 443, ""}},
      {"HTTP://api.example.com/", {false, "api.example.com", 80, ""}},
      {"https://[fd00::1]:6443/k8s/clusters/c-1/", {true, "fd00::1", 6443, "/k8s/clusters/c-1"}},
      {"localhost:8080", {false, "localhost", 8080, ""}},
  };
  for (const auto& [text, wanted] : cases) {
    const auto endpoint = parse_endpoint(text, false);
    ASSERT_TRUE(endpoint.has_value()) << text << ": " << endpoint.error().text();
    EXPECT_EQ(*endpoint, wanted) << text;
  }
  EXPECT_TRUE(parse_endpoint("localhost:8080", true)->tls);
  EXPECT_EQ(parse_endpoint("https://[fd00::1]:6443", true)->authority(), "[fd00::1]:6443");
}

TEST(EndpointTest, RefusesWhatIsNoServer) {
  for (const char* text : {"", "ftp://a", "https://", "https://a:99999", "https://a:b",
                           "https://user:secret@a", "https://a/?x=1", "https://a b"}) {
    EXPECT_FALSE(parse_endpoint(text, true).has_value()) << text;
  }
}

TEST(ProxyTest, EnvironmentAndItsExceptions) {
  const Endpoint name{true, "api.prod.example.com", 6443, ""};
  const Endpoint address{true, "10.1.2.3", 6443, ""};
  const Endpoint plain{false, "api.prod.example.com", 80, ""};
  const Endpoint ipv6{true, "fd00::1", 6443, ""};
  const auto proxy = [](const Endpoint& endpoint, const std::string& exceptions) {
    return proxy_from_environment(endpoint,
                                  {{"HTTPS_PROXY", "http://proxy:3128"}, {"no_proxy", exceptions}});
  };
  const std::string through = "http://proxy:3128";
  EXPECT_EQ(proxy(name, ""), through);
  EXPECT_EQ(proxy(plain, ""), "") << "HTTPS_PROXY is not for http";
  EXPECT_EQ(proxy(name, "*"), "");
  EXPECT_EQ(proxy(name, "other, example.com"), "");
  EXPECT_EQ(proxy(name, ".example.com"), "");
  EXPECT_EQ(proxy(name, "*.example.com"), "");
  EXPECT_EQ(proxy(name, "API.prod.example.com"), "");
  EXPECT_EQ(proxy(name, "ample.com"), through);
  EXPECT_EQ(proxy(name, "example.com:6443"), "");
  EXPECT_EQ(proxy(name, "example.com:443"), through);
  EXPECT_EQ(proxy(address, "10.0.0.0/8"), "");
  EXPECT_EQ(proxy(address, "10.1.2.0/31"), through);
  EXPECT_EQ(proxy(address, "10.1.2.2/31"), "");
  EXPECT_EQ(proxy(address, "10.1.2.3"), "");
  EXPECT_EQ(proxy(address, "2.3"), through);
  EXPECT_EQ(proxy(ipv6, "fd00::/8"), "");
  EXPECT_EQ(proxy(ipv6, "fd00::1"), "");
  EXPECT_EQ(proxy(ipv6, "[fd00::1]:6443"), "");
  EXPECT_EQ(proxy(ipv6, "[fd00::1]:1"), through);
  EXPECT_EQ(proxy(name, ":,]:1,:6443x,/8"), through);
}

TEST(ProxyTest, ThisMachineIsNeverProxied) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1"}) {
    EXPECT_EQ(proxy_from_environment({true, host, 443, ""}, {{"HTTPS_PROXY", "http://p"}}), "")
        << host;
  }
}

TEST(ProxyTest, ANameThatLooksLikeThisMachineIsProxied) {
  for (const char* host : {"127.example.com", "localhost.example.com", "127.0.0.1.example.com"}) {
    EXPECT_EQ(proxy_from_environment({true, host, 443, ""}, {{"HTTPS_PROXY", "http://p"}}),
              "http://p")
        << host;
  }
}

TEST(ProxyTest, SchemesAndDefaults) {
  EXPECT_EQ(proxy_from_environment({true, "a", 443, ""}, {{"https_proxy", "p:1"}}), "http://p:1");
  EXPECT_EQ(proxy_from_environment({false, "a", 80, ""}, {{"HTTP_PROXY", "socks5://p:1"}}),
            "socks5h://p:1");
  EXPECT_EQ(*parse_proxy("socks5://p:1"), "socks5h://p:1");
  EXPECT_EQ(*parse_proxy("https://p:1"), "https://p:1");
  EXPECT_FALSE(parse_proxy("ftp://p:1").has_value());
  EXPECT_FALSE(parse_proxy("p:1").has_value());
}

}  // namespace
}  // namespace lockstep::http::endpoint_test
