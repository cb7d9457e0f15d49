#include <link.h>
#include <memory>
#include <string_view>

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace lockstep::http::lazy_curl_test {
namespace {

TEST(LazyCurlTest, TheProgramIsNotLinkedWithLibcurl) {
  const char* texts = nullptr;
  for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  ASSERT_NE(texts, nullptr);
  int libraries = 0;
  for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    ++libraries;
    std::string_view library = texts + entry->d_un.d_val;
    EXPECT_FALSE(library.starts_with("libcurl")) << library;
  }
  EXPECT_GT(libraries, 0);
}

TEST(LazyCurlTest, OptionsOfEveryKindArrive) {
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), curl_easy_cleanup);
  int owner = 0;
  char* found = nullptr;
  EXPECT_EQ(curl_easy_setopt(easy.get(), CURLOPT_PRIVATE, &owner), CURLE_OK);
  EXPECT_EQ(curl_easy_getinfo(easy.get(), CURLINFO_PRIVATE, &found), CURLE_OK);
  EXPECT_EQ(static_cast<void*>(found), &owner);
  EXPECT_EQ(curl_easy_setopt(easy.get(), CURLOPT_LOCALPORT, 65535L), CURLE_OK);
  EXPECT_EQ(curl_easy_setopt(easy.get(), CURLOPT_LOCALPORT, 65536L), CURLE_BAD_FUNCTION_ARGUMENT);
  EXPECT_EQ(curl_easy_setopt(easy.get(), CURLOPT_MAX_RECV_SPEED_LARGE, curl_off_t{1} << 40),
            CURLE_OK);
  EXPECT_EQ(curl_easy_setopt(easy.get(), CURLOPT_MAX_RECV_SPEED_LARGE, curl_off_t{-1}),
            CURLE_BAD_FUNCTION_ARGUMENT);
}

}  // namespace
}  // namespace lockstep::http::lazy_curl_test
