// A reflector's sink that keeps a plain picture of what it received, and complains about what a
// sink must never see.
#pragma once

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "kube/reflector.h"

namespace lockstep::kube {

class PictureSink final : public ReflectorSink {
 public:
  // Name to resourceVersion.
  std::map<std::string, std::string> picture;
  size_t replaces = 0;
  bool replacing = false;
  uint64_t newest = 0;

  void begin_replace() override {
    collected_.clear();
    replacing = true;
  }

  Result<ListPage> page(const Body& body) override {
    EXPECT_TRUE(replacing);
    Response response{200, body, std::nullopt};
    LOCKSTEP_TRY(Document list, response.document());
    const Json* items = find(*list, "items");
    if (items == nullptr || !items->is_array()) return fail(ErrorKind::invalid, "not a list");
    for (const Json& object : items->get_array()) collect(object);
    ListPage page;
    page.resource_version = text_at(*list, "metadata", "resourceVersion");
    page.continue_token = text_at(*list, "metadata", "continue");
    return page;
  }

  void item(const Body& object) override {
    EXPECT_TRUE(replacing);
    collect(**Response{200, object, std::nullopt}.document());
  }

  bool end_replace(const std::string& version, bool history_restarted) override {
    EXPECT_TRUE(replacing);
    replacing = false;
    ++replaces;
    if (history_restarted) newest = 0;
    move_to(version);
    picture = std::move(collected_);
    return true;
  }

  std::string event(WatchEventType type, const Body& body) override {
    EXPECT_FALSE(replacing);
    Document object = *Response{200, body, std::nullopt}.document();
    std::string version(text_at(*object, "metadata", "resourceVersion"));
    move_to(version);
    std::string name(text_at(*object, "metadata", "name"));
    if (type == WatchEventType::deleted) {
      picture.erase(name);
    } else if (type != WatchEventType::bookmark) {
      picture[name] = version;
    }
    return version;
  }

 private:
  void collect(const Json& object) {
    collected_[std::string(text_at(object, "metadata", "name"))] =
        text_at(object, "metadata", "resourceVersion");
  }
  void move_to(const std::string& version) {
    uint64_t number = parse_unsigned(version).value_or(0);
    EXPECT_GE(number, newest) << "the view went back in time";
    newest = std::max(newest, number);
  }

  std::map<std::string, std::string> collected_;
};

}  // namespace lockstep::kube
