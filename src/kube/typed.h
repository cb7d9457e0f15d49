// From what an Api answered to typed objects, whichever form it came in: bytes, a document, a list.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "data/json.h"
#include "kube/api.h"
#include "kube/decoded_objects.h"
#include "objects/decode.h"
#include "objects/generic_object.h"

namespace lockstep::kube {

// decode_body<Node>(response.body, context). An error's place names the object as far as it is
// known.
template <typename T>
Result<T> decode_body(const Body& body, DecodeContext& context) {
  if (const auto* bytes = std::get_if<std::string>(&body)) return decode_object<T>(*bytes, context);
  if (const auto* document = std::get_if<Document>(&body); document != nullptr && *document) {
    if constexpr (std::is_same_v<T, GenericObject>) {
      return generic_object(*document, context);
    } else {
      return decode_object<T>(**document, context);
    }
  }
  return fail(ErrorKind::internal, "the answer has no object", Kind<T>::type().kind);
}

// The same, in the form that caches hold. Of a document that was decoded a moment ago for another
// in this thread it is that very object: all contexts keep the same.
template <typename T>
Result<std::shared_ptr<const T>> decode_shared(const Body& body, DecodeContext& context) {
  thread_local DecodedObjects<T> decoded;
  const auto* document = std::get_if<Document>(&body);
  if (document != nullptr && *document) {
    if (auto known = decoded.find(*document)) return known;
  }
  LOCKSTEP_TRY(T object, decode_body<T>(body, context));
  auto shared = std::make_shared<const T>(std::move(object));
  if (document != nullptr) decoded.keep(*document, shared);
  return shared;
}

// The key of an object that could not be decoded, as far as it can be read.
ObjectKey peek_body_key(const Body& body);
// The version of an object, decoded or not; of a bookmark, too. Empty when it cannot be read.
std::string peek_body_version(const Body& body);

// As decode_list(): on_item(T&&) for each, on_bad(BadItem) for an item that is not a T.
template <typename T, typename OnItem, typename OnBad>
Result<ListPage> decode_list_body(const Body& body, DecodeContext& context, OnItem on_item,
                                  OnBad on_bad) {
  if (const auto* bytes = std::get_if<std::string>(&body)) {
    return decode_list<T>(*bytes, context, on_item, on_bad);
  }
  auto take = [&](Result<T> object, const Json& tree) {
    if (object) {
      on_item(std::move(*object));
    } else {
      on_bad(BadItem{peek_key(tree), std::move(object).error()});
    }
  };
  if (const auto* list = std::get_if<ListBody>(&body)) {
    for (const Document& item : list->items) take(decode_body<T>(Body(item), context), *item);
    return ListPage{list->resource_version, list->continue_token, list->remaining};
  }
  if (const auto* document = std::get_if<Document>(&body); document != nullptr && *document) {
    ListPage page;
    TreeReader in(**document);
    in.object([&](std::string_view key) {
      if (key == "metadata") return decode_list_meta(in, page);
      if (key != "items") return in.skip();
      in.array([&] {
        Json tree = in.tree();
        take(decode_object<T>(tree, context), tree);
      });
    });
    if (in.failed()) return fail(in.error());
    return page;
  }
  return fail(ErrorKind::internal, "the answer has no list", Kind<T>::type().kind);
}

// The same, in the form that caches hold: on_item(std::shared_ptr<const T>).
template <typename T, typename OnItem, typename OnBad>
Result<ListPage> decode_list_shared(const Body& body, DecodeContext& context, OnItem on_item,
                                    OnBad on_bad) {
  const auto* list = std::get_if<ListBody>(&body);
  if (list == nullptr) {
    return decode_list_body<T>(
        body, context, [&](T&& object) { on_item(std::make_shared<const T>(std::move(object))); },
        on_bad);
  }
  for (const Document& item : list->items) {
    auto object = decode_shared<T>(Body(item), context);
    if (object) {
      on_item(std::move(*object));
    } else {
      on_bad(BadItem{peek_key(*item), std::move(object).error()});
    }
  }
  return ListPage{list->resource_version, list->continue_token, list->remaining};
}

}  // namespace lockstep::kube
