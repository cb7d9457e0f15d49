// From JSON to typed objects: one object, or a page of a list, from bytes or from a tree.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "data/json.h"
#include "data/json_reader.h"
#include "objects/decode_context.h"
#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

// "Node gpu-7", "Pod default/web-1", or the kind alone for a name that is not known.
std::string object_place(std::string_view kind, const ObjectKey& key);
// The namespace and name of an object that could not be decoded, as far as they can be read.
ObjectKey peek_key(std::string_view bytes);
ObjectKey peek_key(const Json& tree);

// Decodes the value at the reader. The error says what was wrong; its place is the reader's.
template <typename T, typename Reader>
Result<T> decode_here(Reader& in, DecodeContext& context) {
  T object;
  context.problem.clear();
  decode(in, object, context);
  if (in.failed()) return fail(in.error());
  if (!context.problem.empty()) return fail(ErrorKind::invalid, context.problem);
  if (object.meta.name.empty()) return fail(ErrorKind::invalid, "the object has no metadata.name");
  return object;
}

// An error's place begins with the object's kind and name.
template <typename T>
Result<T> decode_object(std::string_view bytes, DecodeContext& context) {
  JsonReader in(bytes);
  Result<T> object = decode_here<T>(in, context);
  if (object && !in.at_end()) object = fail(ErrorKind::invalid, "text after the end of the object");
  if (!object) return fail(object.error().at(object_place(Kind<T>::type().kind, peek_key(bytes))));
  return object;
}
// A template, so that a string literal is never taken for a tree.
template <typename T, std::same_as<Json> Tree>
Result<T> decode_object(const Tree& tree, DecodeContext& context) {
  TreeReader in(tree);
  Result<T> object = decode_here<T>(in, context);
  if (!object) return fail(object.error().at(object_place(Kind<T>::type().kind, peek_key(tree))));
  return object;
}

// What a list says about itself.
struct ListPage {
  std::string resource_version;
  std::string continue_token;  // empty: the last page
  int64_t remaining = 0;       // 0: none, or the server does not say
};

// An item that could not be decoded; `key` as far as it could be read.
struct BadItem {
  ObjectKey key;
  Error error;
};

// Reads metadata of a list whose other fields have been or will be dealt with.
template <typename Reader>
void decode_list_meta(Reader& in, ListPage& page);

// Hands every item to on_item(T&&), in order, and every item that is JSON but not a T to
// on_bad(BadItem): one invalid object must not hide the others. Fails, perhaps after some items
// were handed over, only if the page as a whole is not a list.
template <typename T, typename OnItem, typename OnBad>
Result<ListPage> decode_list(std::string_view bytes, DecodeContext& context, OnItem on_item,
                             OnBad on_bad) {
  // The fast way reads each byte once. An item's error stops the reader for good, so from there on
  // the slow way goes again over the bytes, cuts the items apart and decodes each by itself.
  ListPage page;
  size_t handed_over = 0;
  {
    JsonReader in(bytes);
    bool bad_item = false;
    in.object([&](std::string_view key) {
      if (key == "metadata") {
        decode_list_meta(in, page);
      } else if (key == "items") {
        in.array([&] {
          if (bad_item) return in.skip();
          Result<T> object = decode_here<T>(in, context);
          if (!object) {
            bad_item = true;
            return;
          }
          ++handed_over;
          on_item(std::move(*object));
        });
      } else {
        in.skip();
      }
    });
    if (!in.failed() && !bad_item) {
      if (!in.at_end()) return fail(ErrorKind::invalid, "text after the end of the list");
      return page;
    }
  }
  page = ListPage();
  JsonReader in(bytes);
  size_t index = 0;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode_list_meta(in, page);
    } else if (key == "items") {
      in.array([&] {
        std::string_view raw = in.raw();
        if (in.failed() || index++ < handed_over) return;
        Result<T> object = decode_object<T>(raw, context);
        if (object) {
          on_item(std::move(*object));
        } else {
          on_bad(BadItem{peek_key(raw), std::move(object).error()});
        }
      });
    } else {
      in.skip();
    }
  });
  if (in.failed()) return fail(in.error());
  if (!in.at_end()) return fail(ErrorKind::invalid, "text after the end of the list");
  return page;
}

}  // namespace lockstep
