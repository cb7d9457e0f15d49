// Between a Reflector and a Cache<T>: decodes what arrives, once, and keeps objects that cannot be
// decoded from hiding the others.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/cache.h"
#include "kube/reflector.h"
#include "kube/typed.h"

namespace lockstep::kube {

template <typename T>
class CacheFeed final : public ReflectorSink {
 public:
  CacheFeed(Cache<T>& cache, DecodeContext& context) : cache_(cache), context_(context) {}

  void begin_replace() override {
    objects_.clear();
    unreadable_.clear();
  }

  Result<ListPage> page(const Body& body) override {
    return decode_list_body<T>(
        body, context_,
        [this](T&& object) { objects_.push_back(std::make_shared<const T>(std::move(object))); },
        [this](BadItem bad) { unreadable_.insert_or_assign(bad.key, std::move(bad.error)); });
  }

  void item(const Body& object) override {
    auto decoded = decode_shared<T>(object, context_);
    if (decoded) {
      objects_.push_back(std::move(*decoded));
    } else {
      unreadable_.insert_or_assign(peek_body_key(object), std::move(decoded).error());
    }
  }

  bool end_replace(const std::string& version, bool history_restarted) override {
    if (history_restarted) cache_.reset();
    auto objects = std::exchange(objects_, {});
    return cache_.replace(std::move(objects), version, std::exchange(unreadable_, {}));
  }

  std::string event(WatchEventType type, const Body& object) override {
    if (type == WatchEventType::bookmark) {
      std::string version = peek_body_version(object);
      cache_.advance(version);
      return version;
    }
    auto decoded = decode_shared<T>(object, context_);
    if (decoded) {
      std::string version = (*decoded)->meta.resource_version.str();
      cache_.apply(type, std::move(*decoded));
      return version;
    }
    std::string version = peek_body_version(object);
    ObjectKey key = peek_body_key(object);
    if (type == WatchEventType::deleted) {
      cache_.remove(key, version);
    } else {
      cache_.apply_unreadable(key, std::move(decoded).error(), version);
    }
    return version;
  }

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
                 ReflectorOptions options, std::vector<typename Cache<T>::Index> indexes = {})
      : cache(std::move(indexes)),
        feed_(cache, context),
        reflector(api, loop, random, log, with_type(std::move(options)), feed_) {}

  Cache<T> cache;

 private:
  static ReflectorOptions with_type(ReflectorOptions options) {
    if (options.type.plural.empty()) options.type = Kind<T>::type();
    return options;
  }
  CacheFeed<T> feed_;

 public:
  Reflector reflector;
};

}  // namespace lockstep::kube
