// libcurl under its own names, loaded when the first of them is called. It brings thirty more
// libraries: as a load-time dependency they cost every start of the program 3 ms, `--version` and
// commands that talk to no cluster included. What else of libcurl we come to use is added here; the
// linker names it.
#include <cstdarg>
#include <dlfcn.h>
#include <stdexcept>

#include <curl/curl.h>
#include <fmt/format.h>

// libcurl's own declarations have an enum before the dots, which clang minds.
#pragma GCC diagnostic ignored "-Wvarargs"
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

namespace {

void* or_explain(void* loaded) {
  if (loaded != nullptr) return loaded;
  throw std::runtime_error(
      fmt::format("libcurl cannot be loaded (install libcurl4): {}", dlerror()));
}

void* symbol(const char* name) {
  static void* const library = or_explain(dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL));
  return or_explain(dlsym(library, name));
}

}  // namespace

#define LOCKSTEP_REAL(name) \
  static const auto real = reinterpret_cast<decltype(&(name))>(symbol(#name))

#define LOCKSTEP_CURL(type, name, parameters, arguments) \
  type name parameters {                                 \
    LOCKSTEP_REAL(name);                                 \
    return real arguments;                               \
  }

// These take one more: a long, a curl_off_t or a pointer, all of one size and passed alike.
#define LOCKSTEP_CURL_OPTION(type, name, handle_type, option_type) \
  type name(handle_type handle, option_type option, ...) {         \
    LOCKSTEP_REAL(name);                                           \
    va_list more;                                                  \
    va_start(more, option);                                        \
    void* value = va_arg(more, void*);                             \
    va_end(more);                                                  \
    return real(handle, option, value);                            \
  }

static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));

extern "C" {

LOCKSTEP_CURL(CURLcode, curl_global_init, (long flags), (flags))
LOCKSTEP_CURL(void, curl_global_cleanup, (), ())
LOCKSTEP_CURL(time_t, curl_getdate, (const char* text, const time_t* unused), (text, unused))
LOCKSTEP_CURL(void, curl_free, (void* memory), (memory))

LOCKSTEP_CURL(CURL*, curl_easy_init, (), ())
LOCKSTEP_CURL(void, curl_easy_reset, (CURL * easy), (easy))
LOCKSTEP_CURL(void, curl_easy_cleanup, (CURL * easy), (easy))
LOCKSTEP_CURL_OPTION(CURLcode, curl_easy_setopt, CURL*, CURLoption)
LOCKSTEP_CURL_OPTION(CURLcode, curl_easy_getinfo, CURL*, CURLINFO)
LOCKSTEP_CURL(const char*, curl_easy_strerror, (CURLcode code), (code))

LOCKSTEP_CURL(CURLM*, curl_multi_init, (), ())
LOCKSTEP_CURL(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))
LOCKSTEP_CURL(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL* easy), (multi, easy))
LOCKSTEP_CURL(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL* easy), (multi, easy))
LOCKSTEP_CURL(CURLMsg*, curl_multi_info_read, (CURLM * multi, int* left), (multi, left))
LOCKSTEP_CURL(CURLMcode, curl_multi_socket_action,
              (CURLM * multi, curl_socket_t socket, int events, int* running),
              (multi, socket, events, running))
LOCKSTEP_CURL_OPTION(CURLMcode, curl_multi_setopt, CURLM*, CURLMoption)
LOCKSTEP_CURL(const char*, curl_multi_strerror, (CURLMcode code), (code))

LOCKSTEP_CURL(curl_slist*, curl_slist_append, (curl_slist * list, const char* text), (list, text))
LOCKSTEP_CURL(void, curl_slist_free_all, (curl_slist * list), (list))

LOCKSTEP_CURL(CURLU*, curl_url, (), ())
LOCKSTEP_CURL(void, curl_url_cleanup, (CURLU * url), (url))
LOCKSTEP_CURL(CURLUcode, curl_url_get,
              (CURLU * url, CURLUPart part, char** text, unsigned int flags),
              (url, part, text, flags))
LOCKSTEP_CURL(CURLUcode, curl_url_set,
              (CURLU * url, CURLUPart part, const char* text, unsigned int flags),
              (url, part, text, flags))
LOCKSTEP_CURL(const char*, curl_url_strerror, (CURLUcode code), (code))

}  // extern "C"
