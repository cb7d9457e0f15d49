// Between a Reflector and a Cache<T>: decodes what arrives, once, and keeps objects that cannot be
// decoded from hiding the others. The functions are in cache_impl.h (see cache.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/cache.h"
#include "kube/reflector.h"

namespace lockstep::kube {

template <typename T>
class CacheFeed final : public ReflectorSink {
 public:
  CacheFeed(Cache<T>& cache, DecodeContext& context) : cache_(cache), context_(context) {}

  void begin_replace() override;
  Result<ListPage> page(const Body& body) override;
  void item(const Body& object) override;
  bool end_replace(const std::string& version, bool history_restarted) override;
  std::string event(WatchEventType type, const Body& object) override;

 private:
  Cache<T>& cache_;
  DecodeContext& context_;
  std::vector<std::shared_ptr<const T>> objects_;
  std::map<ObjectKey, Error> unreadable_;
};

// A cache that keeps itself filled. The listeners and indexes are the cache's own.
template <typename T>
class CachedResource {
 public:
  CachedResource(Api& api, Loop& loop, Random& random, Log& log, DecodeContext& context,
                 ReflectorOptions options, std::vector<typename Cache<T>::Index> indexes = {});
  ~CachedResource();

  Cache<T> cache;

 private:
  static ReflectorOptions with_type(ReflectorOptions options);
  CacheFeed<T> feed_;

 public:
  Reflector reflector;
};

}  // namespace lockstep::kube
